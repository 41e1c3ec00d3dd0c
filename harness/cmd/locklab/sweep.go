package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"

	"locklab/harness"
	"locklab/harness/scenario"
	"locklab/reports"
)

type sweepCmd struct {
	Scenario string   `arg:"" optional:"" help:"Name of a built-in scenario (locklab scenarios list) or a YAML file; mutex if none is given."`
	Param    []string `name:"param" sep:"none" help:"A key of the scenario to vary, and its values: clients=1..256 (doubling), clients=1..1000x10, clients=10..50+10, recipe=mutex,naive-mutex; {…} takes a value as it is. Repeatable: every combination is a point." placeholder:"KEY=VALUES"`
	Repeat   int      `help:"How often each point is run (1)." placeholder:"N"`
	Saturate string   `help:"Search at each point for the highest rate of arrivals that keeps to a limit, such as 'acquire.p99 < 20ms', instead of running it. The warm-up is the time to settle, the duration that in which it must hold." placeholder:"LIMIT"`
	Out      string   `help:"Directory; default runs/sweep-<scenario>-<time>. If it has the same sweep already, what is missing is run." placeholder:"DIR"`
	Resume   string   `help:"Go on with the interrupted sweep in a directory, whatever it was." placeholder:"DIR"`
	JSON     bool     `name:"json" help:"Print sweep.json instead of a table."`
	DryRun   bool     `help:"Print the plan as JSON, and do nothing."`

	Threshold []string     `name:"threshold" sep:"none" group:"Keys of the scenario (each is also an environment variable LOCKLAB_…):" help:"As of run; judged at each point." placeholder:"LIMIT"`
	Keys      kong.Plugins `embed:"" group:"Keys of the scenario (each is also an environment variable LOCKLAB_…):"`
}

// Run carries out a sweep, or goes on with one.
func (c *sweepCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	plan, dir, err := c.plan()
	if err != nil {
		return err
	}
	if c.DryRun {
		return printJSON(std.Out, plan)
	}
	if err := plan.Begin(dir); err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "%s: %s\nseed %d (it reproduces grid, order and plans, not the interleaving); directory %s\n", plan.Scenario, plan, plan.Seed, dir)
	runErr := carryOutSweep(ctx, std, log, plan, dir)
	if errors.Is(runErr, harness.ErrInterrupted) {
		fmt.Fprintf(std.Err, "interrupted; locklab sweep --resume %s goes on\n", dir)
	}
	s, err := harness.ReportSweep(dir)
	violation, _, _ := harness.SweepVerdict(s)
	if err := errors.Join(runErr, err); err != nil && s.Done == 0 && !violation {
		return err // nothing to show
	}
	// A violation is the end whatever else goes wrong.
	if err := errors.Join(err, c.print(std.Out, s, dir)); err != nil {
		runErr = errors.Join(runErr, err)
	}
	return concludeSweep(s, runErr)
}

// plan makes the plan, or finds it.
func (c *sweepCmd) plan() (*harness.SweepPlan, string, error) {
	if c.Resume != "" {
		if c.Scenario != "" || len(c.Param)+len(c.Threshold) > 0 || c.Saturate != "" || c.Out != "" || c.Repeat != 0 || anyGiven(c.Keys) {
			return nil, "", &scenario.InputError{Flag: "--resume", Msg: "the plan is in the directory already", Hint: "without a scenario, its keys, --param, --repeat, --saturate, --threshold and --out"}
		}
		plan, err := harness.ReadSweepPlan(c.Resume)
		return plan, c.Resume, err
	}
	if c.Repeat < 0 || c.Repeat > 1000 || c.Repeat > 1 && c.Saturate != "" {
		return nil, "", &scenario.InputError{Flag: "--repeat", Msg: fmt.Sprintf("%d times", c.Repeat), Hint: "from 1 to 1000; a search repeats its probes by itself"}
	}
	if len(c.Threshold) > 0 && c.Saturate != "" {
		return nil, "", &scenario.InputError{Flag: "--threshold", Msg: "--saturate has the limit", Hint: "give one of the two"}
	}
	if len(c.Param) == 0 && c.Saturate == "" {
		return nil, "", &scenario.InputError{Flag: "--param", Msg: "nothing is to be varied", Hint: "--param clients=1..256, or --saturate 'acquire.p99 < 20ms'"}
	}
	cfg := harness.SweepConfig{Repeat: c.Repeat, Saturate: c.Saturate}
	for _, text := range c.Param {
		p, err := harness.ParseParam(text)
		if err != nil {
			return nil, "", err
		}
		cfg.Params = append(cfg.Params, p)
	}
	name := c.Scenario
	if name == "" {
		name = "mutex"
	}
	var err error
	if cfg.Base, err = load(name, c.Keys, c.Threshold); err != nil {
		return nil, "", err
	}
	dir := c.Out
	if dir == "" {
		dir = harness.DefaultDir("sweep-"+cfg.Base.Name, time.Now())
	}
	if cfg.Base.Seed == 0 {
		cfg.Base.Seed = drawSeed()
		if harness.IsSweep(dir) {
			old, err := harness.ReadSweepPlan(dir)
			if err != nil {
				return nil, "", err
			}
			cfg.Base.Seed = old.Seed
		}
	}
	plan, err := harness.PlanSweep(cfg)
	return plan, dir, err
}

// carryOutSweep runs what is left of a plan, and shows how far it is: line by line, and on a
// terminal the run at work below.
func carryOutSweep(ctx context.Context, std streams, log *slog.Logger, plan *harness.SweepPlan, dir string) (err error) {
	opts, end := harness.Options{Log: log}, func() {}
	lines := std.Err
	if d := newDisplay(std.Err, os.Getenv); d != nil {
		opts = harness.Options{Log: slog.New(slog.NewTextHandler(d, nil)), Progress: d.show, ProgressEvery: redrawEvery}
		lines, end = d, d.end
	}
	defer end()
	processes, err := plan.ClientProcesses()
	if err != nil {
		return err
	}
	series := &harness.Series{Options: opts, ClientProcesses: processes}
	defer func() { err = errors.Join(err, series.Close()) }()
	s := harness.Sweep{Dir: dir, Plan: plan, Run: series.Run, Progress: func(p harness.SweepProgress) { fmt.Fprintln(lines, p) }}
	return s.Execute(ctx)
}

func (c *sweepCmd) print(w io.Writer, s reports.Sweep, dir string) error {
	if c.JSON {
		return printJSON(w, s)
	}
	if err := reports.PrintSweep(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nreport: %s\n", filepath.Join(dir, harness.ReportFile))
	return err
}

// concludeSweep turns what a sweep came to, and what went wrong on the way, into the command's end.
func concludeSweep(s reports.Sweep, err error) error {
	violation, unknown, missed := harness.SweepVerdict(s)
	switch {
	case violation:
		return verdictError{exitViolation, err}
	case err != nil:
		return err
	case unknown:
		return verdictError{code: exitUnknown}
	case missed:
		return verdictError{code: exitThreshold}
	}
	return nil
}

// reportSweep draws an old sweep's report, whatever it came to.
func reportSweep(std streams, dir string) error {
	s, err := harness.ReportSweep(dir)
	if err != nil {
		return err
	}
	partial := ""
	if s.Partial {
		partial = " (partial sweep)"
	}
	_, err = fmt.Fprintf(std.Out, "%s%s\n", filepath.Join(dir, harness.ReportFile), partial)
	return err
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
