package harness

import (
	"strings"
	"testing"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/recipes/broken"
)

// The controls serve the workload of the sound recipe that they are beside of, and there is one for
// each lock.
func TestControlsAreTheBrokenLocks(t *testing.T) {
	recipes := map[string]scenario.Recipe{}
	for _, r := range scenario.AllRecipes() {
		recipes[r.Name] = r
	}
	for name, lock := range broken.Locks {
		control, sound := recipes[scenario.RecipeBroken+name], recipes[lock.Sound]
		if !control.Control || len(sound.Workloads) == 0 || !control.Serves(sound.Workloads[0]) {
			t.Errorf("%s is %+v, and %s %+v", name, control, lock.Sound, sound)
		}
		if control.Seen != sound.Seen || control.Layout != sound.Layout {
			t.Errorf("%s is seen %q by %q, and %s %q by %q", name, control.Seen, control.Layout, lock.Sound, sound.Seen, sound.Layout)
		}
		ways := lock.New(broken.Config{Path: "/x", Permits: 1, Units: 1})
		for workload, has := range map[string]bool{scenario.WorkloadMutex: ways.Write != nil, scenario.WorkloadReadWrite: ways.Read != nil, scenario.WorkloadSemaphore: ways.Permits != nil} {
			if control.Serves(workload) != has {
				t.Errorf("%s: it serves %s: %t, want %t", name, workload, control.Serves(workload), has)
			}
		}
		if control.Downgrade != (ways.Downgrade != nil) {
			t.Errorf("%s: it has a downgrade: %t", name, control.Downgrade)
		}
	}
}

// controlRuns are runs of controls, and what the checks that are named find in them: damage where the bug
// shows, and nothing where nothing goes wrong that would make it show. Those whose bug takes a fault are among accusedRuns.
var controlRuns = map[string]struct {
	lines []string
	want  map[string]check.Result
}{
	"name-order": {nil, map[string]check.Result{check.ServiceExclusion: check.Fail, check.BeliefExclusion: check.Fail, check.Effect: check.Fail}},
	"queued-downgrade": {[]string{"workload: read-write", "read-share: 0.2", "downgrade-share: 0.8"},
		map[string]check.Result{check.ServiceExclusion: check.Fail, check.BeliefExclusion: check.Fail}},
	"missing-own":  {nil, map[string]check.Result{check.ServiceExclusion: check.Pass, check.BeliefExclusion: check.Pass, check.Effect: check.Pass}},
	"queued-write": {nil, map[string]check.Result{check.BeliefExclusion: check.Pass, check.Effect: check.Pass, check.Tokens: check.Pass}},
	"dead-lease": {[]string{"workload: semaphore", "permits: 2"},
		map[string]check.Result{check.ServiceExclusion: check.Pass, check.BeliefExclusion: check.Pass, check.Effect: check.Pass}},
}

// Controls run as any recipe does, and what they do wrong is found where it shows.
func testControls(t *testing.T, stage *Stage) {
	for name, run := range controlRuns {
		t.Run(name, func(t *testing.T) {
			out := runOn(t, stage, with(append([]string{"recipe: " + scenario.RecipeBroken + name, "duration: 1s", "hold: 1ms"}, run.lines...)...))
			got := map[string]check.Verdict{}
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
					if hasToken := !strings.Contains(name, "lease") && name != "missing-own"; !connected[e.Session] || e.Lock == "" || (e.Token != 0) != hasToken {
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
	t.Run("struck", func(t *testing.T) { accuse(t, stage) })
}
