package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"locklab/harness/console"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/series"
	"locklab/harness/settings"
	"locklab/reports/sweep"
	"locklab/workloads/client"
)

type sweepCmd struct {
	Scenario string   `arg:"" optional:"" predictor:"scenario" help:"${scenario_help} (default mutex)"`
	Param    []string `sep:"none" placeholder:"KEY=VALUES" predictor:"key" help:"${param_help}"`
	Repeat   int      `placeholder:"N" help:"How often each point is run (default 1)."`
	Saturate []string `sep:"none" placeholder:"LIMIT" predictor:"limit" help:"${saturate_help}"`
	Over     string   `placeholder:"KEY" help:"${over_help}"`

	Budget time.Duration `placeholder:"TIME" help:"${search_budget_help}"`

	Out    string `predictor:"dir" env:"LOCKLAB_OUT" placeholder:"DIR" help:"${sweep_out_help}"`
	Resume string `predictor:"dir" placeholder:"DIR" help:"Continue the interrupted sweep in a directory."`
	JSON   bool   `name:"json" help:"Print sweep.json instead of a table."`
	DryRun bool   `help:"${sweep_dry_run_help}"`

	overrides
}

// Run carries out a sweep, or continues one.
func (c *sweepCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	plan, dir, err := c.plan(ctx, std.In)
	if err != nil {
		return err
	}
	if c.DryRun {
		cost, err := plan.Cost()
		if err != nil {
			return err
		}
		fmt.Fprintf(std.Err, "%s; %s\n", plan, cost)
		return console.PrintJSON(std.Out, plan)
	}
	if err := c.confirmPlan(plan); err != nil {
		return err
	}
	err = plan.SetCeiling(dir, func(recipe string) (float64, error) { return client.Ceiling(ctx, recipe) })
	if err != nil {
		return err
	}
	release, err := begin(plan, dir)
	if err != nil {
		return err
	}
	defer release()
	fmt.Fprintf(std.Err, "%s: %s\nseed %d (it reproduces grid, order and plans, not the interleaving); directory %s\n",
		plan.Scenario, plan, plan.Seed, dir)
	runErr := carryOutSweep(ctx, std, log, plan, dir)
	if errors.Is(runErr, run.ErrInterrupted) {
		fmt.Fprintf(std.Err, "interrupted; continue with: locklab sweep --resume %s\n", dir)
	}
	s, err := series.ReportSweep(dir)
	e := endingOfSweep(s)
	if err := errors.Join(runErr, err); err != nil && s.Done == 0 && !e.violation {
		return err // nothing to show
	}
	// A violation decides how the command ends, whatever else goes wrong.
	if err := errors.Join(err, c.print(std.Out, s, dir)); err != nil {
		runErr = errors.Join(runErr, err)
	}
	return e.with(runErr)
}

func (c *sweepCmd) plan(ctx context.Context, in io.Reader) (*series.SweepPlan, string, error) {
	if c.Resume != "" {
		outGiven := c.Out != "" && c.Out != os.Getenv(outVariable)
		search := len(c.Saturate) > 0 || c.Over != "" || c.Budget != 0
		if c.Scenario != "" || len(c.Param)+len(c.Threshold) > 0 || search || outGiven || c.Repeat != 0 ||
			anyGiven(c.Keys) {
			return nil, "", scenario.Refuse("--resume", "without a scenario, its keys, --param, --repeat, --saturate, --over, "+
				"--budget, --threshold and --out", "the plan is in the directory already")
		}
		if err := checkSeriesDir("sweep --resume", c.Resume, series.IsSweep, series.ErrNoSweep); err != nil {
			return nil, "", err
		}
		plan, err := series.ReadSweepPlan(c.Resume)
		return plan, c.Resume, err
	}
	switch search := len(c.Saturate) > 0; {
	case c.Repeat < 0 || c.Repeat > 1000 || c.Repeat > 1 && search:
		return nil, "", scenario.Refuse("--repeat", "from 1 to 1000; a search repeats its probes by itself", "%d times",
			c.Repeat)
	case len(c.Threshold) > 0 && search:
		return nil, "", scenario.Refuse("--threshold", "give one of the two", "--saturate has the limit")
	case len(c.Param) == 0 && !search:
		return nil, "", scenario.Refuse("--param", "--param clients=1..256, or --saturate 'acquire.p99 < 20ms'",
			"there is nothing to vary")
	case !search && (c.Over != "" || c.Budget != 0) || c.Budget < 0:
		return nil, "", scenario.Refuse("--saturate", "--saturate 'acquire.p99 < 20ms' --over clients --budget 20m",
			"--over and --budget are of a search")
	}
	cfg := series.SweepConfig{Repeat: c.Repeat, Saturate: c.Saturate, Over: c.Over, Budget: c.Budget}
	for _, text := range c.Param {
		p, err := series.ParseParam(text)
		if err != nil {
			return nil, "", err
		}
		cfg.Params = append(cfg.Params, p)
	}
	var err error
	if cfg.Base, err = c.load(ctx, in, cmp.Or(c.Scenario, "mutex")); err == nil {
		err = run.CheckFiles(cfg.Base) // here the flag is known that names a file
	}
	if err != nil {
		return nil, "", err
	}
	dir := outDir(c.Out, "sweep-"+cfg.Base.Name)
	if cfg.Base.Seed == 0 {
		cfg.Base.Seed = drawSeed()
		if series.IsSweep(dir) {
			old, err := series.ReadSweepPlan(dir)
			if err != nil {
				return nil, "", err
			}
			cfg.Base.Seed = old.Seed
		}
	}
	plan, err := series.PlanSweep(cfg)
	return plan, dir, err
}

