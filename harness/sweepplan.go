package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"

	"locklab/harness/scenario"
	"locklab/reports/capacity"
)

// Names in a sweep's directory.
const (
	planFile   = "plan.json"  // raw: what is to be run, written first
	sweepFile  = "sweep.json" // derived
	pointsDir  = "points"     // a folder a point, with a run directory a run in it
	planSchema = 1
)

// ErrNoSweep says that a directory holds no sweep.
var ErrNoSweep = errors.New("no sweep")

// A SweepPlan says everything about a sweep before anything of it is run: the same scenario,
// parameters and seed make the same plan. It is plan.json.
type SweepPlan struct {
	SchemaVersion int     `json:"schema_version"`
	Scenario      string  `json:"scenario"`
	About         string  `json:"about"`
	Seed          uint64  `json:"seed"`
	Params        []Param `json:"params"`
	// Repeat is how often each point is run; 0 where searches say so.
	Repeat int `json:"repeat"`
	// Saturate is the limit that a search of each point goes by; empty = no search.
	Saturate string           `json:"saturate,omitempty"`
	Search   *capacity.Search `json:"search,omitempty"`

	Points []PlannedPoint `json:"points"`
	// Order has the runs, or the searches, as they follow one another: lab by lab, so that few have to be
	// made, and at random in each.
	Order []PlannedRun `json:"order"`
}

// A PlannedPoint is a point of the grid.
type PlannedPoint struct {
	Name   string            `json:"name"` // of its folder
	Values map[string]string `json:"values"`
	// Source is its scenario, without a seed.
	Source string `json:"source"`
}

// A PlannedRun is one run of a point.
type PlannedRun struct {
	Point  int `json:"point"`
	Repeat int `json:"repeat"` // from 1; 0 where a search says how many there are
}

// maxRuns bounds a sweep: more is a slip.
const maxRuns = 10_000

// SweepConfig is what a sweep is planned from.
type SweepConfig struct {
	// Base is the scenario of which the parameters are varied; its seed is that of the sweep. It
	// need not be valid where a parameter makes it so.
	Base   *scenario.Scenario
	Params []Param
	Repeat int // 0 = 1
	// Saturate, if it is not empty, is a limit: the highest rate that keeps to it is
	// searched for at each point.
	Saturate string
	Search   capacity.Search

	_ struct{}
}

// PlanSweep expands the grid and orders it. Every point is validated as a scenario; the error joins
// what is wrong with each, and names the parameter and the point.
func PlanSweep(cfg SweepConfig) (*SweepPlan, error) {
	base := cfg.Base.Clone()
	p := &SweepPlan{SchemaVersion: planSchema, Scenario: base.Name, About: base.About, Seed: base.Seed, Params: cfg.Params, Repeat: max(cfg.Repeat, 1), Saturate: cfg.Saturate}
	if cfg.Saturate != "" {
		p.Repeat = 0
		if err := p.saturate(base, cfg); err != nil {
			return nil, err
		}
	}
	if err := p.canonical(base); err != nil {
		return nil, err
	}
	if err := p.grid(base); err != nil {
		return nil, err
	}
	if n := len(p.Points) * max(p.Repeat, 1); n > maxRuns {
		return nil, &scenario.InputError{Flag: paramFlag, Msg: fmt.Sprintf("the grid comes to %d runs", n), Hint: fmt.Sprintf("at most %d; fewer values, such as a range that doubles", maxRuns)}
	}
	return p, p.order()
}

// scenario returns that of a point, without a seed.
func (p *SweepPlan) scenario(point int) (*scenario.Scenario, error) {
	return scenario.Load(path.Join(pointsDir, p.Points[point].Name, scenarioFile), []byte(p.Points[point].Source))
}

// ClientProcesses returns the most that a point has.
func (p *SweepPlan) ClientProcesses() (int, error) {
	most := 0
	for i := range p.Points {
		sc, err := p.scenario(i)
		if err != nil {
			return 0, err
		}
		most = max(most, sc.ClientProcesses)
	}
	return most, nil
}

// run returns the scenario of a point's n-th run, from 1. Its seed depends on nothing but the sweep's
// and which run it is.
func (p *SweepPlan) run(point, n int) (*scenario.Scenario, error) {
	sc, err := p.scenario(point)
	if err != nil {
		return nil, err
	}
	sc.Seed = 1 + rand.New(rand.NewPCG(p.Seed, streamSeeds+uint64(point)*maxRuns+uint64(n))).Uint64N(1<<32)
	return sc, nil
}

// runDir is where a point's n-th run goes.
func (p *SweepPlan) runDir(dir string, point, n int) string {
	return filepath.Join(dir, pointsDir, p.Points[point].Name, fmt.Sprintf("%02d", n))
}

// ReadSweepPlan reads the plan of the sweep in a directory.
func ReadSweepPlan(dir string) (*SweepPlan, error) {
	b, err := os.ReadFile(filepath.Join(dir, planFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s has no %s", ErrNoSweep, dir, planFile)
	}
	var p SweepPlan
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err == nil && p.SchemaVersion != planSchema {
		err = fmt.Errorf("schema_version is %d, and this locklab reads %d", p.SchemaVersion, planSchema)
	}
	for _, r := range p.Order {
		if err == nil && (r.Point < 0 || r.Point >= len(p.Points)) {
			err = fmt.Errorf("there is no point %d", r.Point)
		}
	}
	for _, point := range p.Points {
		if err == nil && (point.Name == "" || point.Name != filepath.Base(point.Name) || point.Name == "..") {
			err = fmt.Errorf("%q is no name of a folder", point.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrNoSweep, filepath.Join(dir, planFile), err)
	}
	return &p, nil
}

// Begin makes the sweep's directory and writes the plan, or finds the same plan there already,
// of a sweep that was interrupted. Anything else that is there is refused.
func (p *SweepPlan) Begin(dir string) error {
	old, err := ReadSweepPlan(dir)
	switch {
	case err == nil:
		a, errA := json.Marshal(old)
		b, errB := json.Marshal(p)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		if string(a) != string(b) {
			return fmt.Errorf("%w: %s has another sweep, or one of another seed; choose another directory with --out, or go on with that one by --resume %s", ErrDirInUse, dir, dir)
		}
		return nil
	case !errors.Is(err, ErrNoSweep):
		return err
	}
	if err := checkDir(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, planFile), p)
}
