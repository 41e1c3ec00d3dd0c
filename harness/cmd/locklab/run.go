package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"locklab/ensembles"
	"locklab/harness/console"
	"locklab/harness/incluster"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/series"
	"locklab/harness/simulate"
	"locklab/harness/watch"
	"locklab/reports/result"
)

type runCmd struct {
	Scenario  string `arg:"" optional:"" default:"mutex" predictor:"scenario" help:"${scenario_help}"`
	Out       string `predictor:"dir" env:"LOCKLAB_OUT" placeholder:"DIR" help:"${run_out_help}"`
	JSON      bool   `name:"json" help:"Print result.json instead of a summary; with --dry-run, timeline.json."`
	PrintCfg  bool   `name:"print-config" help:"${print_config_help}"`
	DryRun    bool   `name:"dry-run" help:"Print which faults would strike and when. Start nothing."`
	InCluster bool   `name:"in-cluster" help:"${in_cluster_help}"`

	overrides
}

// Run carries out a scenario.
func (c *runCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	if c.InCluster { // perhaps the servers can be reached from there alone
		c.adopt = func(_ context.Context, sc *scenario.Scenario) error { return sc.AdoptCount() }
	}
	sc, err := c.resolve(ctx, std.In, c.Scenario)
	if err != nil {
		return err
	}
	if c.PrintCfg {
		_, err := std.Out.Write(sc.Explain())
		return err
	}
	if c.DryRun && c.JSON {
		return console.PrintJSON(std.Out, rundir.Timeline(sc, sc.Plan(nil)))
	}
	if c.DryRun {
		return rundir.WriteTimeline(std.Out, sc, nil)
	}
	if err := c.confirm(sc); err != nil {
		return err
	}
	if c.InCluster {
		if err := incluster.Check(sc); err != nil {
			return err
		}
	}
	if sc.Lab == ensembles.LabSim {
		if err := simulate.Refuse(sc); err != nil {
			return err
		}
	}
	dir := outDir(c.Out, sc.Name)
	if err := rundir.CheckDir(dir); err != nil {
		return err
	}
	announce := sync.OnceFunc(func() {
		for _, w := range sc.Warnings() {
			fmt.Fprintln(std.Err, "warning:", w)
		}
		reproduces := "the plan, not the interleaving"
		if sc.Lab == ensembles.LabSim {
			reproduces = "the run"
		}
		fmt.Fprintf(std.Err, "%s: %s\nseed %d (it reproduces %s); run directory %s\n",
			sc.Name, sc.About, sc.Seed, reproduces, dir)
	})
	if sc.Lab == ensembles.LabSim {
		announce()
		out, err := series.Execute(ctx, sc, dir, run.Options{})
		return tell(std, out, c.JSON, err)
	}
	if c.InCluster {
		announce()
		out, err := incluster.Execute(ctx, sc, dir, incluster.Options{Log: log, Progress: std.Err})
		return tell(std, out, c.JSON, err)
	}
	opts, end := console.Following(std.Err, log)
	show := opts.Progress
	opts.Progress = func(p watch.Progress) { // comes once files and images were found to be there
		announce()
		show(p)
	}
	out, err := series.Execute(ctx, sc, dir, opts)
	end()
	return tell(std, out, c.JSON, err)
}

type harnessCmd struct {
	Scenario string `arg:"" help:"Scenario file."`
	Out      string `arg:"" help:"Run directory."`
}

// Run carries out a run of which [incluster.Execute] fetches the directory. It is judged there too, so only its exit
// code and what it prints while it lasts matter here.
func (c harnessCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	sc, err := loadScenario(ctx, std.In, c.Scenario)
	if err == nil {
		err = run.Adopt(ctx, sc)
	}
	if err == nil {
		err = result.Validate(sc)
	}
	if err != nil {
		return err
	}
	opts, end := console.Following(std.Err, log)
	defer end()
	labs := series.Labs{Options: opts}
	return conclude(labs.Run(ctx, series.Job{Scenario: sc, Dir: c.Out, Undrawn: true, Last: true}))
}
