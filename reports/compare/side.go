package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"locklab/harness/rundir"
	"locklab/harness/untrusted"
)

// A Side is one of the two sets of runs.
type Side struct {
	Name string
	Runs []Run // in the order in which they began
}

// RequireRuns refuses what is neither a run directory nor a folder of run directories. It reads nothing in there. The
// error wraps [ErrInput].
func RequireRuns(dir string) error {
	if err := rundir.RequireDir(dir); err != nil {
		return fmt.Errorf("%w: %w", ErrInput, err)
	}
	_, err := runsIn(os.DirFS(dir), dir)
	return err
}

// Load reads a side from a run directory, or from a folder of run directories. An error wraps [ErrInput]. The side
// has the runs that could be read nevertheless, because one of them may have found a violation.
func Load(dir string) (Side, error) {
	if err := rundir.RequireDir(dir); err != nil {
		return Side{Name: dir}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	fsys := os.DirFS(dir)
	side := Side{Name: dir}
	dirs, err := runsIn(fsys, dir)
	if err != nil {
		return side, err
	}
	var problems []error
	for _, d := range dirs {
		run, err := ReadRun(fsys, d, filepath.Join(dir, d))
		problems = append(problems, err)
		if run.Result.SchemaVersion != 0 {
			side.Runs = append(side.Runs, run)
		}
	}
	untrusted.Lines(&side) // before its texts become part of messages
	slices.SortStableFunc(side.Runs, func(a, b Run) int { return cmp.Compare(a.Env.StartedUnixNs, b.Env.StartedUnixNs) })
	return side, errors.Join(problems...)
}

// runsIn lists the run directories of a side: the file system's root, or the folders in it.
func runsIn(fsys fs.FS, name string) ([]string, error) {
	if isRun(fsys, ".") {
		return []string{"."}, nil
	}
	dirs, err := folders(fsys)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInput, name, err)
	}
	if !slices.ContainsFunc(dirs, func(d string) bool { return isRun(fsys, d) }) {
		return nil, fmt.Errorf("%w: %s holds no run: neither %s nor folders that have one", ErrInput, name,
			rundir.ResultFile)
	}
	return dirs, nil
}

// isRun reports whether the directory has a file that every run directory has from the beginning.
func isRun(fsys fs.FS, dir string) bool {
	for _, file := range []string{rundir.ResultFile, rundir.ScenarioFile} {
		if _, err := fs.Stat(fsys, path.Join(dir, file)); err == nil {
			return true
		}
	}
	return false
}

// folders lists the folders except hidden ones. A link to a folder counts.
func folders(fsys fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		info, err := fs.Stat(fsys, e.Name())
		if err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			dirs = append(dirs, e.Name())
		}
	}
	return dirs, nil
}

// repeated says which run is in the sides twice. A copy of a run is not a second sample, and the same runs on both
// sides would always pass.
func repeated(sides ...Side) error {
	type identity struct {
		lab     string
		started int64
	}
	seen := map[identity]string{}
	for _, s := range sides {
		for _, r := range s.Runs {
			id := identity{r.Env.LabID, r.Env.StartedUnixNs}
			if first, ok := seen[id]; ok {
				return fmt.Errorf("%w: %s and %s are the same run", ErrInput, first, r.Name)
			}
			seen[id] = r.Name
		}
	}
	return nil
}
