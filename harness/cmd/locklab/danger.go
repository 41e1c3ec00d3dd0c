package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/harness/console"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/series"
	"locklab/reports/danger"
	"locklab/reports/words"
)

type dangerCmd struct {
	Guards         []string       `placeholder:"GUARD,…" help:"${danger_guards_help}"`
	Recipe         []string       `sep:"none" placeholder:"LOCK" predictor:"key:recipe" help:"${danger_recipe_help}"`
	Panels         []string       `placeholder:"PANEL,…" help:"${danger_panels_help}"`
	Doses          []float64      `placeholder:"X,…" help:"${danger_doses_help}"`
	Victims        *int           `placeholder:"N" help:"Processes that are struck in one run (default 16)."`
	SessionTimeout *time.Duration `placeholder:"TIME" help:"Session timeout (default 1s)."`
	Tick           *time.Duration `placeholder:"TIME" help:"The servers' tick (default 200ms)."`
	Hold           *time.Duration `placeholder:"TIME" help:"${danger_hold_help}"`
	Servers        *int           `placeholder:"N" help:"ZooKeeper servers: 1, 3 or 5 (default 3)."`
	Lab            string         `placeholder:"KIND" help:"Kind of lab (default auto)."`
	Seed           uint64         `placeholder:"N" help:"Seed of the plan; one is drawn if none is given."`
	Trials         int            `default:"400" placeholder:"N" help:"Most trials of a point."`
	Band           float64        `default:"0.05" placeholder:"SHARE" help:"${danger_band_help}"`
	Budget         time.Duration  `default:"0s" placeholder:"TIME" help:"${danger_budget_help}"`
	Quick          bool           `help:"${danger_quick_help}"`
	Out            string         `predictor:"dir" env:"LOCKLAB_OUT" placeholder:"DIR" help:"${danger_out_help}"`
	Resume         string         `predictor:"dir" placeholder:"DIR" help:"${danger_resume_help}"`
	Beside         string         `predictor:"dir" placeholder:"DIR" help:"${danger_beside_help}"`
	DryRun         bool           `help:"Print the plan as JSON. Start nothing."`
	JSON           bool           `name:"json" help:"Print danger.json instead of a table."`
}

// Run measures the curves, or goes on with that.
func (c *dangerCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	plan, dir, err := c.plan()
	if err == nil && c.Beside != "" {
		err = plan.CheckBeside(c.Beside)
	}
	if err != nil {
		return err
	}
	if c.DryRun {
		return console.PrintJSON(std.Out, plan)
	}
	release, err := begin(plan, dir)
	if err != nil {
		return err
	}
	defer release()
	fmt.Fprintf(std.Err, "seed %d (it reproduces the pauses, not the interleaving); directory %s\n", plan.Seed, dir)
	runErr := c.carryOut(ctx, std, log, plan, dir)
	if errors.Is(runErr, run.ErrInterrupted) {
		fmt.Fprintf(std.Err, "interrupted; go on with: locklab danger --resume %s\n", dir)
	}
	d, err := series.ReportDanger(dir, c.Band, c.Trials, c.Beside)
	if err != nil {
		return errors.Join(runErr, err)
	}
	e := ending{violation: d.Violation != ""}
	if c.JSON {
		err = console.PrintJSON(std.Out, d)
	} else if err = danger.Print(std.Out, d); err == nil {
		_, err = fmt.Fprintf(std.Out, "\nreport: %s\n", rundir.ReportPath(dir))
	}
	if d.Open > 0 {
		fmt.Fprintf(std.Err, "%s open; go on with: locklab danger --resume %s\n", words.Are(int64(d.Open), "point"), dir)
	}
	return e.with(errors.Join(runErr, err))
}

