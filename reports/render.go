package reports

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"locklab/harness/check"
	"locklab/harness/history"
)

// Input is everything that a report is made of.
type Input struct {
	Events       []history.Event
	Acquisitions []history.Acquisition
	Report       check.Report
	Result       Result
	Meta         Meta

	_ struct{}
}

// Render draws the run's pictures into dir/plots, as PNG and SVG, and writes
// dir/report.html, one file that needs nothing but itself. Each file is
// replaced whole or not at all. A picture that has nothing to show is left out,
// and one of an earlier report is removed.
func Render(dir string, in Input) error {
	plots := filepath.Join(dir, "plots")
	if err := os.MkdirAll(plots, 0o755); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	drawn, err := pictures(in)
	if err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	for _, p := range drawn {
		for ext, b := range map[string][]byte{".png": p.PNG, ".svg": p.SVG} {
			name := filepath.Join(plots, p.Name+ext)
			if p.PNG == nil {
				if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
					return fmt.Errorf("render report: %w", err)
				}
				continue
			}
			if err := replace(name, b); err != nil {
				return fmt.Errorf("render report: %w", err)
			}
		}
	}
	var page bytes.Buffer
	if err := writePage(&page, in, drawn); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	if err := replace(filepath.Join(dir, "report.html"), page.Bytes()); err != nil {
		return fmt.Errorf("render report: %w", err)
	}
	return nil
}

// replace writes a file by renaming a complete one into its place.
func replace(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already if all went well
	if _, err := f.Write(b); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
