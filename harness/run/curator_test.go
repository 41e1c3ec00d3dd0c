package run

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/recipes/curator"
	"locklab/recipes/curator/curatortest"
	"locklab/reports/result"
	"locklab/workloads"
)

// The built-in scenarios of the real Curator, shortened, give the results that `locklab run` gives.
func TestCurator(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	labtest.Require(t)
	jars := curatortest.Require(t)
	version, err := curator.Version(jars)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("curator-downgrade", func(t *testing.T) {
		out := executeShort(t, "curator-downgrade", version)
		overlaps := number(out.Result.Safety.Overlaps)
		if !curatortest.LeaksDowngrades(t, jars) {
			if overlaps != 0 {
				t.Errorf("%d overlaps with a Curator that mended its downgrade", overlaps)
				explain(t, out)
			}
			return
		}
		wantVerdict(t, out, check.Pass) // the violation is what the scenario expects
		if overlaps < 1 {
			t.Errorf("%d overlaps", overlaps)
		}
		if r := out.Report.Check(check.BeliefExclusion); r == nil || r.Result != check.Fail {
			t.Errorf("%s: %+v, want a violation", check.BeliefExclusion, r)
		}
	})
	for _, name := range []string{"mixed-curator", "mixed-curator-rw", "mixed-curator-semaphore"} {
		t.Run(name, func(t *testing.T) {
			out := executeShort(t, name, version)
			wantVerdict(t, out, check.Pass)
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

// executeShort runs a built-in scenario of Curator as `locklab run` does, but for a short time and on one server. It
// checks that the run records the version of Curator.
func executeShort(t *testing.T, name, version string) judge.Outcome {
	t.Helper()
	sc, err := scenario.Builtin(workloads.Builtin, name)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"servers": "1", "warmup": "1s", "duration": "3s", "min-acquired": "20"} {
		if err := sc.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := result.Validate(sc); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.ArtifactDir(), "run")
	showLogs(t, dir)
	stage, err := OpenStage(t.Context(), sc, Options{Binary: labtest.Binary(t), Log: labtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stage.Run(t.Context(), sc, dir), stage.Close()); err != nil {
		t.Fatal(err)
	}
	out, err := judge.Conclude(dir)
	if err != nil {
		t.Fatal(err)
	}
	env, err := rundir.ReadEnv(dir)
	if err != nil {
		t.Fatal(err)
	}
	if version == "" || !strings.Contains(env.Lock, "Curator "+version) {
		t.Errorf("env.json says %q, want version %q", env.Lock, version)
	}
	return out
}
