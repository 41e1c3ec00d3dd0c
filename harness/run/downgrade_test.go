package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A lock that admits a writer beside a writer that has become a reader is found, and only by that damage.
func TestALeakyDowngradeIsFound(t *testing.T) {
	suite.Nightly(t, "builds a program; recipes/broken has the same bug in memory")
	t.Parallel()
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	labtest.Require(t)
	lock := filepath.Join(t.TempDir(), "leaky")
	build := exec.Command("go", "build", "-trimpath", "-o", lock, "./testdata/leaky")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // for hosts without a C library
	build.Stdout, build.Stderr = t.Output(), t.Output()
	if err := build.Run(); err != nil {
		t.Fatal(err)
	}
	scenario := func(share string) string {
		return with(
			"servers: 1",
			"clients: 6",
			// Between processes, an overlap that is shorter than their clocks are known to agree accuses nobody. On a machine
			// that stands still for a while, that bound is long.
			"client-processes: 1",
			"workload: read-write",
			"recipe: exec:"+lock,
			"read-share: 0",
			"downgrade-share: "+share,
			"hold: 5ms",
			"duration: 2s",
		)
	}
	stage, err := OpenStage(
		t.Context(),
		load(t, scenario("0.5")),
		Options{Binary: labtest.Binary(t), Log: labtest.Log(t)},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer stage.Close()
	t.Run("without downgrades", func(t *testing.T) { wantVerdict(t, runOn(t, stage, scenario("0")), evidence.Pass) })
	t.Run("with downgrades", func(t *testing.T) {
		out := runOn(t, stage, scenario("0.5"))
		wantVerdict(t, out, evidence.Fail)
		if n := number(out.Result.Safety.Overlaps); n < 1 || n != number(out.Result.Safety.OverlapsUnexplained) {
			t.Errorf("%d overlaps, %d unexplained: %s", n, number(out.Result.Safety.OverlapsUnexplained),
				out.Report.Check(evidence.BeliefExclusion).Summary)
		}
		for _, f := range out.Report.Check(evidence.BeliefExclusion).Findings {
			modes := map[history.Mode]bool{}
			for _, e := range f.Events {
				modes[e.Mode] = true
			}
			if !modes[history.ModeRead] || !modes[history.ModeWrite] {
				t.Errorf("an overlap of other than a reader and a writer: %s", f.Text)
			}
		}
		// The read hold begins before the write hold ends.
		write := map[string]history.Event{}
		downgrades := 0
		for _, e := range readHistory(t, out.Dir) {
			switch {
			case e.Op == history.OpAcquire && e.Kind == history.OK && e.Mode == history.ModeWrite:
				write[e.Client] = e
			case e.Op == history.OpRelease && e.Kind == history.Invoke && e.Mode == history.ModeWrite:
				delete(write, e.Client)
			case e.Op == history.OpAcquire && e.Kind == history.OK && e.Mode == history.ModeRead:
				downgrades++
				if held, ok := write[e.Client]; !ok || e.Acq != held.Acq+1 {
					t.Errorf("%v, where it held to write: %v", e, held)
				}
			}
		}
		if downgrades == 0 {
			t.Error("nobody downgraded")
		}
	})
}
