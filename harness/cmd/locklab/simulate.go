package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"locklab/harness/scenario"
	"locklab/harness/simulate"
	"locklab/reports/words"
	"locklab/workloads/lock"
)

type simulateCmd struct {
	Seeds    string   `default:"1..100" placeholder:"FIRST..LAST" help:"${seeds_help}"`
	Recipe   []string `default:"mutex" placeholder:"NAME,…" predictor:"key:recipe" help:"${simulate_recipe_help}"`
	NoFaults bool     `help:"Let nothing go wrong."`
	Stop     bool     `help:"Stop at the first finding."`
	Model    int      `placeholder:"N" help:"The model that a seed is of. A locklab with another model refuses."`
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
func (c *simulateCmd) Run(ctx context.Context, std streams) error {
	first, last, err := parseSeeds(c.Seeds)
	if err != nil {
		return err
	}
	recipes, err := simulable(c.Recipe)
	if err != nil {
		return err
	}
	if c.Model != 0 && c.Model != simulate.Model {
		return &scenario.InputError{Flag: "--model", Msg: fmt.Sprintf("the seed was made by another model: %d, and "+
			"this locklab has %d", c.Model, simulate.Model), Hint: "use the locklab that printed the command"}
	}
	out := simulated{Model: simulate.Model, Findings: []simulate.Finding{}}
	var e ending
	for _, r := range recipes {
		campaign := simulate.Campaign{Recipe: r, First: first, Last: last, Faults: !c.NoFaults, StopAtFinding: c.Stop,
			Found: func(f simulate.Finding) {
				out.Findings = append(out.Findings, f)
				if f.Violation {
					e.violation = true
				} else {
					e.unknown = true
				}
				if !c.JSON {
					fmt.Fprintf(std.Out, "%s\n  %s\n", f, reproduces(r, f.Seed, c.NoFaults))
				}
			},
			Progress: func(t simulate.Totals) { fmt.Fprintln(std.Err, line(r.Name, t)) }}
		t, err := campaign.Execute(ctx)
		out.Totals = append(out.Totals, simulate.TotalsFor{Recipe: r.Name, Totals: t})
		if !c.JSON {
			printTotals(std.Out, r.Name, t)
		}
		if err != nil {
			e.interrupted = true
			break
		}
		if first == last && t.Violations > 0 {
			fmt.Fprintln(std.Err, "reducing the run to what the violation needs")
			x, err := simulate.Shrink(ctx, simulate.Seed(r, first, !c.NoFaults))
			if err != nil {
				return e.with(err)
			}
			if out.Shrunk = append(out.Shrunk, x); !c.JSON {
				x.Print(std.Out)
			}
		}
		if c.Stop && e.violation {
			break
		}
	}
	if c.JSON {
		return e.with(printJSON(std.Out, out))
	}
	return e.with(nil)
}

// reproduces returns the command that runs one seed again.
func reproduces(r lock.Recipe, seed uint64, noFaults bool) string {
	s := fmt.Sprintf("again: locklab simulate --recipe %s --seeds %d --model %d", r.Name, seed, simulate.Model)
	if noFaults {
		s += " --no-faults"
	}
	return s
}

// line is a line of progress.
func line(recipe string, t simulate.Totals) string {
	return fmt.Sprintf("%s: %s of %d, %s, %.1f session-hours, %s lost, %s", recipe, words.Count(int64(t.Seeds), "seed"),
		t.Of, words.Count(t.Acquired, "acquisition"), t.Sessions.Hours(), words.Count(int64(t.LostHolds), "hold"),
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
	for _, name := range names {
		r, known := lock.Find(name)
		switch {
		case !known:
			return nil, &scenario.InputError{Flag: "--recipe", Msg: fmt.Sprintf("no recipe is called %q", name),
				Hint: "one of " + strings.Join(simulate.Names(), ", ")}
		case simulate.Refusal(r) != "":
			return nil, &scenario.InputError{Flag: "--recipe", Msg: name + " cannot be simulated: " + simulate.Refusal(r),
				Hint: "one of " + strings.Join(simulate.Names(), ", ")}
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
	refused := func(msg string) (uint64, uint64, error) {
		return 0, 0, &scenario.InputError{Flag: "--seeds", Msg: msg, Hint: "such as 1..1000, or 17"}
	}
	switch {
	case err != nil:
		return refused(fmt.Sprintf("%q is not a range of seeds", text))
	case last < first:
		return refused(fmt.Sprintf("the range %s is empty", text))
	case last-first >= mostSeeds:
		return refused(fmt.Sprintf("%d seeds are too many", last-first+1))
	}
	return first, last, nil
}
