package harness

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

var addedQuantity = addition{
	pkg: "reports/result", file: "recordedevents.go",
	text: `package result

import (
	"locklab/harness/rundir"
	"locklab/reports/measure"
)

var recordedEvents = Quantity{
	Path: "quantities.recorded_events", Better: Lower, Means: "how many events the history has",
	Measure: func(run *rundir.Run, _ measure.Interval) *float64 {
		n := float64(run.Events.Len())
		return &n
	},
	Compared: likeMedian, Tile: "events recorded", Column: "events",
}
`,
	list:  "catalogue.go",
	after: "\t\t{Path: \"window.to_ns\", Unit: Nanoseconds, Means: \"when it ended\"},\n",
	line:  "\t\trecordedEvents,\n",
}

// A new quantity is found in thresholds, their schema, result.json, the run's page and comparisons.
func testAddedQuantity(t *testing.T, locklab string) {
	if out := runs(t, locklab, 0, "scenarios", "schema"); !strings.Contains(out, "|recorded_events|") {
		t.Error("the schema lacks the quantity")
	}
	run := recordRun(t, "workload: mutex\nthresholds: [recorded_events > 1, quantities.recorded_events < 1e6]\n")
	runs(t, locklab, 6, "check", run)
	var result struct {
		Quantities map[string]float64
		Thresholds []struct {
			Expr  string
			Value *float64
		}
	}
	if err := json.Unmarshal([]byte(written(t, run, "result.json")), &result); err != nil {
		t.Fatal(err)
	}
	if result.Quantities["recorded_events"] != 2 || len(result.Thresholds) != 2 {
		t.Errorf("result.json has %+v", result)
	}
	for _, l := range result.Thresholds {
		if l.Value == nil || *l.Value != 2 || !strings.HasPrefix(l.Expr, "recorded_events ") {
			t.Errorf("a threshold is judged as %+v", l)
		}
	}
	runs(t, locklab, 0, "report", run)
	if !strings.Contains(written(t, run, "report.html"), `<th scope="row">events recorded</th><td class="n">2</td>`) {
		t.Error("the page lacks the quantity")
	}
	samples := filepath.Join("..", "reports", "compare", "testdata", "samples")
	out := runs(t, locklab, 6, "compare", filepath.Join(samples, "base"), filepath.Join(samples, "head"),
		"--metric", "recorded_events")
	if !strings.Contains(out, "recorded_events: it was asked for, and no run has it") {
		t.Errorf("recorded runs without it are compared:\n%s", out)
	}
}
