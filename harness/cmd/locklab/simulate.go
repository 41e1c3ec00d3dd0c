package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"locklab/harness/console"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/simulate"
	"locklab/reports/words"
	"locklab/workloads/lock"
)

type simulateCmd struct {
	Seeds    string   `placeholder:"FIRST..LAST" help:"${seeds_help}"`
	Hours    float64  `placeholder:"N" help:"${simulate_hours_help}"`
	Recipe   []string `placeholder:"NAME,…" predictor:"key:recipe" help:"${simulate_recipe_help}"`
	NoFaults bool     `help:"Let nothing go wrong."`
	Stop     bool     `help:"Stop at the first finding."`
	Model    int      `placeholder:"N" help:"The model that a seed is of. A locklab with another model refuses."`
	Out      string   `predictor:"dir" placeholder:"DIR" help:"${simulate_out_help}"`
	Resume   string   `predictor:"dir" placeholder:"DIR" help:"Go on with the simulation in a directory."`
	Explain  string   `placeholder:"EXAMPLE" help:"${simulate_explain_help}"`
	Replay   string   `placeholder:"FILE" help:"${simulate_replay_help}"`
	JSON     bool     `name:"json" help:"Print the numbers and the findings as JSON."`
}

// mostSeeds bounds a range, which may be a slip.
const mostSeeds = 100_000_000

// A simulated is what `simulate --json` prints.
type simulated struct {
	Model    int                  `json:"model"`
	Findings []simulate.Finding   `json:"findings"`
	Totals   []simulate.TotalsFor `json:"totals"`
	// Shrunk has the violations of a single seed, with nothing in them that could be left out.
	Shrunk []*simulate.Shrunk `json:"shrunk,omitempty"`
}

// Run runs seeds, and prints findings as they come.
func (c *simulateCmd) Run(ctx context.Context, std console.Streams) error {
	plan, dir, err := c.plan()
	if err == nil {
		err = c.checkReplay(plan)
	}
	if err != nil {
		return err
	}
	recipes, err := simulable(plan.Recipes)
	if err != nil {
		return err
	}
	if c.Explain != "" {
		return c.explain(std, recipes[0])
	}
	var before []simulate.Outcome
	if dir != "" {
		release, err := begin(plan, dir)
		if err != nil {
			return err
		}
		defer release()
		if before, err = plan.Outcomes(dir); err != nil {
			return err
		}
	}
	out := simulated{Model: simulate.Model, Findings: []simulate.Finding{}}
	var e ending
	var shown bool // there was a violation
	found := func(f simulate.Finding) {
		f.Reproduce = reproduces(f, !plan.Faults)
		out.Findings = append(out.Findings, f)
		shown = shown || f.Violation && f.State != simulate.Gone
		e.violation = e.violation || shown
		if !c.JSON {
			fmt.Fprintf(std.Out, "%s\n  again: %s\n", f, f.Reproduce)
		}
	}
	for _, r := range recipes {
		campaign := simulate.Campaign{Plan: *plan, Recipe: r, StopAtFinding: c.Stop, Found: found,
			Progress: func(t simulate.Totals) { fmt.Fprintln(std.Err, line(r.Name, t, plan.Hours)) }}
		for _, o := range before {
			if o.Recipe == r.Name {
				campaign.Before = append(campaign.Before, o)
			}
		}
		if dir != "" {
			campaign.Done = func(o simulate.Outcome) error { return o.Keep(dir) }
		}
		if err := campaign.Recheck(ctx); err != nil {
			return e.with(err)
		}
		shown = false
		t, err := campaign.Execute(ctx)
		out.Totals = append(out.Totals, simulate.TotalsFor{Recipe: r.Name, Totals: t})
		if !c.JSON {
			printTotals(std.Out, r.Name, t)
		}
		e.unknown = e.unknown || t.Unknown > 0
		if err != nil && ctx.Err() == nil {
			return e.with(err)
		}
		if e.interrupted = err != nil; e.interrupted {
			break
		}
		if plan.First == plan.Last && shown {
			fmt.Fprintln(std.Err, "reducing the run to what the violation needs")
			x, err := simulate.Shrink(ctx, simulate.Seed(r, plan.First, plan.Faults))
			if err != nil {
				return e.with(err)
			}
			x.Finding.Reproduce = reproduces(x.Finding, !plan.Faults)
			if out.Shrunk = append(out.Shrunk, x); !c.JSON {
				x.Print(std.Out)
			}
			if err := c.replay(std, x); err != nil {
				return e.with(err)
			}
		}
		if c.Replay != "" && !shown {
			fmt.Fprintf(std.Err, "the seed shows no violation, and %s was not written\n", c.Replay)
		}
		if c.Stop && shown {
			break
		}
	}
	if e.interrupted && dir != "" {
		fmt.Fprintf(std.Err, "interrupted; go on with: locklab simulate --resume %s\n", dir)
	}
	if c.JSON {
		return e.with(console.PrintJSON(std.Out, out))
	}
	return e.with(nil)
}

