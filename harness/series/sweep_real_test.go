package series

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/rundir"
	"locklab/reports/sweep"
)

// sweepArgs are the arguments of a small sweep of two labs with three runs each.
var sweepArgs = []string{
	"sweep",
	"mutex",
	"--param",
	"clients=1,2,4",
	"--param",
	"servers=1,3",
	"--hold",
	"1ms",
	"--warmup",
	"200ms",
	"--duration",
	"1s",
	"--min-acquired",
	"1",
	"--seed",
	"11",
}

// A real sweep that is interrupted, killed and resumed has the plan, the seeds, the runs and the report of one that
// ran without interruption.
func TestARealSweepIsResumed(t *testing.T) {
	suite.Nightly(t, "a sweep on servers; TestSweepIsResumed resumes one of recorded runs")
	labtest.Require(t)
	binary := labtest.Binary(t)
	base := t.ArtifactDir()
	dir := filepath.Join(base, "sweep")
	planned, err := exec.CommandContext(t.Context(), binary, append(sweepArgs, "--dry-run")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var want SweepPlan
	if err := json.Unmarshal(planned, &want); err != nil {
		t.Fatal(err)
	}
	// whole returns the completed runs in a fixed order.
	whole := func() (names []string) {
		for i := range want.Points {
			sc, err := want.Run(i, 1)
			if err != nil {
				t.Fatal(err)
			}
			if r, err := readRun(want.runDir(dir, i, 1), sc); err != nil {
				t.Fatal(err)
			} else if r != nil && !r.Partial {
				names = append(names, want.Points[i].Name)
			}
		}
		return names
	}
	// start begins or resumes the sweep, and sends a signal once so many runs are complete and the next has begun.
	start := func(sig syscall.Signal, after int, args ...string) int {
		t.Helper()
		cmd := exec.Command(binary, args...)
		out, err := os.Create(filepath.Join(base, "output-"+sig.String()))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			defer cancel()
			ended <- cmd.Wait()
		}()
		err = ensembles.Poll(ctx, 20*time.Millisecond, "runs of the sweep", func() error {
			begun, err := filepath.Glob(filepath.Join(dir, pointsDir, "*", "*", rundir.ScenarioFile))
			if err != nil || len(whole()) < after || len(begun) <= after {
				return errors.Join(errors.New("not so far"), err)
			}
			return nil
		})
		if err == nil && sig != 0 {
			err = cmd.Process.Signal(sig)
		}
		if waitErr := <-ended; err != nil {
			t.Fatal(err, waitErr)
		}
		if said, rerr := os.ReadFile(out.Name()); rerr == nil {
			t.Logf("%s: exit code %d:\n%s", sig, cmd.ProcessState.ExitCode(), said)
		}
		return cmd.ProcessState.ExitCode()
	}
	if code := start(syscall.SIGINT, 1, append(sweepArgs, "--out", dir)...); code != 130 {
		t.Errorf("interrupted: exit code %d", code)
	}
	if s, err := readSweepFile(dir); err != nil || !s.Partial || s.Done == 0 {
		t.Errorf("after an interrupt %v: %d of %d runs, partial %t", err, s.Done, s.Planned, s.Partial)
	}
	first := whole()
	start(syscall.SIGKILL, len(first)+1, append(sweepArgs, "--out", dir)...)
	old := map[string]time.Time{}
	for _, name := range whole() {
		old[name] = modified(t, filepath.Join(dir, pointsDir, name, "01", rundir.ResultFile))
	}
	if len(old) <= len(first) || len(old) == len(want.Points) {
		t.Fatalf("%d runs before the kill, %d after", len(first), len(old))
	}
	out, err := exec.CommandContext(t.Context(), binary, "sweep", "--resume", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "acquired/s") {
		t.Errorf("no table:\n%s", out)
	}
	got, err := ReadSweepPlan(dir)
	if diff := cmp.Diff(&want, got); err != nil || diff != "" {
		t.Errorf("the plan %v (-want +got):\n%s", err, diff)
	}
	if n := len(whole()); n != len(want.Points) {
		t.Errorf("%d runs of %d, of the planned scenarios and seeds", n, len(want.Points))
	}
	for name, at := range old {
		if now := modified(t, filepath.Join(dir, pointsDir, name, "01", rundir.ResultFile)); !now.Equal(at) {
			t.Errorf("%s was run again", name)
		}
	}
	s, err := readSweepFile(dir)
	if err != nil || s.Partial || s.Done != len(want.Points) {
		t.Errorf("at the end %v: %d of %d runs, partial %t", err, s.Done, s.Planned, s.Partial)
	}
	for _, name := range []string{"report.html", "plots/load.png", "plots/hockey-stick.svg", "plots/small-multiples.png"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func modified(t *testing.T, name string) time.Time {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime()
}

func readSweepFile(dir string) (sweep.Sweep, error) {
	var s sweep.Sweep
	b, err := os.ReadFile(filepath.Join(dir, sweepFile))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}
