package run

import (
	"strings"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/curatortest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/recipes/curator"
)

// The built-in scenarios of the real Curator, shortened, give the results that `locklab run` gives.
func TestCurator(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	labtest.Require(t)
	version, err := curator.Version(curatortest.Require(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("curator-downgrade", func(t *testing.T) {
		suite.Nightly(t, "a peer; mixed-curator runs Curator every time")
		const leaky = "5.4.0"
		curatortest.Require(t, leaky)
		out := executeShort(t, "curator-downgrade", leaky)
		wantVerdict(t, out, evidence.Pass) // the violation is what the scenario expects
		if overlaps := number(out.Result.Safety.Overlaps); overlaps < 1 {
			t.Errorf("%d overlaps", overlaps)
		}
		if r := out.Report.Check(evidence.BeliefExclusion); r == nil || r.Result != evidence.Fail {
			t.Errorf("%s: %+v, want a violation", evidence.BeliefExclusion, r)
		}
	})
	for _, name := range []string{"mixed-curator", "mixed-curator-rw", "mixed-curator-semaphore"} {
		t.Run(name, func(t *testing.T) {
			if name != "mixed-curator" {
				suite.Nightly(t, "a peer; mixed-curator runs Curator every time")
			}
			out := executeShort(t, name, version)
			wantVerdict(t, out, evidence.Pass)
			if n := number(out.Result.Safety.Overlaps); n != 0 {
				t.Errorf("%d overlaps", n)
			}
			grants := map[string]int{}
			for _, e := range readHistory(t, out.Dir) {
				if e.Op == history.OpAcquire && e.Kind == history.OK {
					grants[e.Process]++
				}
			}
			// c1 runs locklab's mutex and c2 Curator's.
			if grants["c1"] == 0 || grants["c2"] == 0 {
				t.Errorf("granted by process: %v", grants)
			}
		})
	}
}

// executeShort runs a built-in scenario of Curator for a short time and on one server. It checks that the run records
// the version of Curator.
func executeShort(t *testing.T, name, version string) judge.Outcome {
	t.Helper()
	out := executeBuiltin(t, name,
		map[string]string{"servers": "1", "warmup": "1s", "duration": "3s", "min-acquired": "20"})
	env, err := rundir.ReadEnv(out.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if version == "" || !strings.Contains(env.Lock, "Curator "+version) {
		t.Errorf("env.json says %q, want version %q", env.Lock, version)
	}
	return out
}
