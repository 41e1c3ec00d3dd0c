package reports

import (
	"slices"

	"locklab/harness/check"
	"locklab/reports/capacity"
)

// A SweepPoint is a point of the grid: medians over its runs.
type SweepPoint struct {
	Values map[string]string `json:"values"`
	// Load is the place on the axis of the load: a number, or which of the values it is.
	Load    float64      `json:"load"`
	Clients int          `json:"clients"`
	Locks   int          `json:"locks"`
	Rate    *float64     `json:"rate"`
	Runs    int          `json:"runs"`
	Dirs    []string     `json:"dirs"`
	Verdict check.Result `json:"verdict"` // the worst of the runs
	// Why is of a run whose verdict that is.
	Why string `json:"why"`
	// Violation says that a check of a run failed, not just a threshold.
	Violation bool `json:"violation"`

	AcquiredPerS    *float64 `json:"acquired_per_s"`
	AcquiredPerSMin *float64 `json:"acquired_per_s_min"`
	AcquiredPerSMax *float64 `json:"acquired_per_s_max"`
	OfferedPerS     *float64 `json:"offered_per_s"`
	DroppedPerS     *float64 `json:"dropped_per_s"`
	AcquireMeanNs   *int64   `json:"acquire_mean_ns"`
	AcquireP50Ns    *int64   `json:"acquire_p50_ns"`
	AcquireP99Ns    *int64   `json:"acquire_p99_ns"`
	EnqueueMeanNs   *int64   `json:"enqueue_mean_ns"`
	HandoffMeanNs   *int64   `json:"handoff_mean_ns"`
	HandoffP99Ns    *int64   `json:"handoff_p99_ns"`
	HandoffCount    int64    `json:"handoff_count"`
	HoldMeanNs      *int64   `json:"hold_mean_ns"`
	ReleaseMeanNs   *int64   `json:"release_mean_ns"`
	// GrantSpacingNs is from one grant of a semaphore to the next where a permit was free and the next client
	// queued; null of other locks.
	GrantSpacingNs   *int64   `json:"grant_spacing_ns"`
	GrantSpacingSDNs *int64   `json:"grant_spacing_sd_ns"` // its standard deviation
	Requests         *float64 `json:"requests_per_acquire"`
	Watches          *float64 `json:"watches_fired_per_release"`
	HiccupsP99Ns     *int64   `json:"hiccups_p99_ns"`

	// Utilization is the share of time in which the locks were taken, hand-offs included, by the
	// model's service time.
	Utilization *float64         `json:"utilization"`
	Predicted   *SweepPrediction `json:"predicted"`
	// Gap is the measured throughput over the predicted one, less 1; of an open loop it is of
	// the mean time to get the lock.
	Gap *float64 `json:"gap"`
	// Cause is the likely cause of a gap that is too large; empty if there is none.
	Cause string          `json:"cause"`
	Limit *capacity.Limit `json:"limit"`

	setting SweepSetting
	grants  int64   // that GrantSpacingNs is of
	rounds  []Round // of all runs

	_ struct{}
}

