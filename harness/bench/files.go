package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/perf/benchfmt"

	"locklab/reports/compare"
)

// writePlan makes the directory and says in it what the sides differ in.
func (b *benchmark) writePlan() error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	p := compare.Plan{SchemaVersion: compare.PlanVersion, Varied: b.plan.Varied(), Paired: b.plan.Head != nil}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, compare.PlanFile), append(text, '\n'), 0o644)
}

// writeSamples gathers the samples that there are by now, each side's in a file.
func (b *benchmark) writeSamples() error {
	var errs []error
	for _, side := range b.plan.sides() {
		text, err := gather(filepath.Join(b.dir, side), b.plan.Varied())
		if err == nil && len(text) > 0 {
			err = os.WriteFile(filepath.Join(b.dir, side+".txt"), text, 0o644)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// gather puts the benchmark lines of all runs below dir into one file, in their order. What the
// sides were made to differ in is left out of what is said of each: benchstat would not hold lines
// against each other that differ in it.
func gather(dir string, varied []string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "bench.txt"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	for _, name := range files {
		if err := appendBench(w, name, varied); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b.Bytes(), nil
}

func appendBench(w *benchfmt.Writer, name string, varied []string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := benchfmt.NewReader(io.Reader(f), name)
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			line := rec.Clone()
			line.Config = slices.DeleteFunc(line.Config, func(c benchfmt.Config) bool { return slices.Contains(varied, c.Key) })
			if err := w.Write(line); err != nil {
				return err
			}
		case *benchfmt.SyntaxError:
			return rec
		}
	}
	return r.Err()
}
