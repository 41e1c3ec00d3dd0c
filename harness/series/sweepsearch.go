package series

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/harness/scenario"
	"locklab/reports/capacity"
	"locklab/reports/result"
	"locklab/reports/sweep"
	"locklab/workloads"
)

// Keys of a scenario that a search sets.
const (
	rateKey     = "rate"
	clientsKey  = "clients"
	locksKey    = "locks"
	arrivalsKey = "arrivals"
)

// Searched are the keys that a search can be over.
var Searched = []string{rateKey, clientsKey, locksKey}

// leastSamples is how many acquisitions a window should have at least, in goal loss ratios: one is expected beyond the
// percentile, and half as many again so that it does not depend on chance. fewest is the least that any window has.
const (
	leastSamples  = 1.5
	fewestSamples = 150
)

// What a search's default budget has windows for.
const (
	budgetShort     = 14
	budgetFull      = 25
	budgetDisturbed = 2
	budgetAway      = 12
)

// planSearch plans a search at each point. It gives the base the thresholds of the search, and a search over rates an
// open loop.
func (p *SweepPlan) planSearch(base *scenario.Scenario, cfg SweepConfig) error {
	p.Over = cmp.Or(cfg.Over, rateKey)
	if !slices.Contains(Searched, p.Over) {
		return &scenario.InputError{Flag: "--over", Msg: strconv.Quote(p.Over) + " cannot be searched for",
			Hint: strings.Join(Searched, ", ")}
	}
	for _, param := range p.Params {
		if param.Key == p.Over {
			return refuseParams("", "--saturate looks for the "+p.Over+" itself",
				"without --saturate, a sweep measures each")
		}
	}
	if err := p.setGoals(base, cfg.Saturate); err != nil {
		return err
	}
	base.OneProcess()
	search := capacity.Search{}
	switch p.Over {
	case rateKey:
		search.Start = 16
		if s := base.Duration.Seconds(); s > 0 {
			search.Start = max(search.Start, p.samples()/s)
		}
		if len(base.Rate.Rates) > 0 { // of a closed loop too, which the search opens
			search.Start = base.Rate.Rates[0]
			p.PlannedRate, search.Planned = search.Start, search.Start
		}
		if !base.Open() {
			if err := base.Set(arrivalsKey, workloads.Poisson); err != nil {
				return err
			}
		}
		if err := base.Set(rateKey, levelText(search.Start)); err != nil {
			return err
		}
	case clientsKey:
		search.Start, search.Least, search.Most, search.Whole = float64(base.Clients), 1, 100_000, true
		search.Fewest = base.Open() // fewer clients cannot serve a rate, and more of them ask more of a closed loop
	case locksKey:
		search.Start, search.Least, search.Most, search.Whole = float64(base.Locks), 1, 100_000, true
		search.Fewest = true
	}
	if most := base.MaxRate; p.Over == rateKey && most != scenario.Defaults().MaxRate {
		search.Most = most // it was given
	}
	p.Queue = base.Queue
	plain := !base.HasFaults() && base.Duration > 0
	search.Disturb = plain && (base.Connect == "" || base.Open())
	search.Away = plain && base.Connect == "" && base.Servers >= 3
	search.CostS = map[capacity.Kind]float64{}
	kinds := []capacity.Kind{capacity.Short, capacity.Full}
	if search.Disturb {
		kinds = append(kinds, capacity.Disturbed)
	}
	if search.Away {
		kinds = append(kinds, capacity.Away)
	}
	for _, kind := range kinds {
		sc := base.Clone()
		if err := p.shape(sc, kind); err != nil {
			return err
		}
		search.CostS[kind] = (sc.Warmup + sc.Duration + sc.LivenessPhase() + runTime).Seconds()
	}
	search.BudgetS = cfg.Budget.Seconds()
	if search.BudgetS == 0 {
		search.BudgetS = budgetShort*search.CostS[capacity.Short] + budgetFull*search.CostS[capacity.Full]
		if search.Disturb {
			search.BudgetS += budgetDisturbed * search.CostS[capacity.Disturbed]
		}
		if search.Away {
			search.BudgetS += budgetAway * search.CostS[capacity.Away]
		}
	}
	switch {
	case !search.Disturb:
	case base.Connect != "":
		p.Disturbance = fmt.Sprintf("the rate was up to twice as high for %s", disturbFor)
	case base.Servers == 1:
		p.Disturbance = fmt.Sprintf("the server was stopped for %s", disturbFor)
	default:
		p.Disturbance = fmt.Sprintf("the leader of the ensemble was stopped for %s", disturbFor)
	}
	for _, t := range base.Thresholds {
		if t.Duration {
			p.BoundsNs = append(p.BoundsNs, t.Limit)
		}
	}
	p.FullNs, p.ShortNs, p.WarmupNs = int64(base.Duration), int64(p.short(base)), int64(base.Warmup)
	p.BudgetNs = int64(search.BudgetS * 1e9)
	p.Search = &search
	return nil
}

