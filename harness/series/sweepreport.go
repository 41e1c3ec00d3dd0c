package series

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/capacity"
	"locklab/reports/index"
	"locklab/reports/result"
	"locklab/reports/sweep"
	"locklab/reports/words"
)

// IsSweep reports whether a directory holds a sweep.
func IsSweep(dir string) bool { return sweepPlans.Has(dir) }

// ReportSweep reads the runs that the sweep in dir has so far and replaces its sweep.json and its report.
func ReportSweep(dir string) (sweep.Sweep, error) {
	s, err := ReadSweep(dir)
	if err != nil {
		return s, err
	}
	return s, errors.Join(rundir.WriteJSON(filepath.Join(dir, sweepFile), s), sweep.Render(dir, s),
		index.Update(dir, "Sweep of "+s.Scenario))
}

// ReadSweep reads the runs that the sweep in dir has so far. It writes nothing.
func ReadSweep(dir string) (sweep.Sweep, error) {
	plan, err := ReadSweepPlan(dir)
	if err != nil {
		return sweep.Sweep{}, err
	}
	in := sweep.Input{Header: plan.Header}
	for i := range in.Params {
		in.Params[i].Numbers = numbersOf(in.Params[i].Values)
	}
	for i := range plan.Points {
		p, err := plan.collect(dir, i)
		if err != nil {
			return sweep.Sweep{}, err
		}
		in.Points = append(in.Points, p)
	}
	if in.Setup, err = plan.setup(dir); err != nil {
		return sweep.Sweep{}, err
	}
	return sweep.Summarize(in), nil
}

// numbersOf returns values as numbers, durations in nanoseconds; nil if one of them is not a number.
func numbersOf(values []string) (all []float64) {
	for _, v := range values {
		n, _, err := parseQuantity(v)
		if err != nil {
			return nil
		}
		all = append(all, n)
	}
	return all
}

func (p *SweepPlan) collect(dir string, point int) (sweep.PointRuns, error) {
	sc, err := p.scenario(point)
	if err != nil {
		return sweep.PointRuns{}, err
	}
	out := sweep.PointRuns{Values: p.Points[point].Values, Setting: settingOf(sc)}
	if out.Broken, err = p.readUnfinished(dir, point); err != nil {
		return out, err
	}
	read := func(n int, ask *capacity.Ask) (*scenario.Scenario, *result.Result, error) {
		at := p.runDir(dir, point, n)
		sc, err := p.runScenario(point, n, ask)
		if err != nil {
			return nil, nil, err
		}
		r, err := readRun(at, sc)
		if err != nil {
			return nil, nil, err
		}
		// A search has not reached a trial without a directory, but each repetition belongs to the point.
		if _, err := os.Stat(at); err == nil || ask == nil {
			add(&out, relative(dir, at), r, ask != nil)
		}
		return sc, r, nil
	}
	if p.Search != nil {
		trials, err := p.search(read)
		if err != nil {
			return out, err
		}
		limit := p.Search.Limit(trials)
		out.Limit = &limit
		return out, nil
	}
	for n := range p.Repeat {
		if _, _, err := read(n+1, nil); err != nil {
			return out, err
		}
	}
	return out, nil
}

// add adds a run, which is nil if it is missing, to the runs of its point. A run that broke off counts only for a
// violation that it saw, unless a search has learned from it what is too much for an ensemble.
func add(to *sweep.PointRuns, dir string, r *result.Result, search bool) {
	if r != nil && r.Partial && !(search && r.Spared != "") {
		to.Broken = append(to.Broken, sweep.Run{Dir: dir, Result: r})
		r = nil
	}
	to.Runs = append(to.Runs, sweep.Run{Dir: dir, Result: r})
}

// relative returns a name below a directory, for the report.
func relative(dir, name string) string {
	r, err := filepath.Rel(dir, name)
	if err != nil {
		return name
	}
	return r
}

// settingOf returns what a sweep needs to know about a scenario.
func settingOf(sc *scenario.Scenario) sweep.Setting {
	s := sweep.Setting{Clients: sc.Clients, Locks: sc.Locks, Timeout: sc.Negotiated(), Tick: sc.Tick,
		SyncLimit: sc.SyncLimit, Hold: sc.Hold.Mean(), Ramp: sc.Open() && len(sc.Rate.Rates) > 1}
	if sc.Connect != "" {
		s.Timeout, s.Tick, s.SyncLimit = 0, 0, 0 // of an ensemble elsewhere they are not known
	}
	if sc.Open() && len(sc.Rate.Rates) == 1 {
		s.Rate = sc.Rate.Rates[0]
	}
	return s
}

// SweepVerdict reports whether a sweep has violations, unknown or missing runs, and missed thresholds. A search that
// found rates which miss its threshold has done its work; it counts as a miss only if all its rates miss.
func SweepVerdict(s sweep.Sweep) (violation, unknown, missed bool) {
	for i := range s.Series {
		for k := range s.Series[i].Points {
			p := &s.Series[i].Points[k]
			violation = violation || p.Violation
			if p.Limit != nil {
				unknown = unknown || p.Limit.Unknown != "" || p.Limit.AtLeast
				missed = missed || p.Limit.Lower == nil
				for _, t := range p.Limit.Trials {
					violation = violation || t.Reason == capacity.Violation
				}
				continue
			}
			switch p.Verdict {
			case evidence.Fail:
				missed = missed || !p.Violation
			case evidence.Unknown:
				unknown = true
			}
		}
	}
	return violation, unknown || s.Partial, missed
}

// String returns how many runs or searches the sweep has.
func (p *SweepPlan) String() string {
	if p.Search != nil {
		return fmt.Sprintf("%s for %s, of %s at most", words.Count(int64(len(p.Points)), "search"), describe(&p.Header),
			time.Duration(p.Search.BudgetS*float64(time.Second)).Round(time.Second))
	}
	points, runs := words.Count(int64(len(p.Points)), "point"), words.Count(int64(len(p.Order)), "run")
	if p.Repeat > 1 {
		points += fmt.Sprintf(", each run %d times", p.Repeat)
	}
	return points + ": " + runs
}
