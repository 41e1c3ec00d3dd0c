package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/console"
	"locklab/harness/rundir"
	"locklab/harness/untrusted"
	"locklab/reports/compare"
)

type compareCmd struct {
	Base string `arg:"" optional:"" predictor:"dir" help:"Run directory, or folder of them: the baseline runs."`
	Head string `arg:"" optional:"" predictor:"dir" help:"Run directory, or folder of them: the candidate runs."`

	comparison
	AllowMismatch []string `placeholder:"KEY" help:"${mismatch_help}"`
}

// A comparison says how sides are compared, and how the outcome is printed.
type comparison struct {
	Format string            `default:"text" enum:"text,markdown,json,junit,github" help:"${format_help}"`
	JSON   bool              `name:"json" help:"Print the comparison as JSON; the same as --format=json."`
	Write  map[string]string `placeholder:"FORMAT=FILE" help:"Write the comparison to a file as well. Repeatable."`
	judged
}

// A judged command says which metrics count, and what they may lose.
type judged struct {
	Metric   []string         `placeholder:"NAME" predictor:"metric" help:"${metric_help}"`
	Tolerate map[string]share `placeholder:"NAME=5%" help:"${tolerate_help}"`
}

// A share is written as a number or in percent.
type share float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil {
		return fmt.Errorf("%q is not a share: write 5%% or 0.05", text)
	}
	*s = share(v)
	return nil
}

func (c *compareCmd) Run(std console.Streams) error {
	if c.Base == "" || c.Head == "" {
		return fmt.Errorf("%w: two run directories, or two folders of them, are needed", compare.ErrInput)
	}
	if err := c.check(); err != nil {
		return err
	}
	for _, dir := range []string{c.Base, c.Head} {
		if err := compare.RequireRuns(dir); err != nil {
			return err
		}
		if err := untrusted.CheckDir(dir); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
	}
	return c.tell(std, c.Base, c.Head, c.AllowMismatch)
}

// tell compares the sides, prints the outcome and returns the error that the command ends with.
func (c *comparison) tell(std console.Streams, base, head string, allow []string) error {
	report, err := c.compare(base, head, allow)
	if err != nil {
		return err
	}
	if err := c.print(std, report); err != nil && report.Verdict != compare.Violation {
		return err
	} else if code := codeOfVerdict(report.Verdict); code != exitOK {
		return verdictError{code, err}
	}
	return nil
}

func (c *comparison) compare(baseDir, headDir string, allow []string) (compare.Report, error) {
	design, designErr := compare.ReadDesign(baseDir, headDir)
	base, baseErr := compare.Load(baseDir)
	head, headErr := compare.Load(headDir)
	opts := c.options()
	opts.AllowMismatch, opts.Varied, opts.Paired, opts.Looks = allow, design.Varied, design.Paired, design.Looks
	return compare.Compare(base, head, opts, errors.Join(designErr, baseErr, headErr))
}

// options returns the options that the command line gives.
func (j *judged) options() compare.Options {
	opts := compare.Options{Metrics: j.Metric, Tolerate: map[string]float64{}}
	for name, v := range j.Tolerate {
		opts.Tolerate[name] = float64(v)
	}
	return opts
}

// check refuses mistakes that would otherwise be found only after everything has been measured.
func (c *comparison) check() error {
	if c.JSON && c.Format != "text" && c.Format != "json" {
		return fmt.Errorf("%w: --json beside --format=%s; give one of the two", compare.ErrInput, c.Format)
	}
	for _, format := range slices.Sorted(maps.Keys(c.Write)) {
		if err := compare.CheckFormat(format); err != nil {
			return err
		}
		if err := checkFile(c.Write[format]); err != nil {
			return fmt.Errorf("%w: --write %s=%s: %w", compare.ErrInput, format, c.Write[format], err)
		}
	}
	return c.options().Check()
}

func (c *comparison) print(std console.Streams, report compare.Report) error {
	if report.Saw != "" {
		report.Page = compare.Page(os.Getenv, filepath.Join(report.Saw, rundir.ReportFile))
	}
	for _, format := range slices.Sorted(maps.Keys(c.Write)) {
		b, err := compare.Render(format, report)
		if err == nil {
			if err = os.WriteFile(c.Write[format], b, 0o644); err != nil {
				err = fmt.Errorf("--write %s: %w", format, err)
			}
		}
		if err != nil {
			return err
		}
	}
	format := c.Format
	if c.JSON {
		format = "json"
	}
	b, err := compare.Render(format, report)
	if err != nil {
		return err
	}
	_, err = std.Out.Write(b)
	return err
}

// checkFile refuses the name of a file that cannot be written.
func checkFile(name string) error {
	dir, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return errors.New("its folder does not exist")
	}
	if at, err := os.Stat(name); err == nil && at.IsDir() || !dir.IsDir() || name == "" {
		return errors.New("that is not the name of a file")
	}
	return nil
}

func codeOfVerdict(v compare.Verdict) int {
	switch v {
	case compare.Pass, compare.Improved:
		return exitOK
	case compare.Violation:
		return exitViolation
	case compare.Regressed:
		return exitRegression
	}
	return exitUnknown
}
