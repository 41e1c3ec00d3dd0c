package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"locklab/harness/scenario"
)

// Names in a run directory. Raw files are written once; derived ones are
// replaced whole by Check and Report.
const (
	scenarioFile = "scenario.yaml"  // raw: the resolved scenario
	envFile      = "env.json"       // raw: what it ran on
	hostsDir     = "hosts"          // raw: a folder a host
	resultFile   = "result.json"    // derived
	verdictsFile = "verdicts.json"  // derived
	historyFile  = "history.jsonl"  // derived
	hlogFile     = "latency.hlog"   // derived
	benchFile    = "bench.txt"      // derived
	processHist  = "process.hist"   // in a host's folder: its process's history as it arrived
	agentHist    = "agent.hist"     // in a host's folder: its agent's
	processLog   = "process.log"    // in a host's folder
	metricsStart = "mntr-start.txt" // in a server's folder: counters as the window opens
	metricsEnd   = "mntr-end.txt"   // in a server's folder: counters as it closes
	harnessHost  = "harness"        // the harness's own folder among the hosts
)

// ReportFile is the report's name in a run directory.
const ReportFile = "report.html"

// ErrDirInUse says that a directory has something in it already.
var ErrDirInUse = errors.New("directory is in use")

// ErrNoRun says that a directory holds no run.
var ErrNoRun = errors.New("no run directory")

// DefaultDir is where a run goes that was given no directory.
func DefaultDir(name string, now time.Time) string {
	return filepath.Join("runs", name+"-"+now.Format("20060102-150405"))
}

// errNoDir says that a run has no directory, so nothing of it can be judged.
var errNoDir = errors.New("no run directory was made")

// CheckDir refuses a directory that has anything in it. The error wraps [ErrDirInUse].
func CheckDir(dir string) error { return checkDir(dir) }

// checkDir refuses a directory that a run cannot have: one with anything in it.
func checkDir(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w: %w", errNoDir, ErrDirInUse, err)
	case len(entries) > 0:
		return fmt.Errorf("%w: %w: %s is not empty; choose another with --out", errNoDir, ErrDirInUse, dir)
	}
	return nil
}

// createDir makes a run directory: a result that says that the run has only
// begun, then the resolved scenario and schedule, which is what makes the directory a run's.
func createDir(dir string, sc *scenario.Scenario, plan scenario.Plan) error {
	if err := checkDir(dir); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return os.MkdirAll(dir, 0o755) },
		func() error { return writePartial(dir, sc) },
		func() error { return writeText(filepath.Join(dir, scenarioFile), string(sc.Marshal())) },
		func() error { return writeTimeline(dir, sc, plan) },
		func() error { return os.Mkdir(filepath.Join(dir, hostsDir), 0o755) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("%w: %w", errNoDir, err)
		}
	}
	return nil
}

// openDir refuses what is no run directory.
func openDir(dir string) error {
	_, err := os.Stat(filepath.Join(dir, scenarioFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %s has no %s", ErrNoRun, dir, scenarioFile)
	}
	return err
}

// replaceFile puts a whole new file in the place of an old one, or leaves it.
func replaceFile(name string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", filepath.Base(name), err), os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

func writeJSON(name string, v any) error {
	return replaceFile(name, func(f *os.File) error {
		enc := json.NewEncoder(f)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	})
}

func writeText(name, text string) error {
	return replaceFile(name, func(f *os.File) error {
		_, err := f.WriteString(text)
		return err
	})
}