// checkReplay refuses a plan of more than one run, and a file in a directory that is not there.
func (c *simulateCmd) checkReplay(p *simulate.Plan) error {
	if c.Replay == "" {
		return nil
	}
	if len(p.Recipes) > 1 || p.First != p.Last {
		return scenario.Refuse("--replay", "with one seed and one recipe", "it is the scenario of one violation")
	}
	if err := rundir.RequireDir(filepath.Dir(c.Replay)); err != nil {
		return scenario.Refuse("--replay", "a file in a directory that is there", "%v", err)
	}
	return nil
}

// replay writes the scenario that does on real servers what a reduced run does.
func (c *simulateCmd) replay(std console.Streams, x *simulate.Shrunk) error {
	if c.Replay == "" {
		return nil
	}
	sc, err := x.Scenario()
	if err == nil {
		err = os.WriteFile(c.Replay, sc.Marshal(), 0o644)
	}
	if err == nil {
		fmt.Fprintf(std.Err, "on real servers: locklab run %s\n", c.Replay)
	}
	return err
}

// plan makes the plan, or reads that of the simulation that is continued. The directory is empty if nothing is kept.
func (c *simulateCmd) plan() (p *simulate.Plan, dir string, err error) {
	switch {
	case c.Model != 0 && c.Model != simulate.Model:
		return nil, "", scenario.Refuse("--model", "use the locklab that printed the command",
			"the seed was made by another model: %d, and this locklab has %d", c.Model, simulate.Model)
	case c.Resume != "":
		if c.Seeds != "" || c.Hours != 0 || len(c.Recipe) > 0 || c.NoFaults || c.Out != "" {
			return nil, "", scenario.Refuse("--resume", "without --seeds, --hours, --recipe, --no-faults and --out",
				"the plan is in the directory already")
		}
		err := checkSeriesDir("simulate --resume", c.Resume, simulate.IsSimulation, simulate.ErrNoSimulation)
		if err == nil {
			p, err = simulate.ReadPlan(c.Resume)
		}
		return p, c.Resume, err
	case c.Hours < 0 || math.IsNaN(c.Hours) || math.IsInf(c.Hours, 0):
		return nil, "", scenario.Refuse("--hours", "such as 1000", "%v session-hours", c.Hours)
	}
	p = &simulate.Plan{Model: simulate.Model, Recipes: c.Recipe, Hours: c.Hours, Faults: !c.NoFaults}
	if len(p.Recipes) == 0 {
		p.Recipes = []string{lock.Mutex}
	}
	switch {
	case c.Seeds != "":
		p.First, p.Last, err = parseSeeds(c.Seeds)
	case c.Hours > 0:
		p.First, p.Last = 1, mostSeeds
	default:
		p.First, p.Last = 1, 100
	}
	return p, c.Out, err
}

