package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A PlanDir is where a plan is kept in the directory of a measurement.
type PlanDir[P any] struct {
	What string // is measured
	File string // has the plan
	None error  // says that a directory has no plan
	// Check says what is wrong with a plan that was read.
	Check func(*P) error
}

// Read reads the plan in a directory. The error wraps none.
func (d PlanDir[P]) Read(dir string) (*P, error) {
	name := filepath.Join(dir, d.File)
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no %s", d.None, dir, d.File)
	}
	var p P
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err == nil {
		err = d.Check(&p)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", d.None, name, err)
	}
	return &p, nil
}

// Begin makes the directory and writes the plan. If the directory has the same plan already, the measurement was
// interrupted and can go on there. Other directories that are not empty are refused.
func (d PlanDir[P]) Begin(dir string, p *P) error {
	old, err := d.Read(dir)
	switch {
	case err == nil:
		a, errA := json.Marshal(old)
		b, errB := json.Marshal(p)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		if !bytes.Equal(a, b) {
			return fmt.Errorf("%w: %s has another %s, or one with another seed; choose another directory with --out, or go on "+
				"with that one with --resume %s", ErrDirInUse, dir, d.What, dir)
		}
		return nil
	case !errors.Is(err, d.None):
		return err
	}
	if err := CheckDir(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return WriteJSON(filepath.Join(dir, d.File), p)
}

// Has reports whether a directory has a plan, whether or not it can be read.
func (d PlanDir[P]) Has(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, d.File))
	return err == nil
}
