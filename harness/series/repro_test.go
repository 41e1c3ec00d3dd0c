package series

import (
	"context"
	"errors"
	"os"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/recipes/broken"
)

// Bugs that can share a lab follow one another.
func TestReprosByLab(t *testing.T) {
	all, err := ByLab()
	if err != nil {
		t.Fatal(err)
	}
	labs, seen, own := map[string]bool{}, map[string]bool{}, 0
	last := ""
	for _, bug := range all {
		sc, err := scenario.OfBug(bug)
		if err != nil {
			t.Fatal(err)
		}
		settings := run.LabSettings(sc, nil)
		if settings != last && labs[settings] {
			t.Errorf("%s comes back to an earlier lab", bug.Name)
		}
		labs[settings], last, seen[bug.Name] = true, settings, true
		if bug.Builtin != "" {
			own++ // its hosts have its command
		}
	}
	for _, bug := range broken.Known() {
		if seen[bug.Name] != bug.Shown() {
			t.Errorf("%s: listed %t, and its scenario is %q", bug.Name, seen[bug.Name], bug.Scenario)
		}
	}
	if len(labs)-own > 7 {
		t.Errorf("%d bugs need %d labs", len(all), len(labs))
	}
}

// A bug is tried with other seeds, in other directories, until it has been caught or the attempts are used up.
func TestReproduceTriesAgain(t *testing.T) {
	bug, _ := broken.Find("lost-wakeup")
	broke := errors.New("the lab broke")
	for _, c := range []struct {
		name            string
		shows, breaks   int // the attempt that does
		attempts, tried int
	}{
		{"at once", 1, 0, 3, 1},
		{"later", 3, 0, 3, 3},
		{"never", 0, 0, 3, 3},
		{"broken", 3, 2, 3, 2},
	} {
		seeds, dirs := map[uint64]bool{}, map[string]bool{}
		got, err := reproduce(t.Context(), bug, "d", c.attempts, func(_ context.Context, job Job) (judge.Outcome, error) {
			seeds[job.Scenario.Seed], dirs[job.Dir] = true, true
			out := judge.Outcome{Dir: job.Dir}
			if len(dirs) == c.breaks {
				return out, broke
			}
			v := evidence.Verdict{Name: evidence.Liveness, Result: evidence.Pass}
			if len(dirs) == c.shows {
				v.Result, v.Findings = evidence.Fail, []evidence.Finding{{Kind: evidence.Kind(bug.Kinds[0])}}
			}
			out.Report.Checks = []evidence.Verdict{v}
			return out, nil
		})
		caught := c.shows > 0 && c.breaks == 0
		if (got.Finding != nil) != caught || got.Attempts != c.tried || len(seeds) != c.tried || len(dirs) != c.tried ||
			errors.Is(err, broke) != (c.breaks > 0) {
			t.Errorf("%s: %+v, %v; seeds %v, directories %v", c.name, got.Finding, err, seeds, dirs)
		}
	}
}

// A known bug shows in a real lab, and what was found of it is written and drawn.
func TestARealBugIsCaught(t *testing.T) {
	labtest.Require(t)
	bug, _ := broken.Find("name-order")
	bug.Scenario += "servers: 1\n" // they start sooner
	labs := Labs{Options: run.Options{Binary: labtest.Binary(t), Log: labtest.Log(t)}}
	r, err := labs.Reproduce(t.Context(), bug, t.ArtifactDir(), 3)
	if err = errors.Join(err, labs.Close()); err != nil {
		t.Fatal(err)
	}
	if r.Finding == nil || len(r.Finding.Zxids) == 0 || r.Finding.Text == "" {
		t.Fatalf("after %d attempts: %+v in %+v", r.Attempts, r.Finding, r.Outcome.Report.Checks)
	}
	for _, name := range []string{rundir.ReportPath(r.Outcome.Dir), rundir.TimelinePath(r.Outcome.Dir)} {
		if info, err := os.Stat(name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