// confirmPlan refuses a plan whose load needs --yes, or whose files are not there. The rates of a search have no bound.
func (c *sweepCmd) confirmPlan(plan *series.SweepPlan) error {
	for i := range plan.Points {
		sc, err := plan.Run(i, 1)
		if err != nil {
			return err
		}
		if plan.Search != nil && sc.Connect != "" && !c.Yes {
			return scenario.Refuse("--saturate", "--yes to do so; a run ends itself once max-latency is passed",
				"the search raises the rate on the ensemble of connect until the limit is missed")
		}
		if err := errors.Join(c.confirm(sc), run.CheckFiles(sc)); err != nil {
			return err
		}
	}
	return nil
}

// carryOutSweep makes the runs that a plan still lacks. It prints a line for each run, and on a terminal shows the
// current run below.
func carryOutSweep(
	ctx context.Context,
	std console.Streams,
	log *slog.Logger,
	plan *series.SweepPlan,
	dir string,
) (err error) {
	opts, lines, end := console.OnDisplay(std.Err, log)
	defer end()
	processes, err := plan.ClientProcesses()
	if err != nil {
		return err
	}
	labs := &series.Labs{Options: opts, ClientProcesses: processes}
	defer func() { err = errors.Join(err, labs.Close()) }()
	s := series.Sweep{
		Dir:      dir,
		Plan:     plan,
		Run:      labs.Run,
		Progress: func(p series.SweepProgress) { fmt.Fprintln(lines, p) },
	}
	return s.Execute(ctx)
}

func (c *sweepCmd) print(w io.Writer, s sweep.Sweep, dir string) error {
	if c.JSON {
		return console.PrintJSON(w, s)
	}
	if err := sweep.Print(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nreport: %s\n", rundir.ReportPath(dir))
	return err
}

func endingOfSweep(s sweep.Sweep) (e ending) {
	e.violation, e.unknown, e.missed = series.SweepVerdict(s)
	return e
}

// reportSweep draws an old sweep's report, whatever its verdict is.
func reportSweep(std console.Streams, dir string) error {
	s, err := series.ReportSweep(dir)
	if err != nil {
		return err
	}
	partial := ""
	if s.Partial {
		partial = " (partial sweep)"
	}
	_, err = fmt.Fprintf(std.Out, "%s%s\n", rundir.ReportPath(dir), partial)
	return err
}

type planCmd struct {
	Dir     string            `arg:"" predictor:"dir" help:"Directory of a sweep."`
	Clients int               `placeholder:"N" help:"${plan_clients_help}"`
	Locks   int               `placeholder:"N" help:"Locks that the clients share."`
	Hold    time.Duration     `placeholder:"TIME" help:"How long each lock is held."`
	Rate    float64           `placeholder:"N" help:"Arrivals per second, at random, instead of clients that ask again."`
	Where   map[string]string `placeholder:"KEY=VALUE" help:"Which part of a sweep that varied more keys. Repeatable."`
	JSON    bool              `name:"json" help:"Print the answer as JSON."`
}

// Run answers a question from a sweep.
func (c *planCmd) Run(std console.Streams) error {
	for _, f := range [...]struct {
		flag  string
		value any
		bad   bool
	}{
		{"--clients", c.Clients, c.Clients < 0}, {"--locks", c.Locks, c.Locks < 0}, {"--hold", c.Hold, c.Hold < 0},
		{"--rate", settings.FormatNumber(c.Rate), !(c.Rate >= 0 && c.Rate <= 1e6)},
	} {
		if f.bad {
			return scenario.Refuse(f.flag, "above 0", "%v is out of range", f.value)
		}
	}
	if err := checkSeriesDir("plan", c.Dir, series.IsSweep, series.ErrNoSweep); err != nil {
		return err
	}
	s, err := series.ReadSweep(c.Dir)
	if err != nil {
		return err
	}
	question := sweep.Question{Clients: c.Clients, Locks: c.Locks, Hold: c.Hold, Rate: c.Rate, Where: c.Where}
	a, err := s.Answer(question)
	if err != nil {
		return err
	}
	if c.JSON {
		return console.PrintJSON(std.Out, a)
	}
	return sweep.PrintAnswer(std.Out, a)
}
