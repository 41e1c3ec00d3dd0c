package harness

import (
	"path/filepath"
	"strings"
	"testing"
)

var addedRecipe = addition{
	pkg: "workloads/lock", file: "newmutex.go",
	text: `package lock

import (
	"locklab/ensembles/txnlog/nodes"
	"locklab/workloads"
)

var addedMutex = Recipe{
	Name:      "new-mutex",
	About:     "A queue that is new.",
	Workloads: []string{workloads.Mutex},
	Layout:    nodes.LayoutQueue,
	Promises:  sound,
	Open:      inSession(newMutex),
}
`,
	list: "table.go", after: "\tcuratorMulti,\n", line: "\taddedMutex,\n",
}

// A new recipe is found in the flag, the environment, the schema, the hint for a typing error, the recipes it can be
// mixed with, the result and the report.
func testAddedRecipe(t *testing.T, locklab string) {
	if out := runs(t, locklab, 0, "scenarios", "schema"); !strings.Contains(out, `"new-mutex"`) {
		t.Error("the schema lacks the recipe")
	}
	for _, recipe := range []string{"new-mutex", "mutex,new-mutex"} {
		out := runs(t, locklab, 0, "run", "mutex", "--recipe", recipe, "--print-config")
		if !strings.Contains(out, "recipe: "+recipe+" ") {
			t.Errorf("--recipe %s makes the scenario\n%s", recipe, out)
		}
	}
	t.Run("by the environment", func(t *testing.T) {
		t.Setenv("LOCKLAB_RECIPE", "new-mutex")
		if out := runs(t, locklab, 0, "run", "mutex", "--print-config"); !strings.Contains(out, "recipe: new-mutex ") {
			t.Errorf("the scenario is\n%s", out)
		}
	})
	scenario := filepath.Join(t.TempDir(), "new.yaml")
	write(t, scenario, "workload: mutex\nrecipe: new-mutx\n")
	for _, args := range [][]string{{scenario}, {"mutex", "--recipe", "new-mutx"}} {
		out := runs(t, locklab, 2, append([]string{"run", "--print-config"}, args...)...)
		if !strings.Contains(out, "new-mutex") {
			t.Errorf("%v: a typing error is refused with %s", args, out)
		}
	}
	out := runs(t, locklab, 2, "run", "read-write", "--recipe", "new-mutex", "--print-config")
	if !strings.Contains(out, "new-mutex") || !strings.Contains(out, "workload") {
		t.Errorf("a workload that the recipe does not serve is refused with %s", out)
	}

	run := recordRun(t, "workload: mutex\nrecipe: new-mutex\n")
	runs(t, locklab, 6, "check", run)
	runs(t, locklab, 0, "report", run)
	if !strings.Contains(written(t, run, "result.json"), `"recipe": "new-mutex"`) {
		t.Error("the result lacks the recipe")
	}
	if !strings.Contains(written(t, run, "report.html"), "new-mutex") {
		t.Error("the page lacks the recipe")
	}
}
