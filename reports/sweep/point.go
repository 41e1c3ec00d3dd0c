package sweep

import (
	"slices"

	"locklab/harness/check"
	"locklab/reports/capacity"
	"locklab/reports/result"
)

// A Point is a point of the grid: medians over its runs.
type Point struct {
	Values map[string]string `json:"values"`
	// Load is the place on the axis of the load: the value if it is a number, else its index, from 1.
	Load    float64      `json:"load"`
	Clients int          `json:"clients"`
	Locks   int          `json:"locks"`
	Rate    *float64     `json:"rate"`
	Runs    int          `json:"runs"`
	Dirs    []string     `json:"dirs"`
	Verdict check.Result `json:"verdict"` // the worst of the runs
	// Why says why a run had that verdict.
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
	// GrantSpacingNs is the time from one grant of a semaphore to the next if a permit was free and the next client
	// was queued; null for other locks.
	GrantSpacingNs   *int64   `json:"grant_spacing_ns"`
	GrantSpacingSDNs *int64   `json:"grant_spacing_sd_ns"` // its standard deviation
	Requests         *float64 `json:"requests_per_acquire"`
	Watches          *float64 `json:"watches_fired_per_release"`
	HiccupsP99Ns     *int64   `json:"hiccups_p99_ns"`

	// Medians has every quantity that was measured, by its name in the catalogue of package result.
	Medians map[string]float64 `json:"medians,omitempty"`

	// Utilization is the share of time in which the locks were taken, including hand-offs, by the model's service
	// time.
	Utilization *float64    `json:"utilization"`
	Predicted   *Prediction `json:"predicted"`
	// Gap is the measured throughput over the predicted one, less 1. In an open loop it compares the mean time to get
	// the lock.
	Gap *float64 `json:"gap"`
	// Cause is the likely cause of a gap that is too large; empty if there is none.
	Cause string          `json:"cause"`
	Limit *capacity.Limit `json:"limit"`

	setting Setting
	grants  int64          // how many GrantSpacingNs is the mean of
	rounds  []result.Round // of all runs

	_ struct{}
}

// summarizePoint takes medians over a point's runs.
func summarizePoint(in PointRuns) Point {
	p := Point{Values: in.Values, Clients: in.Setting.Clients, Locks: in.Setting.Locks, Limit: in.Limit,
		Verdict: check.Pass, setting: in.Setting}
	if in.Setting.Rate > 0 {
		p.Rate = &in.Setting.Rate
	}
	var all []*result.Result
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
		return p // its runs have different rates
	}
	p.Medians = map[string]float64{}
	for _, q := range result.Quantities() {
		if v := medianOf(all, q); v != nil {
			p.Medians[q.Name()] = *v
		}
	}
	p.AcquiredPerS = p.median("acquired_per_s")
	p.AcquiredPerSMin, p.AcquiredPerSMax = extremes(all)
	p.OfferedPerS = p.median("offered_per_s")
	p.DroppedPerS = p.median("dropped_per_s")
	p.AcquireMeanNs = p.medianNs("acquire.mean")
	p.AcquireP50Ns = p.medianNs("acquire.p50")
	p.AcquireP99Ns = p.medianNs("acquire.p99")
	p.EnqueueMeanNs = p.medianNs("enqueue.mean")
	p.HandoffMeanNs = p.medianNs("handoff.mean")
	p.HandoffP99Ns = p.medianNs("handoff.p99")
	p.HoldMeanNs = p.medianNs("hold.mean")
	p.ReleaseMeanNs = p.medianNs("release.mean")
	p.GrantSpacingNs = p.medianNs("sharing.grants.mean")
	p.GrantSpacingSDNs = p.medianNs("sharing.grants.sd")
	p.Requests = p.median("server.requests_per_acquire")
	p.Watches = p.median("server.watches_fired_per_release")
	p.HiccupsP99Ns = p.medianNs("hiccups.p99")
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
func failedCheck(r *result.Result) string {
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
func whyOf(r *result.Result) string {
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

// median returns the median of the quantity of a name; nil if no run has it.
func (p *Point) median(name string) *float64 {
	if v, ok := p.Medians[name]; ok {
		return &v
	}
	return nil
}

func (p *Point) medianNs(name string) *int64 {
	if v, ok := p.Medians[name]; ok {
		return new(int64(v))
	}
	return nil
}

// medianOf returns the middle one of a quantity's known values, or the mean of the two in the middle; nil if no run
// has it.
func medianOf(all []*result.Result, q result.Quantity) *float64 {
	known := valuesOf(all, q)
	if len(known) == 0 {
		return nil
	}
	slices.Sort(known)
	return new((known[(len(known)-1)/2] + known[len(known)/2]) / 2)
}

func valuesOf(all []*result.Result, q result.Quantity) []float64 {
	var known []float64
	for _, r := range all {
		if v := q.Value(r); v != nil {
			known = append(known, *v)
		}
	}
	return known
}

// extremes returns the lowest and the highest throughput of the runs; nil if no run has one.
func extremes(all []*result.Result) (lo, hi *float64) {
	q, _ := result.Named("acquired_per_s")
	known := valuesOf(all, q)
	if len(known) == 0 {
		return nil, nil
	}
	return new(slices.Min(known)), new(slices.Max(known))
}
