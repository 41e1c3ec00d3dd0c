package series

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"locklab/harness/rundir"
)

// A planDir is where a plan is kept in the directory of a measurement.
type planDir[P any] struct {
	what string // is measured
	file string // has the plan
	none error  // says that a directory has no plan
	// check says what is wrong with a plan that was read.
	check func(*P) error
}

// read reads the plan in a directory. The error wraps none.
func (d planDir[P]) read(dir string) (*P, error) {
	name := filepath.Join(dir, d.file)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no %s", d.none, dir, d.file)
	}
	var p P
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err == nil {
		err = d.check(&p)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", d.none, name, err)
	}
	return &p, nil
}

// begin makes the directory and writes the plan. If the directory has the same plan already, the measurement was
// interrupted and can go on there. Other directories that are not empty are refused.
func (d planDir[P]) begin(dir string, p *P) error {
	old, err := d.read(dir)
	switch {
	case err == nil:
		a, errA := json.Marshal(old)
		b, errB := json.Marshal(p)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("%w: %s has another %s, or one with another seed; choose another directory with --out, or go on "+
				"with that one with --resume %s", rundir.ErrDirInUse, dir, d.what, dir)
		}
		return nil
	case !errors.Is(err, d.none):
		return err
	}
	if err := rundir.CheckDir(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return rundir.WriteJSON(filepath.Join(dir, d.file), p)
}

// has reports whether a directory has a plan, whether or not it can be read.
func (d planDir[P]) has(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, d.file))
	return err == nil
}
