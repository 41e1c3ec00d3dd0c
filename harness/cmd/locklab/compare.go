package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/untrusted"
	"locklab/reports/compare"
)

type compareCmd struct {
	Base string `arg:"" optional:"" predictor:"dir" help:"Run directory, or folder of them: the baseline runs."`
	Head string `arg:"" optional:"" predictor:"dir" help:"Run directory, or folder of them: the candidate runs."`

	comparison
	AllowMismatch []string `placeholder:"KEY" help:"${mismatch_help}"`
	SelfTest      bool     `help:"${self_test_help}"`
}

const (
	mismatchHelp = "Key of the scenario or the environment in which the sides may differ. Repeatable."
	selfTestHelp = "Compare recorded runs with each other. A slowdown must fail, and two halves of the same runs must not."
)

func (compareCmd) exits() string {
	return exitCodes("the candidate is not worse", exitViolation, exitRegression, exitUnknown)
}

// A comparison says how sides are compared, and how the outcome is printed.
type comparison struct {
	Format string            `default:"text" enum:"text,markdown,json,junit,github" help:"${format_help}"`
	JSON   bool              `name:"json" help:"Print the comparison as JSON; the same as --format=json."`
	Write  map[string]string `placeholder:"FORMAT=FILE" help:"Write the comparison to a file as well. Repeatable."`
	Floor  *floor            `placeholder:"5%" help:"${floor_help}"`
	Metric []string          `placeholder:"NAME" predictor:"metric" help:"${metric_help}"`
}

const (
	formatHelp = "How to print the comparison: text, markdown, json, junit or github."
	floorHelp  = "The least loss that counts, for every metric. The default is 5 % for medians and 10 % for tails."
	metricHelp = "A metric on which the verdict depends, instead of the usual ones: acquire.p99, or its path in " +
		"result.json, latency.acquire.p99_ns. Repeatable."
)

// A floor is a share, written as a number or in percent.
type floor float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *floor) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 10) {
		return fmt.Errorf("%q is not a share: write 5%% or 0.05, at most 1000%%", text)
	}
	*f = floor(v)
	return nil
}

// Run compares two sides.
func (c *compareCmd) Run(std streams) error {
	if c.SelfTest {
		if c.Base != "" {
			return fmt.Errorf("%w: --self-test has runs of its own", compare.ErrInput)
		}
		return compare.SelfTest(std.Out)
	}
	if c.Base == "" || c.Head == "" {
		return fmt.Errorf("%w: expected \"<base> <head>\" or --self-test", compare.ErrInput)
	}
	for _, dir := range []string{c.Base, c.Head} {
		if err := untrusted.CheckDir(dir); err != nil {
			return fmt.Errorf("compare: %w", err)
		}
	}
	if err := c.check(); err != nil {
		return err
	}
	return c.tell(std, c.Base, c.Head, c.AllowMismatch)
}

// tell compares the sides, prints the outcome and returns the error that the command ends with.
func (c *comparison) tell(std streams, base, head string, allow []string) error {
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
	opts := compare.Options{
		AllowMismatch: allow, Varied: design.Varied, Paired: design.Paired, Floor: (*float64)(c.Floor), Metrics: c.Metric,
	}
	return compare.Compare(base, head, opts, errors.Join(designErr, baseErr, headErr))
}

// check refuses mistakes that would otherwise be found only after everything has been measured.
func (c *comparison) check() error {
	if c.JSON && c.Format != "text" && c.Format != "json" {
		return fmt.Errorf("%w: --json beside --format=%s; give one of the two", compare.ErrInput, c.Format)
	}
	for format := range c.Write {
		if err := compare.CheckFormat(format); err != nil {
			return err
		}
	}
	return compare.CheckMetrics(c.Metric)
}

func (c *comparison) print(std streams, report compare.Report) error {
	for _, format := range slices.Sorted(maps.Keys(c.Write)) {
		b, err := compare.Render(format, report)
		if err == nil {
			err = os.WriteFile(c.Write[format], b, 0o644)
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
