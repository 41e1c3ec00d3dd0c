package harness

import (
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/recipes/curator"
	"locklab/recipes/curator/curatortest"
	"locklab/workloads"
)

// The real Curator, in the scenarios that are built in, shortened: what `locklab run` does with them.
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
			// c1 runs ours, c2 Curator's.
			if grants["c1"] == 0 || grants["c2"] == 0 {
				t.Errorf("granted by process: %v", grants)
			}
		})
	}
}

// executeShort runs a built-in scenario of Curator's as `locklab run` does, but briefly and on one
// server, and sees that the run knows which Curator it was.
func executeShort(t *testing.T, name, version string) Outcome {
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
	if err := Validate(sc); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.ArtifactDir(), "run")
	showLogs(t, dir)
	out, err := Execute(t.Context(), sc, dir, Options{Binary: labtest.Binary(t), Log: labtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	env, err := readEnv(dir)
	if err != nil {
		t.Fatal(err)
	}
	if version == "" || !strings.Contains(env.Lock, "Curator "+version) {
		t.Errorf("env.json says %q, want version %q", env.Lock, version)
	}
	return out
}
