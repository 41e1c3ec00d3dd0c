package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"locklab/ensembles"
	"locklab/harness"
)

type checkCmd struct {
	Dir  string `arg:"" help:"Run directory."`
	JSON bool   `name:"json" help:"Print result.json instead of a summary."`
}

// Run judges an old run.
func (c *checkCmd) Run(std streams) error {
	out, err := harness.Check(c.Dir)
	return tell(std, out, c.JSON, err)
}

type reportCmd struct {
	Dir string `arg:"" help:"Run directory, or directory of a sweep."`
}

// Run draws an old run's report. Whatever the run came to, drawing it is success.
func (c *reportCmd) Run(std streams) error {
	if harness.IsSweep(c.Dir) {
		return reportSweep(std, c.Dir)
	}
	out, err := harness.Report(c.Dir)
	if err != nil {
		return err
	}
	partial := ""
	if out.Result.Partial {
		partial = " (partial run)"
	}
	fmt.Fprintf(std.Out, "%s/%s%s\n", out.Dir, harness.ReportFile, partial)
	return nil
}

type cleanCmd struct{}

// Run removes leftovers.
func (cleanCmd) Run(ctx context.Context, log *slog.Logger) error { return ensembles.Clean(ctx, log) }

type imageCmd struct {
	NoBuild bool `help:"Build nothing; print \"build\" if that is what it would take."`
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
