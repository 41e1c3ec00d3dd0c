package series

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"locklab/harness/run"
	"locklab/harness/rundir"
)

// An interrupt ends the judging and drawing of a run that was complete. An earlier interrupt does not, so an
// interrupted run is judged as far as it got.
func TestConcludeIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, rundir.ScenarioFile)
	if err := syscall.Mkfifo(scenario, 0o644); err != nil { // reading it takes until somebody writes it
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(run.ErrInterrupted) })
	out, err := conclude(ctx, Job{Dir: dir}, nil)
	if !errors.Is(err, run.ErrInterrupted) || out.Dir != "" {
		t.Errorf("interrupted while a run is judged: %q, %v", out.Dir, err)
	}

	if err := os.WriteFile(scenario, []byte("left to the judging that goes on"), 0o644); err != nil {
		t.Fatal(err)
	}

	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, rundir.ScenarioFile), []byte("clients: 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err = conclude(ctx, Job{Dir: dir}, run.ErrInterrupted)
	if out.Dir != dir || !errors.Is(err, run.ErrInterrupted) {
		t.Errorf("a run that was interrupted: %q, %v", out.Dir, err)
	}
}
