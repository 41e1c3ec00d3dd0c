package series

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/reports/capacity"
	"locklab/reports/result"
	"locklab/workloads"
)

// Keys of a scenario that a search sets.
const (
	rateKey     = "rate"
	arrivalsKey = "arrivals"
)

// searchRates plans a search at each point. It makes the base an open loop with the threshold of the search.
func (p *SweepPlan) searchRates(base *scenario.Scenario, cfg SweepConfig) error {
	for _, param := range p.Params {
		if param.Key == rateKey {
			return refuseParams("", "--saturate looks for the rate itself",
				"without --saturate, a sweep of rates measures each")
		}
	}
	err := base.SetThresholds([]string{cfg.Saturate})
	if err == nil {
		err = base.CheckMetrics(result.Metrics())
	}
	for _, t := range base.Thresholds {
		if err == nil && !boundsRate(t) {
			err = &scenario.InputError{Msg: fmt.Sprintf("%q does not become false as the rate grows", t.String()),
				Hint: "an upper limit, such as acquire.p99 < 20ms"}
		}
	}
	if err != nil {
		if e, ok := errors.AsType[*scenario.InputError](err); ok {
			e.Flag = "--saturate"
		}
		return err
	}
	// A p99 needs 100 samples, and half as many again so that it does not depend on chance.
	const samples = 150
	search := capacity.Search{Start: 16}
	if s := base.Duration.Seconds(); s > 0 {
		search.Start = max(search.Start, samples/s)
	}
	if len(base.Rate.Rates) > 0 && base.Open() {
		search.Start = base.Rate.Rates[0]
	}
	if !base.Open() {
		if err := base.Set(arrivalsKey, workloads.Poisson); err != nil {
			return err
		}
	}
	p.Search = &search
	return base.Set(rateKey, rateText(search.Start))
}

// boundsRate reports whether a threshold is met at low rates and missed at high ones. Upper limits are, and lower
// limits on the fairness, which falls as the rate grows.
func boundsRate(t scenario.Threshold) bool {
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

// rateText writes a rate as a scenario does.
func rateText(rate float64) string { return strconv.FormatFloat(rate, 'f', -1, 64) }

// probe searches for the highest rate of a point until the search is over, or until run returns nil because a run is
// missing. run returns the result of the point's n-th run, at a rate.
func (p *SweepPlan) probe(run func(n int, rate string) (*result.Result, error)) ([]capacity.Probe, error) {
	var probes []capacity.Probe
	for {
		rate, more := p.Search.Next(probes)
		if !more {
			return probes, nil
		}
		r, err := run(len(probes)+1, rateText(rate))
		if err != nil || r == nil {
			return probes, err
		}
		probes = append(probes, probeOf(rate, *r))
	}
}

const (
	// reachedShare is the share of arrivals that must be done within the window. With fewer, a backlog grows.
	reachedShare = 0.97
	// arrivedShare is the share of planned arrivals that must arrive. With fewer, the load was not the planned one.
	arrivedShare = 0.85
)

// probeOf returns what a run at a rate says about that rate. If it held, it did so however the load side was. If it did
// not, that says nothing if the load side was the limit.
func probeOf(rate float64, r result.Result) capacity.Probe {
	p := outcomeOf(rate, r)
	if p.Reason == capacity.Holds || p.Reason == capacity.Violation {
		return p
	}
	if why := r.Void(); why != "" {
		p.Reason, p.Detail = capacity.Void, why
	}
	return p
}

// outcomeOf is probeOf without regard to the load side.
func outcomeOf(rate float64, r result.Result) capacity.Probe {
	p := capacity.Probe{Rate: rate}
	give := func(why capacity.Reason, format string, args ...any) capacity.Probe {
		p.Reason, p.Detail = why, fmt.Sprintf(format, args...)
		return p
	}
	for _, c := range r.Checks {
		if c.Outcome == check.Fail {
			return give(capacity.Violation, "%s: %s", c.Name, c.Summary)
		}
	}
	offered, acquired, dropped := r.Throughput.OfferedPerS, r.Throughput.AcquiredPerS, r.Throughput.Dropped
	switch {
	case r.Partial:
		return give(capacity.Undecided, "the run broke off")
	case offered == nil || acquired == nil || dropped == nil:
		return give(capacity.Undecided, "the run never reached its measured window")
	case *offered < arrivedShare*rate:
		return give(capacity.Undecided, "only %.1f a second arrived", *offered)
	}
	for _, t := range r.Thresholds {
		if t.Verdict == check.Fail {
			return give(capacity.Missed, "%s: %s", t.Expr, t.Reason)
		}
	}
	switch {
	case *dropped > 0:
		return give(capacity.Dropped, "%d were dropped because no client was free", *dropped)
	case *acquired < reachedShare**offered-chance(r):
		return give(capacity.NotReached, "%.1f a second were due and %.1f were done", *offered, *acquired)
	}
	for _, t := range r.Thresholds {
		if t.Verdict != check.Pass && !heldDespiteHiccups(&r, t) {
			return give(capacity.Undecided, "%s: %s", t.Expr, t.Reason)
		}
	}
	for _, c := range r.Checks {
		if c.Outcome != check.Pass {
			return give(capacity.Undecided, "%s: %s", c.Name, c.Summary)
		}
	}
	for _, t := range r.Thresholds {
		p.Detail = t.Expr + ": it came to " + t.Shown()
	}
	return p
}

// heldDespiteHiccups reports whether a threshold that is unknown was met all the same, because even the measured
// latency and the hiccups of the machine, whichever is larger, are below the limit.
func heldDespiteHiccups(r *result.Result, l result.ThresholdLine) bool {
	t, err := scenario.ParseThreshold(l.Expr)
	if err != nil || l.Verdict != check.Unknown || l.Value == nil {
		return false
	}
	supported, why := r.Supported(t.Metric, *l.Value)
	if supported || why != l.Reason {
		return false // it is unknown for another reason
	}
	most := max(*l.Value, float64(*r.Hiccups.P99Ns))
	return t.Op == "<" && most < t.Limit || t.Op == "<=" && most <= t.Limit
}

// chance returns by how much, in operations a second, the work done in a window may fall short of the arrivals although
// no backlog grows for ever. That is twice the standard deviation of random arrivals.
func chance(r result.Result) float64 {
	if r.Arrivals != workloads.Poisson || r.Window.FromNs == nil || r.Window.ToNs == nil {
		return 0
	}
	seconds := time.Duration(*r.Window.ToNs - *r.Window.FromNs).Seconds()
	return 2 * math.Sqrt(*r.Throughput.OfferedPerS/seconds)
}
