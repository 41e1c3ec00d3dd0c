package run

import (
	"slices"
	"testing"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/workloads/lock"
)

// A violationRun is a run in which a broken lock can show its bug, with the result of the check of the servers'
// evidence.
type violationRun struct {
	recipe string
	lines  []string
	want   check.Result
}

// The znode of the last client is deleted, which still has to wait for most of three holds.
var ownNodeDeleted = []string{"clients: 4", "hold: 400ms", "min-acquired: 5", "liveness: 0",
	"faults:\n  - {kind: delete-node, target: waiter, at: 500ms}"}

// One client has two of three permits. The other has the third, waits for one more, and loses its session.
var leaseExpired = []string{
	"workload: semaphore",
	"permits: 3",
	"units: 2",
	"clients: 2",
	"hold: 500ms",
	"min-acquired: 3",
	"liveness: 0",
	"faults:\n  - {kind: expire-session, target: waiter, at: 500ms}",
}

var violationRuns = []violationRun{
	{"zk-lock", ownNodeDeleted, check.Fail},
	{"broken-missing-own", ownNodeDeleted, check.Fail},
	{"mutex", ownNodeDeleted, check.Pass},
	{"broken-dead-lease", leaseExpired, check.Fail},
	{"semaphore", leaseExpired, check.Pass},
	{
		"broken-local-read",
		[]string{
			"workload: read-write",
			"read-share: 0",
			"downgrade-share: 1",
			"hold: 10ms",
			"duration: 6s",
			"drain: cancel",
			"victim-alone: true",
			"faults:\n  - {kind: pause, target: c1, trigger: between-read-and-write, until: superseded}",
		},
		check.Fail,
	},
}

// The servers' transaction logs convict a lock that breaks service exclusion, and name the client that the fault
// affected. They do not convict a correct lock under the same fault.
func testViolations(t *testing.T, stage *Stage) {
	for _, run := range violationRuns {
		t.Run(run.recipe, func(t *testing.T) {
			out := runOn(t, stage, with(append([]string{"recipe: " + run.recipe}, run.lines...)...))
			v := out.Report.Check(check.ServiceExclusion)
			t.Log(v.Summary)
			if v.Result != run.want || v.Violation != (run.want == check.Fail) {
				t.Errorf("%s, violation %t; want %s", v.Result, v.Violation, run.want)
			}
			affected := affectedClients(readHistory(t, out.Dir))
			if len(affected) == 0 {
				t.Error("the fault affected nobody")
			}
			if run.want == check.Fail &&
				!slices.ContainsFunc(v.Findings, func(f check.Finding) bool { return slices.Contains(affected, f.Clients[0]) }) {
				t.Errorf("%v were affected, and nothing is found of them: %+v", affected, v.Findings)
			}
			if t.Failed() {
				explain(t, out)
			}
		})
	}
}

// Every lock that the table says the servers convict is brought to it in some test.
func TestEveryServiceExclusionLockIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, run := range violationRuns {
		tried[run.recipe] = run.want == check.Fail
	}
	for name, run := range controlRuns {
		if run.want[check.ServiceExclusion] == check.Fail {
			tried[lock.ControlPrefix+name] = true
		}
	}
	// TestTriggers of recipes/broken, which has their dialer, tries these.
	for _, name := range []string{"stale-own", "local-reentry"} {
		tried[lock.ControlPrefix+name] = true
	}
	for _, name := range lockChecks(check.ServiceExclusion) {
		if !tried[lock.ControlPrefix+name] {
			t.Errorf("%s is tried nowhere", name)
		}
	}
}

// affectedClients are the clients that came to harm, or stopped themselves for it.
func affectedClients(events []history.Event) (all []string) {
	owner := map[history.SessionID]string{}
	for i := range events {
		switch e := &events[i]; {
		case e.Op == history.OpConnected:
			owner[e.Session] = e.Client
		case e.Op == history.OpTrigger:
			all = append(all, e.Client)
		case e.Op == history.OpFaultInject && e.Kind == history.OK && owner[e.Session] != "":
			all = append(all, owner[e.Session])
		}
	}
	return all
}
