package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"locklab/chaos"
	"locklab/harness/check/evidence"
	"locklab/harness/fail"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

var (
	// ErrDirInUse says that a directory already has something in it, or that it cannot be made.
	ErrDirInUse = fail.Input.New("the directory cannot be used")
	// ErrNoRun says that a directory holds no run.
	ErrNoRun = fail.Input.New("not a run directory")
	// ErrNoDir says that a run has no directory, so nothing of it can be judged.
	ErrNoDir = errors.New("no run directory was made")
)

// DefaultDir returns the directory of a run or a series for which the user names none. If the one of this second is
// there, it has a number besides.
func DefaultDir(name string, now time.Time) string {
	first := filepath.Join("runs", name+"-"+now.Format("20060102-150405"))
	dir := first
	for n := 2; ; n++ {
		if _, err := os.Lstat(dir); err != nil {
			return dir
		}
		dir = fmt.Sprintf("%s-%d", first, n)
	}
}

// A dirError says why a run cannot have a directory. It is both [ErrNoDir] and [ErrDirInUse].
type dirError string

func (e dirError) Error() string { return string(e) }

// Is lets [errors.Is] find the two sentinels, whose texts would say less than the message.
func (dirError) Is(target error) bool {
	return target == ErrNoDir || target == ErrDirInUse || target == fail.Input
}

// CheckDir refuses a directory that a run cannot have: one with anything in it, and one that cannot be made.
func CheckDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkParent(dir)
	case errors.Is(err, syscall.ENOTDIR):
		return refuseDir("%s is not a directory", fileAbove(dir))
	case err != nil:
		return refuseDir("%v", err)
	case IsRun(dir):
		return refuseDir("%s holds a run already", dir)
	case len(entries) > 0:
		return refuseDir("%s is not empty", dir)
	case !Writable(dir):
		return refuseDir("nothing may be written into %s", dir)
	}
	return nil
}

func refuseDir(format string, args ...any) error {
	return dirError(fmt.Sprintf(format, args...) + "; choose another directory with --out")
}

// checkParent refuses a directory that does not exist yet and cannot be made.
func checkParent(dir string) error {
	for {
		above := filepath.Dir(dir)
		info, err := os.Stat(above)
		switch {
		case errors.Is(err, fs.ErrNotExist) && above != dir:
			dir = above
			continue
		case err != nil:
			return refuseDir("%v", err)
		case !info.IsDir():
			return refuseDir("%s is not a directory", above)
		case !Writable(above):
			return refuseDir("nothing may be written into %s", above)
		}
		return nil
	}
}

// fileAbove returns the first part of a path that is there and is not a directory.
func fileAbove(path string) string {
	for above := filepath.Dir(path); above != path; path, above = above, filepath.Dir(above) {
		if info, err := os.Stat(above); err == nil && info.IsDir() {
			break
		}
	}
	return path
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
func IsRun(dir string) bool { return RequireRun(dir) == nil }

// RequireRun refuses a directory that holds no run. It looks at nothing else in the directory.
func RequireRun(dir string) error {
	_, err := os.Stat(filepath.Join(dir, ScenarioFile))
	if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return err
	}
	if wrong := RequireDir(dir); wrong != nil {
		return fmt.Errorf("%w: %w", ErrNoRun, wrong)
	}
	return fmt.Errorf("%w: %s has no %s", ErrNoRun, dir, ScenarioFile)
}

// Recorded reports whether a directory holds anything besides a scenario that a run begins with.
func Recorded(dir string) bool {
	_, noHosts := os.Lstat(HostsDir(dir))
	_, noPlan := os.Lstat(filepath.Join(dir, timelineFile))
	return noHosts == nil || noPlan == nil
}

// RequireDir refuses what is not a directory.
func RequireDir(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no directory %s", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	return nil
}

// Occupy marks the run in dir as one that lasts, until the function that it returns is called or this process ends,
// however it ends. The mark is a lock of the directory itself, which leaves nothing behind. On a file system that has
// no locks, the run is not marked.
func Occupy(dir string) (release func()) {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for errors.Is(unix.Flock(int(d.Fd()), unix.LOCK_EX), unix.EINTR) {
	}
	return func() { d.Close() }
}

// OccupyPlan marks the directory of a plan, such as that of a sweep, as [Occupy] marks that of a run. Unlike that, it
// refuses a directory in which another process works.
func OccupyPlan(dir string) (release func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if errors.Is(unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
		return nil, errors.Join(refuseDir("another process works in %s", dir), d.Close())
	}
	return func() { d.Close() }, nil
}

// Lasts reports whether the run in the directory d lasts: whether a process on this machine has marked it by [Occupy].
func Lasts(d *os.File) bool {
	err := unix.Flock(int(d.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil {
		err = unix.Flock(int(d.Fd()), unix.LOCK_UN)
	}
	return errors.Is(err, unix.EWOULDBLOCK)
}

// Planned returns the planned faults of a run as the checks need them.
func Planned(p chaos.Plan) []evidence.PlannedFault {
	var all []evidence.PlannedFault
	for _, s := range p.Steps {
		f := s.Fault
		one := evidence.PlannedFault{ID: s.ID, Kind: f.Kind, Target: string(f.Target), Drawn: s.Drawn,
			HitsHolder: f.HitsHolder(), HitsWaiter: f.HitsWaiter(),
			HitsHead: f.Target == chaos.TargetHeadWaiter, SparesServers: f.SparesServers(),
			HitsServer: f.HitsServer(), Delays: f.Delays(), OnlyReplies: f.OnlyReplies()}
		if !f.Target.IsHost() {
			one.Role, one.Target = string(f.Target), "" // the host is known only when the fault is injected
		}
		all = append(all, one)
	}
	return all
}
