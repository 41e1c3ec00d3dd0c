package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/reports"
	"locklab/reports/capacity"
)

// IsSweep reports whether a directory holds a sweep.
func IsSweep(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, planFile))
	return err == nil
}

// ReportSweep reads the runs of the sweep in dir, as many as there are, and replaces its
// sweep.json, report.html and plots.
func ReportSweep(dir string) (reports.Sweep, error) {
	s, err := ReadSweep(dir)
	if err != nil {
		return s, err
	}
	return s, errors.Join(writeJSON(filepath.Join(dir, sweepFile), s), reports.RenderSweep(dir, s))
}

// ReadSweep reads the runs of the sweep in dir, as many as there are. It writes nothing.
func ReadSweep(dir string) (reports.Sweep, error) {
	plan, err := ReadSweepPlan(dir)
	if err != nil {
		return reports.Sweep{}, err
	}
	in := reports.SweepInput{Scenario: plan.Scenario, About: plan.About, Seed: plan.Seed, Repeat: plan.Repeat, Saturate: plan.Saturate}
	for _, p := range plan.Params {
		in.Params = append(in.Params, numbered(p))
	}
	for i := range plan.Points {
		p, err := plan.collect(dir, i)
		if err != nil {
			return reports.Sweep{}, err
		}
		in.Points = append(in.Points, p)
	}
	return reports.SummarizeSweep(in), nil
}

// numbered gives a parameter the numbers that its values are, if all are.
func numbered(p Param) reports.SweepParam {
	out := reports.SweepParam{Key: p.Key, Values: p.Values}
	for _, v := range p.Values {
		n, _, err := parseQuantity(v)
		if err != nil {
			return reports.SweepParam{Key: p.Key, Values: p.Values}
		}
		out.Numbers = append(out.Numbers, n)
	}
	return out
}

// collect reads what there is of a point.
func (p *SweepPlan) collect(dir string, point int) (reports.SweepRuns, error) {
	sc, err := p.scenario(point)
	if err != nil {
		return reports.SweepRuns{}, err
	}
	out := reports.SweepRuns{Values: p.Points[point].Values, Setting: settingOf(sc)}
	if out.Broken, err = p.aside(dir, point); err != nil {
		return out, err
	}
	if p.Search != nil {
		return out, p.collectProbes(dir, point, &out)
	}
	for n := range p.Repeat {
		at := p.runDir(dir, point, n+1)
		sc, err := p.run(point, n+1)
		if err != nil {
			return out, err
		}
		r, err := readRun(at, sc)
		if err != nil {
			return out, err
		}
		add(&out, relative(dir, at), r)
	}
	return out, nil
}

// add adds a run to those of its point, if there is one. Of one that did not end, what it saw is all that counts.
func add(to *reports.SweepRuns, dir string, r *reports.Result) {
	if r != nil && r.Partial {
		to.Broken = append(to.Broken, reports.SweepRun{Dir: dir, Result: r})
		r = nil
	}
	to.Runs = append(to.Runs, reports.SweepRun{Dir: dir, Result: r})
}

// collectProbes reads the probes of a point's search.
func (p *SweepPlan) collectProbes(dir string, point int, out *reports.SweepRuns) error {
	var probes []capacity.Probe
	for {
		rate, more := p.Search.Next(probes)
		if !more {
			break
		}
		n := len(probes) + 1
		at := p.runDir(dir, point, n)
		if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
			break
		}
		sc, err := p.run(point, n)
		if err == nil {
			err = sc.Set(rateKey, rateText(rate))
		}
		if err != nil {
			return err
		}
		r, err := readRun(at, sc)
		if err != nil {
			return err
		}
		add(out, relative(dir, at), r)
		if r == nil {
			break // it had hardly begun
		}
		probes = append(probes, probeOf(rate, *r))
	}
	limit := p.Search.Limit(probes)
	out.Limit = &limit
	return nil
}

func relative(dir, name string) string {
	r, err := filepath.Rel(dir, name)
	if err != nil {
		return name
	}
	return r
}

// settingOf is what models want to know of a scenario.
func settingOf(sc *scenario.Scenario) reports.SweepSetting {
	s := reports.SweepSetting{Clients: sc.Clients, Locks: sc.Locks, Together: 1, Hold: sc.Hold.Mean(), HoldVariance: sc.Hold.Variance(), Think: sc.Think.Mean()}
	switch sc.Workload {
	case scenario.WorkloadSemaphore:
		s.Together = sc.Permits / sc.Units
	case scenario.WorkloadReadWrite:
		s.ReadShare = sc.ReadShare
	}
	if sc.Open() && len(sc.Rate.Rates) == 1 {
		s.Rate = sc.Rate.Rates[0]
	}
	s.Modelled = sc.Workload != scenario.WorkloadMultiLock && sc.LockChoice.Zipf == 0 && (!sc.Open() || s.Rate > 0) && len(sc.Faults) == 0 && sc.Wait == 0 && !sc.Try &&
		sc.DowngradeShare == 0 && sc.ReadBurst.Every == 0 && sc.Resize.Every == 0
	return s
}

// SweepVerdict says what there is in a sweep besides passes: violations, runs of which something is
// unknown or that are missing, missed thresholds. That a search found rates that miss its limit is its answer, and no miss, unless all did.
func SweepVerdict(s reports.Sweep) (violation, unknown, missed bool) {
	for i := range s.Series {
		for k := range s.Series[i].Points {
			p := &s.Series[i].Points[k]
			violation = violation || p.Violation
			if p.Limit != nil {
				unknown = unknown || p.Limit.Unknown != ""
				missed = missed || p.Limit.LastPass == nil
				for _, probe := range p.Limit.Probes {
					violation = violation || probe.Reason == capacity.Violation
				}
				continue
			}
			switch p.Verdict {
			case check.Fail:
				missed = missed || !p.Violation
			case check.Unknown:
				unknown = true
			}
		}
	}
	return violation, unknown || s.Partial, missed
}

// String returns how large the sweep is, for a person.
func (p *SweepPlan) String() string {
	if p.Search != nil {
		return fmt.Sprintf("%d searches for the highest rate with %s", len(p.Points), p.Saturate)
	}
	return fmt.Sprintf("%d points, each run %d times: %d runs", len(p.Points), p.Repeat, len(p.Order))
}
