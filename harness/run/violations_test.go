package run

import (
	"slices"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/recipes/broken"
)

// bugRuns are known bugs that the servers' transaction logs prove, some with a sound recipe for the same scenario.
// `locklab repro --all` tries all bugs.
var bugRuns = []struct {
	bug, sound string
	often      bool // not only in the nightly suite
}{
	{"name-order", "", true},
	{"queued-downgrade", "", false},
	{"zk-lock-missing-own", "mutex", true},
	{"dead-lease", "semaphore", false},
	{"local-read", "", false},
}

// The servers' transaction logs convict a lock that breaks service exclusion, and name the client that the fault
// affected. They do not convict a correct lock in the same scenario.
func testViolations(t *testing.T, stage *Stage) {
	for _, run := range bugRuns {
		bug, _ := broken.Find(run.bug)
		sc, err := scenario.OfBug(bug)
		if err != nil {
			t.Fatal(err)
		}
		sc.Seed = 7
		skip := func(t *testing.T) {
			if !run.often {
				suite.Nightly(t, "the logs convict other locks every time; recipes/broken shows this bug in memory")
			}
		}
		t.Run(run.bug, func(t *testing.T) {
			skip(t)
			out := runOn(t, stage, string(sc.Marshal()))
			v := out.Report.Check(evidence.ServiceExclusion)
			t.Log(v.Summary)
			if out.Report.Found(evidence.ServiceExclusion, bug.Kinds, bug.Cause) == nil || !v.Violation {
				t.Errorf("%s, violation %t; want a finding of %v", v.Result, v.Violation, bug.Kinds)
			}
			affected := affectedClients(readHistory(t, out.Dir))
			if (len(affected) > 0) != (len(sc.Faults) > 0) {
				t.Errorf("the faults %v affected %v", sc.Faults, affected)
			}
			if len(affected) > 0 &&
				!slices.ContainsFunc(v.Findings, func(f evidence.Finding) bool { return slices.Contains(affected, f.Clients[0]) }) {
				t.Errorf("%v were affected, and nothing is found of them: %+v", affected, v.Findings)
			}
			if t.Failed() {
				explain(t, out)
			}
		})
		if run.sound == "" {
			continue
		}
		t.Run(run.bug+"/"+run.sound, func(t *testing.T) {
			skip(t)
			sound := sc.Clone()
			sound.Recipe = run.sound
			out := runOn(t, stage, string(sound.Marshal()))
			if v := out.Report.Check(evidence.ServiceExclusion); v.Result != evidence.Pass {
				t.Errorf("%s: %s", v.Result, v.Summary)
				explain(t, out)
			}
			if len(affectedClients(readHistory(t, out.Dir))) == 0 {
				t.Error("the fault affected nobody")
			}
		})
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
