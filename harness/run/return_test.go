package run

import (
	"testing"

	"locklab/ensembles/labtest"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/judge"
)

// shortRun is a short run of three client processes.
const shortRun = `
clients: 6
client-processes: 3
guard: fencing
warmup: 300ms
min-acquired: 5
session-timeout: 1s
tick: 200ms
storage: tmpfs
expect: {belief-exclusion: any, fairness: any}
`

// Clients come back after the faults of complete runs, both those that a scenario names and those that a swarm draws.
func TestRunsWithFaults(t *testing.T) {
	t.Parallel()
	labtest.Require(t)
	const drawn = shortRun + "duration: 10s\nseed: 17\nschedule: swarm\nfault-interval: 1500ms\nfault-length: 0.5T..2T\n"
	stage, err := OpenStage(t.Context(), load(t, drawn), Options{Binary: labtest.Binary(t), Log: labtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.Run("client processes that end come back", func(t *testing.T) {
		out := runOn(t, stage, shortRun+`
duration: 6s
seed: 7
faults:
  - {kind: kill, target: c1, at: 500ms, for: 1s}
  - {kind: restart, target: c2, at: 1s}
  - {kind: crash-loop, target: c3, at: 1s, for: 3s}
`)
		wantHarmless(t, out, 3)
		events := readHistory(t, out.Dir)
		for id, process := range map[string]string{"f1": "c1", "f2": "c2", "f3": "c3"} {
			healed, ends, grants := int64(0), 0, 0
			for _, e := range events {
				switch {
				case e.Fault == id && e.Op == history.OpFaultHeal && e.Kind == history.OK:
					healed = e.At
				case e.Process != process:
				case e.ProcessIs(history.ProcessExited) && healed == 0:
					ends++
				case e.Op == history.OpAcquire && e.Kind == history.OK && healed != 0 && e.At > healed:
					grants++
				}
			}
			if ends == 0 || id == "f3" && ends < 2 || grants == 0 {
				t.Errorf("%s ended %d times, and was granted the lock %d times after it was healed", process, ends, grants)
			}
		}
	})
	t.Run("a swarm", func(t *testing.T) {
		out := runOn(t, stage, drawn)
		wantHarmless(t, out, 1)
	})
}

// wantHarmless checks that at least so many faults were injected, verified and healed, and that they did no damage
// that they must not do.
func wantHarmless(t *testing.T, out judge.Outcome, faults int) {
	t.Helper()
	wantVerdict(t, out, evidence.Pass)
	r := out.Result
	done := 0
	for _, f := range r.Faults {
		t.Logf("%s %s at %s: verified %t, heal verified %t %s", f.ID, f.Kind, f.Target, f.Verified, f.HealVerified, f.Detail)
		if f.InjectedNs == nil {
			continue
		}
		done++
		if !f.Verified || !f.HealVerified {
			t.Errorf("%s %s at %s is not verified: %s", f.ID, f.Kind, f.Target, f.Detail)
		}
	}
	if done < faults {
		t.Errorf("%d faults were done, want %d at least", done, faults)
	}
	if n := number(r.Safety.UnbackedGrants); n != 0 {
		t.Errorf("%d unbacked grants, want none of those looked at", n)
	}
	if n := number(r.Safety.OverlapsUnexplained); n != 0 {
		t.Errorf("%d overlaps are unexplained, want none of those looked at", n)
	}
	if v := out.Report.Check(evidence.Liveness); v == nil || v.Result != evidence.Pass || v.Count != 0 {
		t.Errorf("orphans or worse: %+v", v)
	}
}