// summarizePoint takes medians over a point's runs.
func summarizePoint(in SweepRuns) SweepPoint {
	p := SweepPoint{Values: in.Values, Clients: in.Setting.Clients, Locks: in.Setting.Locks, Limit: in.Limit, Verdict: check.Pass, setting: in.Setting}
	if in.Setting.Rate > 0 {
		p.Rate = &in.Setting.Rate
	}
	var all []*Result
	for _, r := range in.Runs {
		if r.Result == nil {
			continue
		}
		p.Dirs = append(p.Dirs, r.Dir)
		all = append(all, r.Result)
		p.Violation = p.Violation || failedCheck(r.Result) != ""
		if worse(r.Result.Verdict, p.Verdict) {
			p.Verdict, p.Why = r.Result.Verdict, whyOf(r.Result)
		}
	}
	if p.Runs = len(all); p.Runs == 0 {
		p.Verdict, p.Why = check.Unknown, "not run"
	}
	for _, r := range in.Broken {
		if why := failedCheck(r.Result); why != "" && !p.Violation {
			p.Violation, p.Verdict, p.Why = true, check.Fail, why+" (in a run that broke off: "+r.Dir+")"
		}
	}
	if p.Runs == 0 {
		return p
	}
	if in.Limit != nil {
		return p // its runs are of different rates
	}
	p.AcquiredPerS = medianOf(all, func(r *Result) *float64 { return r.Throughput.AcquiredPerS })
	p.AcquiredPerSMin = extreme(all, slices.Min[[]float64])
	p.AcquiredPerSMax = extreme(all, slices.Max[[]float64])
	p.OfferedPerS = medianOf(all, func(r *Result) *float64 { return r.Throughput.OfferedPerS })
	p.DroppedPerS = medianOf(all, func(r *Result) *float64 { return r.Throughput.DroppedPerS })
	p.AcquireMeanNs = medianOf(all, func(r *Result) *int64 { return r.Latency.Acquire.MeanNs })
	p.AcquireP50Ns = medianOf(all, func(r *Result) *int64 { return r.Latency.Acquire.P50Ns })
	p.AcquireP99Ns = medianOf(all, func(r *Result) *int64 { return r.Latency.Acquire.P99Ns })
	p.EnqueueMeanNs = medianOf(all, func(r *Result) *int64 { return r.Latency.Enqueue.MeanNs })
	p.HandoffMeanNs = medianOf(all, func(r *Result) *int64 { return r.Latency.Handoff.MeanNs })
	p.HandoffP99Ns = medianOf(all, func(r *Result) *int64 { return r.Latency.Handoff.P99Ns })
	p.HoldMeanNs = medianOf(all, func(r *Result) *int64 { return r.Latency.Hold.MeanNs })
	p.ReleaseMeanNs = medianOf(all, func(r *Result) *int64 { return r.Latency.Release.MeanNs })
	p.Requests = medianOf(all, func(r *Result) *float64 { return r.Server.RequestsPerAcquire })
	p.Watches = medianOf(all, func(r *Result) *float64 { return r.Server.WatchesFiredPerRelease })
	p.HiccupsP99Ns = medianOf(all, func(r *Result) *int64 {
		if r.Hiccups == nil {
			return nil
		}
		return r.Hiccups.P99Ns
	})
	p.GrantSpacingNs = medianOf(all, func(r *Result) *int64 {
		if r.Sharing == nil {
			return nil
		}
		return r.Sharing.Grants.MeanNs
	})
	p.GrantSpacingSDNs = medianOf(all, func(r *Result) *int64 {
		if r.Sharing == nil {
			return nil
		}
		return r.Sharing.Grants.SDNs
	})
	for _, r := range all {
		p.HandoffCount += r.Latency.Handoff.Count
		if r.Sharing != nil {
			p.grants += r.Sharing.Grants.Count
			p.rounds = append(p.rounds, r.Sharing.Rounds...)
		}
	}
	return p
}

// failedCheck says which check of a run failed; empty if none did.
func failedCheck(r *Result) string {
	for _, c := range r.Checks {
		if c.Outcome == check.Fail {
			return c.Name + ": " + c.Summary
		}
	}
	return ""
}

// worse orders fail, unknown, pass.
func worse(a, b check.Result) bool {
	rank := map[check.Result]int{check.Pass: 0, check.Unknown: 1, check.Fail: 2}
	return rank[a] > rank[b]
}

// whyOf says in a few words what kept a run from passing.
func whyOf(r *Result) string {
	for _, c := range r.Checks {
		if c.Outcome != check.Pass {
			return c.Name + ": " + c.Summary
		}
	}
	for _, t := range r.Thresholds {
		if t.Verdict != check.Pass {
			return t.Expr + ": " + t.Reason
		}
	}
	return ""
}

// medianOf is the middle one of those that are known, the mean of the two of an even number; nil if
// none is.
func medianOf[T int64 | float64](all []*Result, of func(*Result) *T) *T {
	var known []T
	for _, r := range all {
		if v := of(r); v != nil {
			known = append(known, *v)
		}
	}
	if len(known) == 0 {
		return nil
	}
	slices.Sort(known)
	m := (known[(len(known)-1)/2] + known[len(known)/2]) / 2
	return &m
}

func extreme(all []*Result, pick func([]float64) float64) *float64 {
	var known []float64
	for _, r := range all {
		if v := r.Throughput.AcquiredPerS; v != nil {
			known = append(known, *v)
		}
	}
	if len(known) == 0 {
		return nil
	}
	v := pick(known)
	return &v
}
