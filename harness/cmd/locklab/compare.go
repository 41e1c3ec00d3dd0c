package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"locklab/reports/compare"
)

type compareCmd struct {
	Base string `arg:"" optional:"" help:"Run directory, or folder of them: what was."`
	Head string `arg:"" optional:"" help:"Run directory, or folder of them: what is to be."`

	comparison
	AllowMismatch []string `help:"Key of the scenario or the environment in which the sides may differ; may be repeated." placeholder:"KEY"`
	SelfTest      bool     `help:"Compare recorded runs with each other: a slowdown must go red, two halves of the same runs must not."`
}

// A comparison says how sides are compared, and how that is told.
type comparison struct {
	Format string            `help:"How to print the verdict: text, markdown, json, junit or github." enum:"text,markdown,json,junit,github" default:"text"`
	Write  map[string]string `help:"Write it to a file besides; may be repeated." placeholder:"FORMAT=FILE"`
	Floor  *floor            `help:"The least loss that counts, for every metric; by default 5 % for medians and 10 % for tails." placeholder:"5%"`
	Metric []string          `help:"The metric on which the verdict depends, instead of the usual ones; may be repeated." placeholder:"NAME"`
}

// A floor is a share, written as such or in percent.
type floor float64

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *floor) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(string(text)), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 10) {
		return fmt.Errorf("%q is no share: write 5%% or 0.05, at most 1000%%", text)
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
	return c.tell(std, c.Base, c.Head, c.AllowMismatch)
}

// tell compares the sides, says what came of it and turns that into the command's end.
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
	plan, planErr := compare.ReadPlan(baseDir, headDir)
	base, baseErr := compare.Load(baseDir)
	head, headErr := compare.Load(headDir)
	return compare.Compare(base, head, compare.Options{AllowMismatch: allow, Varied: plan.Varied, Paired: plan.Paired, Floor: (*float64)(c.Floor), Metrics: c.Metric},
		errors.Join(planErr, baseErr, headErr))
}

// check refuses what would only be found wrong when everything has been measured.
func (c *comparison) check() error {
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
	b, err := compare.Render(c.Format, report)
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
