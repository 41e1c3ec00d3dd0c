package series

import (
	"fmt"
	"math/rand/v2"
	"path"
	"path/filepath"
	"time"

	"locklab/harness/fail"
	"locklab/harness/records"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/untrusted"
	"locklab/reports/capacity"
	"locklab/reports/sweep"
)

// Names in the directory of a sweep.
const (
	planFile   = "plan.json"  // raw: the plan, which is written first
	sweepFile  = "sweep.json" // derived
	pointsDir  = "points"     // a folder for each point, which has the run directories of the point
	planSchema = 1
)

// ErrNoSweep says that a directory holds no sweep.
var ErrNoSweep = fail.Input.New("no sweep")

// A SweepPlan is everything that is known about a sweep before it runs, and the content of plan.json. The same
// scenario, parameters and seed make the same plan.
type SweepPlan struct {
	SchemaVersion int `json:"schema_version"`
	sweep.Header
	Search *capacity.Search `json:"search,omitempty"` // how to search, if Saturate is set

	Points []PlannedPoint `json:"points"`
	// Order has the runs, or the searches, in their order. It goes lab by lab, so that few labs have to be made, and is
	// random within a lab.
	Order []PlannedRun `json:"order"`
}

// A PlannedPoint is a point of the grid.
type PlannedPoint struct {
	Name   string            `json:"name"` // of its folder
	Values map[string]string `json:"values"`
	// Source is its scenario as a file without a seed.
	Source string `json:"source"`
}

// A PlannedRun is one run of a point.
type PlannedRun struct {
	Point  int `json:"point"`
	Repeat int `json:"repeat"` // from 1; 0 if a search decides how many there are
}

// maxRuns bounds the size of a sweep. A larger one is most likely a mistake.
const maxRuns = 10_000

// SweepConfig is what a sweep is planned from.
type SweepConfig struct {
	// Base is the scenario whose parameters are varied. Its seed is the seed of the sweep. It need not be valid if the
	// parameters make it valid.
	Base   *scenario.Scenario
	Params []sweep.Param
	Repeat int // 0 = 1
	// Saturate has thresholds. At each point, the sweep searches for the most load that meets them. Empty = no search.
	Saturate []string
	// Over is the key that is searched for, one of [Searched]; empty = the rate.
	Over string
	// Budget is how long the trials of a search may take in all; 0 = as long as a search usually takes.
	Budget time.Duration

	_ struct{}
}

// PlanSweep expands the grid and puts the runs in order. It validates the scenario of every point. The error joins
// the errors of all points, each with its parameter and point.
func PlanSweep(cfg SweepConfig) (*SweepPlan, error) {
	base := cfg.Base.Clone()
	p := &SweepPlan{SchemaVersion: planSchema, Header: sweep.Header{Scenario: base.Name, About: base.About,
		Seed: base.Seed, Params: cfg.Params, Repeat: max(cfg.Repeat, 1)}}
	leaveResource(base, cfg.Params)
	if len(cfg.Saturate) > 0 {
		p.Repeat = 0
		if err := p.planSearch(base, cfg); err != nil {
			return nil, err
		}
	}
	if err := p.checkParams(base); err != nil {
		return nil, err
	}
	if err := p.grid(base); err != nil {
		return nil, err
	}
	if n := len(p.Points) * max(p.Repeat, 1); n > maxRuns {
		return nil, refuseParams("", fmt.Sprintf("the grid has %d runs", n),
			fmt.Sprintf("at most %d; fewer values, such as a range that doubles", maxRuns))
	}
	return p, p.order()
}

// scenario returns the scenario of a point, without a seed.
func (p *SweepPlan) scenario(point int) (*scenario.Scenario, error) {
	at := &p.Points[point]
	return scenario.Load(path.Join(pointsDir, at.Name, rundir.ScenarioFile), []byte(at.Source))
}

// ClientProcesses returns the largest number of client processes of any point.
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

// Run returns the scenario of a point's n-th run, from 1. Its seed depends only on the seed of the sweep, the point
// and n.
func (p *SweepPlan) Run(point, n int) (*scenario.Scenario, error) {
	sc, err := p.scenario(point)
	if err != nil {
		return nil, err
	}
	sc.Seed = 1 + rand.New(rand.NewPCG(p.Seed, streamSeeds+uint64(point)*maxRuns+uint64(n))).Uint64N(1<<32)
	return sc, nil
}

// runDir returns the run directory of a point's n-th run.
func (p *SweepPlan) runDir(dir string, point, n int) string {
	return filepath.Join(dir, pointsDir, p.Points[point].Name, fmt.Sprintf("%02d", n))
}

// sweepPlans are read by [ReadSweepPlan].
var sweepPlans = rundir.PlanDir[SweepPlan]{What: "sweep", File: planFile, None: ErrNoSweep,
	Check: (*SweepPlan).check}

// ReadSweepPlan reads the plan of the sweep in a directory.
func ReadSweepPlan(dir string) (*SweepPlan, error) {
	p, err := sweepPlans.Read(dir)
	if err != nil {
		return nil, err
	}
	untrusted.Lines(&p.Header)
	for i := range p.Points {
		untrusted.Lines(&p.Points[i].Values)
	}
	return p, nil
}

// check says what is wrong with a plan that was read from a file.
func (p *SweepPlan) check() error {
	if err := records.CheckVersion(p.SchemaVersion, planSchema); err != nil {
		return err
	}
	for _, r := range p.Order {
		if r.Point < 0 || r.Point >= len(p.Points) {
			return fmt.Errorf("point %d of the order is missing", r.Point)
		}
	}
	for _, point := range p.Points {
		name := point.Name
		if name == "" || name == ".." || name != filepath.Base(name) || name != untrusted.Line(name) {
			return fmt.Errorf("%q cannot be the name of a folder", name)
		}
	}
	return nil
}

// Begin makes the directory of the sweep and writes the plan. If the directory has the same plan already, the sweep was
// interrupted and can go on there. Other directories that are not empty are refused.
func (p *SweepPlan) Begin(dir string) error { return sweepPlans.Begin(dir, p) }
