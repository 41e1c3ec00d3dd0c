package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"locklab/harness/console"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/series"
	"locklab/reports/result"
	"locklab/workloads"
)

type demoCmd struct {
	Lab  string `default:"auto" predictor:"key:lab" env:"LOCKLAB_LAB" placeholder:"KIND" help:"Kind of lab."`
	Out  string `predictor:"dir" env:"LOCKLAB_OUT" placeholder:"DIR" help:"${demo_out_help}"`
	JSON bool   `name:"json" help:"Print the acts' results, each as in result.json, instead of a table."`
}

// acts are the acts of the demonstration: built-in scenarios, each with what it shows.
var acts = []struct{ name, scenario, title string }{
	{"act1-calm", "mutex-calm", "no fault"},
	{"act2-paused", "mutex-pause", "the holder is stopped for longer than its session, three times"},
	{"act3-fenced", "mutex-pause-fencing", "the same, with fencing tokens"},
}

// Run shows the three acts and prints their table.
func (c *demoCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	dir := outDir(c.Out, "demo")
	if rundir.IsRun(dir) { // the acts' directories would be within it
		return rundir.CheckDir(dir)
	}
	begun := time.Now()
	var plan []series.Act
	for _, a := range acts {
		sc, err := scenario.Builtin(workloads.Builtin, a.scenario)
		if err == nil {
			err = sc.Set("lab", c.Lab)
		}
		if err == nil {
			err = sc.Validate()
		}
		if err != nil {
			return err
		}
		if err := rundir.CheckDir(filepath.Join(dir, a.name)); err != nil {
			return err
		}
		sc.Seed = 1
		plan = append(plan, series.Act{Name: a.name, Scenario: sc})
	}
	// All acts have the same hosts, though the first one has no fault.
	fmt.Fprintf(std.Err, "three acts on one ensemble of %d servers; run directories in %s\n", plan[0].Scenario.Servers,
		dir)
	opts, end := console.Following(std.Err, log)
	outcomes, err := series.Demo(ctx, plan, dir, opts, func(a series.Act, o judge.Outcome) {
		end()
		heading := console.Paint(std.Err, o.Result.Outcome, o.Result.Outcome.Heading())
		fmt.Fprintf(std.Err, "%s: %s: %s\n", a.Name, heading, o.Result.Headline)
	})
	end() // of an act that broke off
	if c.JSON {
		err = errors.Join(err, printActsJSON(std, outcomes))
	} else if len(outcomes) > 0 {
		err = errors.Join(err, printActs(std, outcomes))
	}
	var e ending
	for _, o := range outcomes {
		e.add(o)
	}
	if err == nil && e == (ending{}) && !c.JSON {
		second := rundir.ReportPath(outcomes[1].Dir)
		fmt.Fprintf(std.Out, "\nShown in %s. Read next: %s, whose first picture is the timeline of the damage.\n"+
			"Then try it yourself: locklab run mutex-pause --hold 50ms, or locklab scenarios list.\n",
			time.Since(begun).Round(time.Second), second)
	}
	return e.with(err)
}

// printActsJSON prints the results of the acts that were run.
func printActsJSON(std console.Streams, outcomes []judge.Outcome) error {
	results := []result.Result{}
	for _, o := range outcomes {
		results = append(results, o.Result)
	}
	return console.PrintJSON(std.Out, results)
}

// printActs prints the table of the acts that were run.
func printActs(std console.Streams, outcomes []judge.Outcome) error {
	type act struct {
		Number int
		Title  string
		*result.Result
	}
	var all []act
	for i := range outcomes {
		all = append(all, act{i + 1, acts[i].title, &outcomes[i].Result})
	}
	return console.PrintTable(std.Out, console.Acts, all)
}
