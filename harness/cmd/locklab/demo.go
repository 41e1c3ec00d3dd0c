package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"text/tabwriter"
	"time"

	"locklab/harness"
	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/workloads"
)

type demoCmd struct {
	Out string `help:"Directory for the acts' run directories; default runs/demo-<time>." placeholder:"DIR"`
}

// acts are the demonstration: built-in scenarios, with what each is to show.
var acts = []struct{ name, scenario, title string }{
	{"act1-calm", "mutex-calm", "no fault"},
	{"act2-paused", "mutex-pause", "the holder is stopped for longer than its session"},
	{"act3-fenced", "mutex-pause-fencing", "the same, with fencing tokens"},
}

// Run shows the three acts and prints their table.
func (c *demoCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	dir := c.Out
	if dir == "" {
		dir = harness.DefaultDir("demo", time.Now())
	}
	begun := time.Now()
	var plan []harness.Act
	for _, a := range acts {
		sc, err := scenario.Builtin(workloads.Builtin, a.scenario)
		if err == nil {
			err = sc.Validate()
		}
		if err != nil {
			return err
		}
		sc.Seed = 1
		plan = append(plan, harness.Act{Name: a.name, Scenario: sc})
	}
	// The first act has no fault but needs the others' hosts: they are the same.
	fmt.Fprintf(std.Err, "three acts on one ensemble of %d servers; run directories in %s\n", plan[0].Scenario.Servers, dir)
	opts, end := following(std.Err, log)
	outcomes, err := harness.Demo(ctx, plan, dir, opts, func(a harness.Act, o harness.Outcome) {
		end()
		fmt.Fprintf(std.Err, "%s: %s\n", a.Name, o.Result.Headline)
	})
	end() // of an act that broke off
	printActs(std, outcomes)
	worst := error(nil)
	for _, o := range outcomes {
		if e := conclude(o, nil); e != nil && (worst == nil || o.Result.Verdict == check.Fail) {
			worst = e
		}
	}
	if err == nil && worst == nil {
		second := filepath.Join(outcomes[1].Dir, harness.ReportFile)
		fmt.Fprintf(std.Out, "\nShown in %s. Read next: %s, whose first picture is the timeline of the damage.\n"+
			"Then try it yourself: locklab run mutex-pause --hold 50ms, or locklab scenarios list.\n", time.Since(begun).Round(time.Second), second)
	}
	if v, ok := errors.AsType[verdictError](worst); ok && v.code == exitViolation {
		return verdictError{exitViolation, err}
	}
	if err != nil {
		return err
	}
	return worst
}

func printActs(std streams, outcomes []harness.Outcome) {
	w := tabwriter.NewWriter(std.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "act\twhat happens\tverdict\tacquired\toverlaps\tlongest overlap\tstale writes accepted\trejected\tupdates lost")
	for i, o := range outcomes {
		s := o.Result.Safety
		longest := "-"
		if s.MaxOverlapNs != nil && *s.MaxOverlapNs > 0 {
			longest = time.Duration(*s.MaxOverlapNs).Round(time.Millisecond).String()
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", i+1, acts[i].title, o.Result.Verdict, o.Result.Operations.AcquiredInRun,
			number(s.Overlaps), longest, number(s.StaleAccepted), number(s.StaleRejected), number(s.LostUpdates))
	}
	w.Flush()
}

// number shows a count, or that there is none.
func number(n *int64) string {
	if n == nil {
		return "n/a"
	}
	return fmt.Sprint(*n)
}