// plan makes the plan, or reads that of the measurement that is continued.
func (c *dangerCmd) plan() (*series.DangerPlan, string, error) {
	switch {
	case c.Trials < 1 || c.Trials > 100_000:
		return nil, "", scenario.Refuse("--trials", "from 1 to 100000", "%d trials", c.Trials)
	case !(c.Band > 0 && c.Band <= 1):
		return nil, "", scenario.Refuse("--band", "more than 0 and at most 1, such as 0.05", "a width of %v", c.Band)
	case c.Budget < 0:
		return nil, "", scenario.Refuse("--budget", "such as 30m", "%s", c.Budget)
	case c.Beside != "":
		if err := checkSeriesDir("danger --beside", c.Beside, series.IsDanger, series.ErrNoDanger); err != nil {
			return nil, "", err
		}
	}
	if c.Resume != "" {
		if len(c.Guards)+len(c.Recipe)+len(c.Panels)+len(c.Doses) > 0 || c.Victims != nil || c.Servers != nil ||
			c.Lab != "" || c.Seed != 0 || c.SessionTimeout != nil || c.Tick != nil || c.Hold != nil || c.Quick {
			return nil, "", scenario.Refuse("--resume", "with no flags but --trials, --band, --budget, --beside and --json",
				"the plan is in the directory already")
		}
		if err := checkSeriesDir("danger --resume", c.Resume, series.IsDanger, series.ErrNoDanger); err != nil {
			return nil, "", err
		}
		plan, err := series.ReadDangerPlan(c.Resume)
		return plan, c.Resume, err
	}
	p := series.DangerPlan{Seed: c.Seed, Timeout: time.Second, Tick: 200 * time.Millisecond, Hold: 200 * time.Millisecond,
		Victims: 16, Servers: 3, Lab: ensembles.LabAuto, Panels: []string{series.PanelPause, series.PanelWorst},
		Doses:  []float64{0.25, 0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.3, 1.5, 2, 3},
		Guards: []string{"none", "lost-context", "lease-clock", "fencing", "zk-multi"}, Recipes: c.Recipe}
	if c.Quick {
		// A quick answer must not flatter a guard, so it shows each at its worst.
		p.Guards, p.Panels = []string{"none", "lost-context", "fencing"}, []string{series.PanelWorst}
		p.Doses = []float64{0.5, 0.9, 1.1, 1.5, 2}
		c.Trials = p.Victims
	}
	given(&p.Guards, c.Guards)
	given(&p.Panels, c.Panels)
	given(&p.Doses, slices.Clone(c.Doses))
	if len(c.Guards) == 0 && len(c.Recipe) > 0 && c.Quick {
		p.Guards = nil
	}
	orElse(&p.Victims, c.Victims)
	orElse(&p.Timeout, c.SessionTimeout)
	orElse(&p.Tick, c.Tick)
	orElse(&p.Hold, c.Hold)
	orElse(&p.Servers, c.Servers)
	p.Lab = cmp.Or(c.Lab, p.Lab)
	if p.Lab == ensembles.LabSim && len(c.Guards) == 0 && !c.Quick {
		p.Guards = []string{"none", "lost-context", "fencing"} // the others cannot be simulated
	}
	dir := outDir(c.Out, "danger")
	if p.Seed == 0 {
		p.Seed = drawSeed()
		if series.IsDanger(dir) {
			old, err := series.ReadDangerPlan(dir)
			if err != nil {
				return nil, "", err
			}
			p.Seed = old.Seed
		}
	}
	plan := series.NewDangerPlan(p)
	return plan, dir, plan.Check()
}

// reportDanger draws an old measurement's report. All its points count as done.
func reportDanger(std console.Streams, dir string) error {
	if _, err := series.ReportDanger(dir, 1, 1, ""); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.Out, rundir.ReportPath(dir))
	return err
}

// given sets a list if one was given.
func given[T any](list *[]T, to []T) {
	if len(to) > 0 {
		*list = to
	}
}

// orElse sets a value if one was given.
func orElse[T any](v, to *T) {
	if to != nil {
		*v = *to
	}
}

// carryOut makes the runs that are missing. It prints a line for each run, and on a terminal shows the current run
// below.
func (c *dangerCmd) carryOut(
	ctx context.Context,
	std console.Streams,
	log *slog.Logger,
	plan *series.DangerPlan,
	dir string,
) (err error) {
	opts, lines, end := console.OnDisplay(std.Err, log)
	defer end()
	pool := &series.Labs{Options: opts, ClientProcesses: plan.Victims + 1}
	defer func() { err = errors.Join(err, pool.Close()) }()
	d := series.DangerRun{Dir: dir, Plan: plan, Band: c.Band, Trials: c.Trials, Budget: c.Budget, Run: pool.Run,
		Progress: func(p series.DangerProgress) { fmt.Fprintln(lines, strings.TrimSpace(p.String())) }}
	return d.Execute(ctx)
}