// SetCeiling tells a search over rates what measure found: how many acquisitions a second this machine's load generator
// asks for at most with a recipe. Nothing is measured of other searches, of clients on other machines, and of locks
// that are not ours; and a sweep that has begun in dir keeps what was measured then.
func (p *SweepPlan) SetCeiling(dir string, measure func(recipe string) (float64, error)) error {
	if p.Search == nil || p.Over != rateKey {
		return nil
	}
	perS, err := 0.0, error(nil)
	if IsSweep(dir) {
		var old *SweepPlan
		if old, err = ReadSweepPlan(dir); err == nil && old.Search != nil {
			perS = old.Search.Ceiling
		}
	} else {
		perS, err = p.ceiling(measure)
	}
	if err != nil {
		return err
	}
	p.Search.Ceiling, p.CeilingPerS = perS, perS
	return nil
}

// ceiling measures the lowest ceiling of the points' recipes; 0 if one cannot be measured.
func (p *SweepPlan) ceiling(measure func(recipe string) (float64, error)) (least float64, err error) {
	known := map[string]float64{}
	for i := range p.Points {
		sc, err := p.scenario(i)
		if err != nil {
			return 0, err
		}
		for _, r := range sc.Recipes() {
			if r.Foreign || sc.Lab == ensembles.LabKubernetes {
				return 0, nil
			}
			if !slices.Contains(r.Workloads, workloads.Mutex) {
				r.Name = scenario.Defaults().Recipe
			}
			if known[r.Name] == 0 {
				if known[r.Name], err = measure(r.Name); err != nil {
					return 0, fmt.Errorf("measure the load generator: %w", err)
				}
			}
			if perS := known[r.Name]; least == 0 || perS < least {
				least = perS
			}
		}
	}
	return least, nil
}

// setGoals gives the scenario the thresholds of a search, which are its goals.
func (p *SweepPlan) setGoals(base *scenario.Scenario, limits []string) error {
	err := base.SetThresholds(limits)
	if err == nil {
		err = base.CheckMetrics(result.Metrics())
	}
	for _, t := range base.Thresholds {
		if err == nil && !boundsLoad(t) {
			err = &scenario.InputError{Msg: fmt.Sprintf("%q does not become false as the load grows", t.String()),
				Hint: "an upper limit, such as acquire.p99 < 20ms"}
		}
	}
	if e, ok := errors.AsType[*scenario.InputError](err); ok {
		e.Flag = "--saturate"
	}
	if err != nil {
		return err
	}
	p.Saturate = nil
	for _, t := range base.Thresholds {
		p.Saturate = append(p.Saturate, t.String())
	}
	return nil
}

// samples is how many acquisitions a window should have, for all goals.
func (p *SweepPlan) samples() float64 {
	most := float64(fewestSamples)
	for _, limit := range p.Saturate {
		if t, err := scenario.ParseThreshold(limit); err == nil {
			if goal := result.GoalOf(t); goal > 0 {
				most = max(most, leastSamples/goal)
			}
		}
	}
	return most
}

// boundsLoad reports whether a threshold is met under little load and missed under much. Upper limits are, and lower
// limits on the fairness, which falls as the load grows.
func boundsLoad(t scenario.Threshold) bool {
	switch t.Op {
	case "<", "<=":
		return true
	case ">", ">=":
		return strings.HasPrefix(t.Metric, "fairness.")
	case "==":
		return t.Limit == 0
	}
	return false
}

// levelText writes a level as a scenario does.
func levelText(level float64) string { return strconv.FormatFloat(level, 'f', -1, 64) }

// search looks for the limit of a point until the search is over, or until run returns nil because a run is missing.
// run returns the result of the point's n-th run, which is the trial that the search asks for, and its scenario.
func (p *SweepPlan) search(
	run func(n int, ask *capacity.Ask) (*scenario.Scenario, *result.Result, error),
) ([]capacity.Trial, error) {
	var trials []capacity.Trial
	for {
		ask, more := p.Search.Next(trials)
		if !more {
			return trials, nil
		}
		sc, r, err := run(len(trials)+1, &ask)
		if err != nil || r == nil {
			return trials, err
		}
		trials = append(trials, p.trialOf(ask, sc, r))
	}
}

// describe says what a search looks for.
func describe(h *sweep.Header) string {
	limits := strings.Join(h.Saturate, " and ")
	switch h.Over {
	case clientsKey:
		return "how many clients keep " + limits
	case locksKey:
		return "how few locks keep " + limits
	}
	return "the highest rate with " + limits
}

// The disturbance after which the bound has to hold again, and the settling of a window with one server away.
const (
	disturbAt  = 4 * time.Second
	disturbFor = 2 * time.Second
	// recoverIn is how long after the disturbance the bound must hold again, and for at least recoverFor.
	recoverIn  = 20 * time.Second
	recoverFor = 10 * time.Second
	// settleIn is how long a window with one server away is not judged, because its clients move.
	settleIn = 5 * time.Second
)
