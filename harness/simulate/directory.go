package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	Hours   float64  `json:"hours,omitempty"` // see [Campaign]
	Faults  bool     `json:"faults"`
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

// Outcomes reads those of a plan in a directory, in the order in which they were reached. It cuts off a last line that
// a killed process did not finish. Nobody else may add to them meanwhile.
func (p *Plan) Outcomes(dir string) ([]Outcome, error) {
	name := filepath.Join(dir, outcomesFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
		err = os.Truncate(name, int64(len(text)))
	}
	if err != nil {
		return nil, err
	}
	all, err := records.Read(bytes.NewReader(text), func(o *Outcome) int { return o.Model }, Model)
	ran := map[string]bool{}
	for i, o := range all {
		is := fmt.Sprint(o.Recipe, " ", o.Seed)
		if ran[is] || !slices.Contains(p.Recipes, o.Recipe) || o.Seed < p.First || o.Seed > p.Last {
			err = errors.Join(err, fmt.Errorf("line %d: the plan has no seed %d of %s, or another line has it", i+1, o.Seed,
				o.Recipe))
		}
		ran[is] = true
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoSimulation, name, err)
	}
	return all, nil
}

// Recheck runs the first seed of each violation among earlier outcomes again. What it shows is [Known], and what it
// does not show any more is [Gone]. It returns early if ctx ends.
func (c *Campaign) Recheck(ctx context.Context) (all []Finding) {
	seen := map[string]bool{}
	for _, o := range c.Before {
		for _, f := range o.Findings {
			if !f.Violation || seen[f.key()] || ctx.Err() != nil {
				continue
			}
			seen[f.key()], f.State = true, Gone
			again := Seed(c.Recipe, o.Seed, c.Faults).Findings()
			if slices.ContainsFunc(again, func(g Finding) bool { return g.key() == f.key() }) {
				f.State = Known
			}
			all = append(all, f)
		}
	}
	return all
}
