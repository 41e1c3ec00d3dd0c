package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"locklab/ensembles"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/series"
	"locklab/harness/untrusted"
)

type checkCmd struct {
	Dir  string `arg:"" predictor:"dir" help:"Run directory."`
	JSON bool   `name:"json" help:"Print result.json instead of a summary."`
}

func (checkCmd) exits() string {
	return exitCodes("every check came out as the scenario expects, and every threshold was met",
		exitViolation, exitThreshold, exitUnknown)
}

// Run judges an old run.
func (c *checkCmd) Run(std streams) error {
	if err := untrusted.CheckDir(c.Dir); err != nil {
		return fmt.Errorf("check %s: %w", c.Dir, err)
	}
	out, err := judge.Check(c.Dir)
	return tell(std, out, c.JSON, err)
}

type reportCmd struct {
	Dir string `arg:"" predictor:"dir" help:"Run directory, or directory of a sweep."`
}

func (reportCmd) exits() string { return exitCodes("the report was drawn, whatever its verdict is") }

// Run draws an old run's report. To draw it is success, whatever the run's verdict is.
func (c *reportCmd) Run(std streams) error {
	if err := untrusted.CheckDir(c.Dir); err != nil {
		return fmt.Errorf("report %s: %w", c.Dir, err)
	}
	if series.IsSweep(c.Dir) {
		return reportSweep(std, c.Dir)
	}
	out, err := judge.Report(c.Dir)
	if err != nil {
		return err
	}
	partial := ""
	if out.Result.Partial {
		partial = " (partial run)"
	}
	fmt.Fprintf(std.Out, "%s/%s%s\n", out.Dir, rundir.ReportFile, partial)
	return nil
}

type cleanCmd struct{}

func (cleanCmd) exits() string { return exitCodes("nothing is left", exitEnvironment) }

// Run removes leftovers.
func (cleanCmd) Run(ctx context.Context, log *slog.Logger) error { return ensembles.Clean(ctx, log) }

type imageCmd struct {
	NoBuild bool `help:"Build nothing. Print \"build\" if an image would have to be built."`
}

func (imageCmd) exits() string {
	return exitCodes("there is an image, and its name was printed", exitEnvironment)
}

// Run makes sure that there is an image.
func (c *imageCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	ref, err := ensembles.EnsureImage(ctx, !c.NoBuild, log)
	if c.NoBuild && errors.Is(err, ensembles.ErrNoImage) {
		ref, err = "build", nil
	}
	if err == nil {
		fmt.Fprintln(std.Out, ref)
	}
	return err
}
