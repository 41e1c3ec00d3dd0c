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

	"locklab/harness/rundir"
	"locklab/reports/compare"
)

// writePlan makes the directory and writes there what the sides differ in, and when they were compared.
func (b *benchmark) writePlan() error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	p := compare.Design{SchemaVersion: compare.DesignVersion, Varied: b.config.Varied(), Paired: b.config.Head != nil,
		Looks: b.looks}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, compare.DesignFile), append(text, '\n'), 0o644)
}

// writeSamples gathers the samples of each side so far into a file.
func (b *benchmark) writeSamples() error {
	var errs []error
	for _, side := range b.config.sides() {
		text, err := gather(filepath.Join(b.dir, side), b.config.Varied())
		if err == nil && len(text) > 0 {
			err = os.WriteFile(filepath.Join(b.dir, side+".txt"), text, 0o644)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// gather returns the benchmark lines of all runs below dir in the order of the runs. It leaves out the keys in which
// the sides differ on purpose, because benchstat does not compare lines whose keys differ.
func gather(dir string, varied []string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", rundir.BenchFile))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	units := map[benchfmt.UnitMetadataKey]bool{}
	for _, name := range files {
		if err := appendBench(w, name, varied, units); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return b.Bytes(), nil
}

// appendBench appends the benchmark lines of a file, which may be missing, and what it says of units that no file
// before it has said.
func appendBench(w *benchfmt.Writer, name string, varied []string, units map[benchfmt.UnitMetadataKey]bool) error {
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
			line.Config = slices.DeleteFunc(line.Config,
				func(c benchfmt.Config) bool { return slices.Contains(varied, c.Key) })
			if err := w.Write(line); err != nil {
				return err
			}
		case *benchfmt.UnitMetadata:
			if units[rec.UnitMetadataKey] {
				continue
			}
			units[rec.UnitMetadataKey] = true
			if err := w.Write(rec); err != nil {
				return err
			}
		case *benchfmt.SyntaxError:
			return rec
		}
	}
	return r.Err()
}