// explain tells an example, or the run of a seed.
func (c *simulateCmd) explain(std console.Streams, r lock.Recipe) error {
	seed, err := strconv.ParseUint(c.Explain, 10, 64)
	x := simulate.Explain(c.Explain)
	switch {
	case err != nil && x == nil:
		return scenario.Refuse("--explain", "one of "+strings.Join(simulate.Examples(), ", ")+", or a seed",
			"there is no example %q", c.Explain)
	case len(c.Recipe) > 1 || x != nil && (len(c.Recipe) > 0 || c.NoFaults) || c.Seeds != "" || c.Hours != 0 || c.Stop ||
		c.Out != "" || c.Resume != "" || c.Replay != "":
		return scenario.Refuse("--explain", "with no flags but --json, and for a seed one --recipe, --no-faults and --model",
			"it tells a single run")
	case err == nil:
		x = simulate.Seed(r, seed, !c.NoFaults).Explain()
	}
	if c.JSON {
		return console.PrintJSON(std.Out, x)
	}
	x.Print(std.Out)
	return nil
}

// reproduces returns the command that runs one seed again.
func reproduces(f simulate.Finding, noFaults bool) string {
	s := fmt.Sprintf("locklab simulate --recipe %s --seeds %d --model %d", f.Recipe, f.Seed, simulate.Model)
	if noFaults {
		s += " --no-faults"
	}
	return s
}

// line is a line of progress towards all seeds, or towards so many session-hours.
func line(recipe string, t simulate.Totals, hours float64) string {
	seeds, lasted := words.Count(int64(t.Seeds), "seed"), fmt.Sprintf("%.1f", t.Sessions.Hours())
	if hours > 0 {
		lasted += fmt.Sprintf(" of %g", hours)
	} else {
		seeds += fmt.Sprintf(" of %d", t.Of)
	}
	return fmt.Sprintf("%s: %s, %s, %s session-hours, %s lost, %s", recipe, seeds,
		words.Count(t.Acquired, "acquisition"), lasted, words.Count(int64(t.LostHolds), "hold"),
		words.Count(int64(t.Struck()), "fault"))
}

// printTotals prints what was reached.
func printTotals(w io.Writer, recipe string, t simulate.Totals) {
	fmt.Fprintf(w, "%s: %s; %s in %.1f session-hours, of %s; %d sessions expired, %s lost; %s\n", recipe,
		words.Count(int64(t.Seeds), "seed"), words.Count(t.Acquired, "acquisition"), t.Sessions.Hours(),
		t.Virtual.Round(time.Second), t.Expired, words.Count(int64(t.LostHolds), "hold"), faultsOf(t))
	fmt.Fprintf(w, "  %s violated, %d unknown; %.0f acquisitions simulated and checked a second\n",
		words.Count(int64(t.Violations), "run"), t.Unknown, float64(t.Acquired)/max(t.Took.Seconds(), 1e-9))
}

// faultsOf lists the faults that struck.
func faultsOf(t simulate.Totals) string {
	all := []string{words.Count(int64(t.Struck()), "fault")}
	for _, k := range t.Kinds() {
		all = append(all, fmt.Sprintf("%d %s", t.Faults[k], k))
	}
	return strings.Join(all, ", ")
}

// simulable returns the recipes of these names, or why one of them cannot be simulated.
func simulable(names []string) (all []lock.Recipe, err error) {
	hint := "one of " + strings.Join(simulate.Names(), ", ")
	for _, name := range names {
		r, known := lock.Find(name)
		switch {
		case !known:
			return nil, scenario.Refuse("--recipe", hint, "no recipe is called %q", name)
		case simulate.Refusal(r) != "":
			return nil, scenario.Refuse("--recipe", hint, "%s cannot be simulated: %s", name, simulate.Refusal(r))
		}
		all = append(all, r)
	}
	return all, nil
}

// parseSeeds reads a range of seeds.
func parseSeeds(text string) (first, last uint64, err error) {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		to = from
	}
	first, err = strconv.ParseUint(from, 10, 64)
	if err == nil {
		last, err = strconv.ParseUint(to, 10, 64)
	}
	const hint = "such as 1..1000, or 17"
	switch {
	case err != nil:
		return 0, 0, scenario.Refuse("--seeds", hint, "%q is not a range of seeds", text)
	case last < first:
		return 0, 0, scenario.Refuse("--seeds", hint, "the range %s is empty", text)
	case last-first >= mostSeeds:
		return 0, 0, scenario.Refuse("--seeds", hint, "%d seeds are too many", last-first+1)
	}
	return first, last, nil
}
