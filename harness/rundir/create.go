package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"locklab/chaos"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

var (
	// ErrDirInUse says that a directory already has something in it.
	ErrDirInUse = errors.New("directory is in use")
	// ErrNoRun says that a directory holds no run.
	ErrNoRun = errors.New("not a run directory")
	// ErrNoDir says that a run has no directory, so nothing of it can be judged.
	ErrNoDir = errors.New("no run directory was made")
)

// DefaultDir returns the directory of a run or a series for which the user names none.
func DefaultDir(name string, now time.Time) string {
	return filepath.Join("runs", name+"-"+now.Format("20060102-150405"))
}

// CheckDir refuses a directory that a run cannot have, which is one with anything in it.
func CheckDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w: %w", ErrNoDir, ErrDirInUse, err)
	case len(entries) > 0:
		return fmt.Errorf("%w: %w: %s is not empty; choose another with --out", ErrNoDir, ErrDirInUse, dir)
	}
	return nil
}

// CreateDir makes a run directory. It writes the result of a run that has only begun first, and then the resolved
// scenario and schedule, by which a directory is known to hold a run.
func CreateDir(dir string, sc *scenario.Scenario, plan chaos.Plan, begun any) error {
	if err := CheckDir(dir); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return os.MkdirAll(dir, 0o755) },
		func() error { return WriteJSON(filepath.Join(dir, ResultFile), begun) },
		func() error { return replaceWith(filepath.Join(dir, ScenarioFile), sc.Marshal()) },
		func() error { return writeTimeline(dir, sc, plan) },
		func() error { return os.Mkdir(HostsDir(dir), 0o755) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("%w: %w", ErrNoDir, err)
		}
	}
	return nil
}

// NewRecorder returns a recorder for the harness's own history in a run directory.
func NewRecorder(dir string, clock history.Clock) (*history.Recorder, error) {
	return history.NewRecorder(HostDir(dir, HarnessHost), HarnessHost, clock)
}

// CreateHostFile creates a raw file in the folder of a host. A file that is there already is refused.
func CreateHostFile(dir, host, name string) (*os.File, error) {
	if err := os.MkdirAll(HostDir(dir, host), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(HostDir(dir, host), name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
}

// IsRun reports whether a directory holds a run.
func IsRun(dir string) bool { return requireRun(dir) == nil }

// requireRun refuses a directory that holds no run.
func requireRun(dir string) error {
	_, err := os.Stat(filepath.Join(dir, ScenarioFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %s has no %s", ErrNoRun, dir, ScenarioFile)
	}
	return err
}
