package harness

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/reports"
	"locklab/reports/capacity"
	"locklab/workloads"
)

// Keys of a scenario that a search sets.
const (
	rateKey     = "rate"
	arrivalsKey = "arrivals"
)

// saturate makes the base one of searches: an open loop, held against the limit.
func (p *SweepPlan) saturate(base *scenario.Scenario, cfg SweepConfig) error {
	for _, param := range p.Params {
		if param.Key == rateKey {
			return &scenario.InputError{Flag: paramFlag, Msg: "the rate is what --saturate looks for", Hint: "without --saturate, a sweep of rates measures each"}
		}
	}
	err := base.SetThresholds([]string{cfg.Saturate})
	if err == nil {
		err = base.CheckMetrics(Metrics())
	}
	for _, t := range base.Thresholds {
		if err == nil && !boundsRate(t) {
			err = &scenario.InputError{Msg: fmt.Sprintf("%q does not become false as the rate grows", t.String()), Hint: "an upper limit, such as acquire.p99 < 20ms"}
		}
	}
	if err != nil {
		if e, ok := errors.AsType[*scenario.InputError](err); ok {
			e.Flag = "--saturate"
		}
		return err
	}
	search := cfg.Search
	if search.Start == 0 {
		// A p99 wants a hundred samples, and half as many again not to depend on chance.
		const samples = 150
		search.Start = 16
		if s := base.Duration.Seconds(); s > 0 {
			search.Start = max(search.Start, samples/s)
		}
		if n := len(base.Rate.Rates); n > 0 && base.Open() {
			search.Start = base.Rate.Rates[0]
		}
	}
	if !base.Open() {
		if err := base.Set(arrivalsKey, workloads.Poisson); err != nil {
			return err
		}
	}
	p.Search = &search
	return base.Set(rateKey, rateText(search.Start))
}

// boundsRate reports whether a limit is one that low rates keep to and high ones do not: an upper limit, or a lower
// one on the fairness, which only suffers.
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

func rateText(rate float64) string { return strconv.FormatFloat(rate, 'f', -1, 64) }

// reachedShare is how much of what arrived must be done in the window, and of what was planned arrive:
// less, and a backlog grows, or the load was another one.
const (
	reachedShare = 0.97
	arrivedShare = 0.85
)

// probeOf says what a run came to as a probe of a rate.
func probeOf(rate float64, r reports.Result) capacity.Probe {
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
		return give(capacity.Undecided, "%.1f a second arrived", *offered)
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

// heldDespiteHiccups reports whether a threshold that is unknown was kept to all the same: the machine may have made up
// the latency, but both together are below the limit.
func heldDespiteHiccups(r *reports.Result, l reports.ThresholdLine) bool {
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

// chance is by how much, a second, what is done in a window may fall short of what arrives in it
// without a backlog that grows for ever: twice the standard deviation of random arrivals.
func chance(r reports.Result) float64 {
	if r.Arrivals != workloads.Poisson || r.Window.FromNs == nil || r.Window.ToNs == nil {
		return 0
	}
	seconds := time.Duration(*r.Window.ToNs - *r.Window.FromNs).Seconds()
	return 2 * math.Sqrt(*r.Throughput.OfferedPerS/seconds)
}
