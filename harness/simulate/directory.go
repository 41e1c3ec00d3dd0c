package simulate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"locklab/harness/fail"
	"locklab/harness/records"
	"locklab/harness/rundir"
)

// ErrNoSimulation says that a directory has no simulation that this program can go on with.
var ErrNoSimulation = fail.Input.New("there is no simulation")

// A Plan says what to simulate. It is kept in a directory, beside the outcomes of the seeds that have been run.
type Plan struct {
	Model   int      `json:"model"`
	Recipes []string `json:"recipes"`
	First   uint64   `json:"first"`
	Last    uint64   `json:"last"`
	// Hours is after how many session-hours of a recipe no more of its seeds begin; 0 = there is no such limit.
	Hours  float64 `json:"hours,omitempty"`
	Faults bool    `json:"faults"`
}

const planFile, outcomesFile = "simulation.json", "seeds.jsonl"

var plans = rundir.PlanDir[Plan]{What: "simulation", File: planFile, None: ErrNoSimulation, Check: (*Plan).check}

func (p *Plan) check() error {
	switch {
	case p.Model != Model:
		return fmt.Errorf("made by another model: %d, and this locklab has %d", p.Model, Model)
	case len(p.Recipes) == 0 || p.First > p.Last:
		return errors.New("it names no recipe or no seed")
	}
	return nil
}

// Begin makes the directory and writes the plan. It goes on in a directory that has the same plan.
func (p *Plan) Begin(dir string) error { return plans.Begin(dir, p) }

// ReadPlan reads the plan in a directory. The error wraps [ErrNoSimulation].
func ReadPlan(dir string) (*Plan, error) { return plans.Read(dir) }

// IsSimulation reports whether a directory has a plan of a simulation.
func IsSimulation(dir string) bool { return plans.Has(dir) }

// An Outcome is what one seed came to.
type Outcome struct {
	Model int    `json:"model"`
	Seed  uint64 `json:"seed"`
	TotalsFor
	Findings []Finding `json:"findings,omitempty"`
}

// Keep adds an outcome to a directory's.
func (o Outcome) Keep(dir string) error { return records.Append(filepath.Join(dir, outcomesFile), o) }

// Outcomes reads those of a plan in a directory, the latest of each seed, in the order in which seeds were run first.
// It mends what a killed process did not finish. Nobody else may add to them meanwhile.
func (p *Plan) Outcomes(dir string) (all []Outcome, err error) {
	name := filepath.Join(dir, outcomesFile)
	if err := records.Mend(name); err != nil {
		return nil, err
	}
	lines, err := records.ReadFile(name, func(o *Outcome) int { return o.Model }, Model)
	at := map[string]int{}
	for i, o := range lines {
		if !slices.Contains(p.Recipes, o.Recipe) || o.Seed < p.First || o.Seed > p.Last {
			err = errors.Join(err, fmt.Errorf("%s, line %d: the plan has no seed %d of %s", name, i+1, o.Seed, o.Recipe))
		}
		is := fmt.Sprint(o.Recipe, " ", o.Seed)
		if earlier, ran := at[is]; ran {
			all[earlier] = o
			continue
		}
		at[is] = len(all)
		all = append(all, o)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSimulation, err)
	}
	return all, nil
}

// Recheck runs seeds of each violation among earlier outcomes again, until one still shows it, and calls Found: what a
// seed still shows is [Known], and what it does not show any more is [Gone]. An outcome that has changed replaces the
// earlier one, and Done is called with it. Recheck returns early if ctx ends.
func (c *Campaign) Recheck(ctx context.Context) error {
	still, seen := map[string]bool{}, c.seen()
	for i := range c.Before {
		was := &c.Before[i]
		if !slices.ContainsFunc(was.Findings, func(f Finding) bool { return f.Violation && !still[f.key()] }) {
			continue
		}
		now := Seed(c.Recipe, was.Seed, c.Faults).Outcome()
		if ctx.Err() != nil {
			return nil
		}
		gone, fresh := differ(was.Findings, now.Findings, Gone), differ(now.Findings, was.Findings, Fresh)
		for _, f := range was.Findings {
			if f.Violation && !still[f.key()] {
				c.Found(f)
				still[f.key()] = f.State == Known
			}
		}
		c.tell(fresh, seen)
		if len(gone)+len(fresh) == 0 {
			continue
		}
		now.Took = was.Took
		if *was = now; c.Done != nil {
			if err := c.Done(now); err != nil {
				return err
			}
		}
	}
	return nil
}

// differ returns the findings that others are not like, and sets their state. Those that others are like are known.
func differ(findings, others []Finding, state string) (all []Finding) {
	for i := range findings {
		f := &findings[i]
		f.State = Known
		if !slices.ContainsFunc(others, func(g Finding) bool { return g.key() == f.key() }) {
			f.State = state
			all = append(all, *f)
		}
	}
	return all
}

// seen returns the keys of what earlier outcomes showed.
func (c *Campaign) seen() map[string]bool {
	seen := map[string]bool{}
	for _, o := range c.Before {
		for _, f := range o.Findings {
			seen[f.key()] = true
		}
	}
	return seen
}
