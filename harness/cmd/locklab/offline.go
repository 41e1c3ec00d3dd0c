package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"text/tabwriter"

	"locklab/ensembles"
	"locklab/harness"
	"locklab/harness/scenario"
	"locklab/workloads"
)

type checkCmd struct {
	Dir  string `arg:"" help:"Run directory."`
	JSON bool   `name:"json" help:"Print result.json instead of a summary."`
}

// Run judges an old run.
func (c *checkCmd) Run(std streams) error {
	out, err := harness.Check(c.Dir)
	if out.Dir != "" {
		if c.JSON {
			err = errors.Join(err, copyResult(std.Out, out))
		} else {
			printOutcome(std.Out, out)
		}
	}
	return conclude(out, err)
}

type reportCmd struct {
	Dir string `arg:"" help:"Run directory."`
}

// Run draws an old run's report. Whatever the run came to, drawing it is success.
func (c *reportCmd) Run(std streams) error {
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

type scenariosCmd struct {
	List listCmd `cmd:"" help:"List the built-in scenarios, with the question that each answers."`
	Show showCmd `cmd:"" help:"Print a built-in scenario, as a file that run accepts."`
}

type listCmd struct{}

// Run lists the built-in scenarios.
func (listCmd) Run(std streams) error {
	all, err := scenario.Builtins(workloads.Builtin)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(std.Out, 0, 4, 2, ' ', 0)
	for _, s := range all {
		fmt.Fprintf(w, "%s\t%s\n", s.Name, s.About)
	}
	return w.Flush()
}

type showCmd struct {
	Name string `arg:"" help:"Name of a built-in scenario."`
}

// Run prints a scenario with its comments.
func (c *showCmd) Run(std streams) error {
	src, err := scenario.BuiltinSource(workloads.Builtin, c.Name)
	if err != nil {
		return err
	}
	_, err = std.Out.Write(src)
	return err
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
