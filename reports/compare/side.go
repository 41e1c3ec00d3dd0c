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

// Load reads a side from a run directory, or from a folder of run directories. An error wraps [ErrInput]. The side
// has the runs that could be read nevertheless, because one of them may have found a violation.
func Load(dir string) (Side, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Side{Name: dir}, fmt.Errorf("%w: %s does not exist", ErrInput, dir)
	case err != nil:
		return Side{Name: dir}, fmt.Errorf("%w: %w", ErrInput, err)
	case !info.IsDir():
		return Side{Name: dir}, fmt.Errorf("%w: %s is not a directory", ErrInput, dir)
	}
	return loadFS(os.DirFS(dir), dir)
}

// loadFS is Load of a file system, called name.
func loadFS(fsys fs.FS, name string) (Side, error) {
	side := Side{Name: name}
	dirs := []string{"."}
	if !isRun(fsys, ".") {
		var err error
		if dirs, err = folders(fsys); err != nil {
			return side, fmt.Errorf("%w: %s: %w", ErrInput, name, err)
		}
		if len(dirs) == 0 {
			return side, fmt.Errorf("%w: %s holds no run: neither %s nor folders that have one", ErrInput, name,
				rundir.ResultFile)
		}
	}
	var problems []error
	for _, d := range dirs {
		run, err := ReadRun(fsys, d, filepath.Join(name, d))
		problems = append(problems, err)
		if run.Result.SchemaVersion != 0 {
			side.Runs = append(side.Runs, run)
		}
	}
	untrusted.Lines(&side) // before its texts become part of messages
	slices.SortStableFunc(side.Runs, func(a, b Run) int { return cmp.Compare(a.Env.StartedUnixNs, b.Env.StartedUnixNs) })
	return side, errors.Join(problems...)
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
