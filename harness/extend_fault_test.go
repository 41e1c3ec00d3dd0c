package harness

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"locklab/harness/history"
)

var addedFault = addition{
	pkg: "chaos", file: "hush.go",
	text: `package chaos

import (
	"math/rand/v2"

	"locklab/ensembles"
)

func hushKind() Kind {
	return Kind{
		Name: "hush", Family: FamilySession, Targets: OnClient,
		Does:     "hushes a client",
		Verified: "nothing is heard from it",
		Examples: []string{"target: c1, depth: 3"},
		Params:   hushParams{},
		draw: func(r *rand.Rand, _ *Setting, f *Fault) {
			f.Params = hushParams{70 + r.IntN(10)}
		},
		check: func(c *checker, f Fault) {
			if d := params[hushParams](f).Depth; d > 80 {
				c.refuse(at("depth"), "depth: 80, or less", "a depth of %d is too deep", d)
			}
		},
		injector: onEach(func(_ *Run, _ injection, h *ensembles.Host) (Injector, error) {
			return pause{host: h}, nil
		}),
	}
}

type hushParams struct {
	Depth int ` + "`key:\"depth\" help:\"how deep the silence is\" required:\"true\"`" + `
}
`,
	list: "kinds.go", after: "\t\tmuteKind(),\n", line: "\t\thushKind(),\n",
}

// A new kind of fault, with a key of its own, is found in the schema, scenarios, plans, random schedules, hints and
// refusals, the result and the report.
func testAddedFault(t *testing.T, locklab string) {
	schema := runs(t, locklab, 0, "scenarios", "schema")
	for _, part := range []string{`"hush"`, `"depth": {`, "How deep the silence is."} {
		if !strings.Contains(schema, part) {
			t.Errorf("the schema lacks %s", part)
		}
	}

	scenario := filepath.Join(t.TempDir(), "new.yaml")
	const planned = "workload: mutex\nduration: 20s\nfaults:\n" +
		"- kind: hush\n  target: c1\n  depth: 7\n  at: 1s\n  for: 3s\n"
	write(t, scenario, planned)
	config := runs(t, locklab, 0, "run", scenario, "--print-config")
	for _, line := range []string{"kind: hush ", "depth: 7 "} {
		if !strings.Contains(config, line) {
			t.Errorf("the scenario lacks %q:\n%s", line, config)
		}
	}
	if out := runs(t, locklab, 0, "run", scenario, "--dry-run"); !strings.Contains(out, "hush c1 depth 7") {
		t.Errorf("the plan is\n%s", out)
	}
	write(t, scenario, "workload: mutex\nduration: 60s\nschedule: random\nfault-kinds: hush\n")
	if out := runs(t, locklab, 0, "run", scenario, "--dry-run"); !strings.Contains(out, " depth 7") {
		t.Errorf("the random plan is\n%s", out)
	}

	for _, wrong := range []struct{ name, entry, at, says string }{
		{"a typing error in the kind", "{kind: hushh, target: c1, depth: 7, at: 1s, for: 3s}", ":4:10:", "hush"},
		{"a typing error in the key", "{kind: hush, target: c1, dept: 7, at: 1s, for: 3s}", ":4:28:", "depth"},
		{"the key left out", "{kind: hush, target: c1, at: 1s, for: 3s}", ":4:4:", "depth"},
		{"the key of another kind", "{kind: pause, target: c1, depth: 7, at: 1s, for: 3s}", ":4:29:", "hush"},
		{"a target that it cannot have", "{kind: hush, target: zk1, depth: 7, at: 1s, for: 3s}", ":4:16:", "client"},
		{"what it refuses itself", "{kind: hush, target: c1, depth: 99, at: 1s, for: 3s}", ":4:28:", "too deep"},
	} {
		write(t, scenario, "workload: mutex\nduration: 20s\nfaults:\n- "+wrong.entry+"\n")
		out := runs(t, locklab, 2, "run", scenario, "--print-config")
		if !strings.Contains(out, "new.yaml"+wrong.at) || !strings.Contains(out, wrong.says) {
			t.Errorf("%s is refused with %s", wrong.name, out)
		}
	}

	step := func(op history.Op, kind history.Kind) history.Event {
		return history.FaultStep{Op: op, ID: "f1", Fault: "hush", Hosts: []string{"c1"}}.Event(kind)
	}
	run := recordRun(t, planned, step(history.OpFaultAim, history.Info), step(history.OpFaultInject, history.Invoke),
		step(history.OpFaultInject, history.OK), step(history.OpFaultVerify, history.OK),
		step(history.OpFaultHeal, history.OK), step(history.OpFaultHealVerify, history.OK))
	write(t, filepath.Join(run, "timeline.json"), `{"schedule": "explicit", "seed": 1, "faults": [{"id": "f1", `+
		`"keys": {"kind": "hush", "target": "c1", "depth": "7", "at": "1s", "for": "3s"}}]}`)
	runs(t, locklab, 6, "check", run)
	runs(t, locklab, 0, "report", run)
	if !strings.Contains(written(t, run, "result.json"), `"kind": "hush"`) {
		t.Error("the result lacks the fault")
	}
	if !regexp.MustCompile(`scope="row">hush</th><td[^>]*>c1</td>`).MatchString(written(t, run, "report.html")) {
		t.Error("the page lacks the fault")
	}
}
