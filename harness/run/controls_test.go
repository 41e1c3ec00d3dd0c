package run

import (
	"strings"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/workloads/lock"
)

// controlRuns are runs of broken locks in which nothing happens that would make the bug show, with the results of some
// checks. Runs in which it shows are among bugRuns.
var controlRuns = map[string]struct {
	lines []string
	want  map[string]evidence.Result
}{
	"missing-own": {
		nil,
		map[string]evidence.Result{
			evidence.ServiceExclusion: evidence.Pass,
			evidence.BeliefExclusion:  evidence.Pass,
			evidence.Effect:           evidence.Pass,
		},
	},
	"queued-write": {
		nil,
		map[string]evidence.Result{evidence.BeliefExclusion: evidence.Pass, evidence.Effect: evidence.Pass,
			evidence.Tokens: evidence.Pass},
	},
	"dead-lease": {[]string{"workload: semaphore", "permits: 2"},
		map[string]evidence.Result{
			evidence.ServiceExclusion: evidence.Pass,
			evidence.BeliefExclusion:  evidence.Pass,
			evidence.Effect:           evidence.Pass,
		}},
}

// Broken locks run as any recipe does, and the checks find nothing where their bugs do not show.
func testControls(t *testing.T, stage *Stage) {
	for name, run := range controlRuns {
		t.Run(name, func(t *testing.T) {
			if name != "missing-own" {
				suite.Nightly(t, "missing-own runs as any recipe does, too")
			}
			out := runOn(
				t,
				stage,
				with(append([]string{"recipe: " + lock.ControlPrefix + name, "duration: 1s", "hold: 1ms"}, run.lines...)...),
			)
			got := map[string]evidence.Verdict{}
			for _, v := range out.Report.Checks {
				got[v.Name] = v
			}
			for name, want := range run.want {
				if v := got[name]; v.Result != want {
					t.Errorf("%s: %s, want %s: %s", name, v.Result, want, v.Summary)
				}
			}
			acquired, connected := 0, map[history.SessionID]bool{}
			for _, e := range readHistory(t, out.Dir) {
				switch {
				case e.Op == history.OpConnected && e.Value > 0:
					connected[e.Session] = true
				case e.Op == history.OpAcquire && e.Kind == history.OK:
					acquired++
					if hasToken := !strings.Contains(name, "lease") && name != "missing-own"; !connected[e.Session] ||
						e.Lock == "" ||
						(e.Token != 0) != hasToken {
						t.Fatalf("granted: %v", e)
					}
				}
			}
			if acquired == 0 {
				t.Error("nothing was acquired")
			}
			if t.Failed() {
				explain(t, out)
			}
		})
	}
	t.Run("violations", func(t *testing.T) { testViolations(t, stage) })
}
