package harness

import (
	"path/filepath"
	"strings"
	"testing"
)

var addedCheck = addition{
	pkg: "harness/check", file: "novelty.go",
	text: `package check

import "locklab/harness/check/evidence"

var noveltyCheck = evidence.Check{
	Name: "novelty", Asks: "was anything new?", Subject: "what is new",
	Judge: func(*evidence.Digest, *evidence.Safety) evidence.Verdict {
		return evidence.Verdict{Result: evidence.Pass, Summary: "nothing new"}
	},
}
`,
	list: "checks.go", after: "\t\tprogress.LivenessCheck,\n", line: "\t\tnoveltyCheck,\n",
}

// A new check is found in the scenario's keys, the schema, the hint for a typing error, the verdict and the report.
func testAddedCheck(t *testing.T, locklab string) {
	if out := runs(t, locklab, 0, "scenarios", "schema"); !strings.Contains(out, `"novelty": {`) {
		t.Error("the schema lacks the check")
	}
	scenario := filepath.Join(t.TempDir(), "new.yaml")
	write(t, scenario, "workload: mutex\nexpect:\n  novelty: pass\n")
	if out := runs(t, locklab, 0, "run", scenario, "--print-config"); !strings.Contains(out, "novelty: pass") {
		t.Errorf("the scenario is\n%s", out)
	}
	write(t, scenario, "workload: mutex\nexpect:\n  noveltie: pass\n")
	if out := runs(t, locklab, 2, "run", scenario, "--print-config"); !strings.Contains(out, "novelty") {
		t.Errorf("a typing error is refused with %s", out)
	}

	run := recordRun(t, "workload: mutex\n")
	out := runs(t, locklab, 6, "check", run)
	if !strings.Contains(out, "novelty") || !strings.Contains(out, "nothing new") {
		t.Errorf("the run is judged\n%s", out)
	}
	runs(t, locklab, 0, "report", run)
	for _, name := range []string{"verdicts.json", "result.json", "report.html"} {
		if !strings.Contains(written(t, run, name), "nothing new") {
			t.Errorf("%s lacks the check", name)
		}
	}
}
