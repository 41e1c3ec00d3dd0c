package sweep

import (
	"slices"

	"locklab/harness/check/evidence"
	"locklab/reports/capacity"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// A Point is a point of the grid: medians over its runs without those in which a check failed.
type Point struct {
	Values map[string]string `json:"values"`
	// Load is the place on the axis of the load: the value if it is a number, else its index, from 1.
	Load    float64         `json:"load"`
	Clients int             `json:"clients"`
	Locks   int             `json:"locks"`
	Rate    *float64        `json:"rate"`
	Runs    int             `json:"runs"`
	Dirs    []string        `json:"dirs"`
	Verdict evidence.Result `json:"verdict"` // the worst of the runs
	// Why says why a run had that verdict.
	Why string `json:"why"`
	// Violation says that a check of a run failed, not just a threshold.
	Violation bool `json:"violation"`

	AcquiredPerS    *float64 `json:"acquired_per_s"` // null if no run has a window
	AcquiredPerSMin *float64 `json:"acquired_per_s_min"`
	AcquiredPerSMax *float64 `json:"acquired_per_s_max"`
	// Medians has every quantity that was measured, by its name in the catalogue of package result.
	Medians map[string]float64 `json:"medians"`

	// Failovers has the failovers by what struck, with every sample; null if nothing did.
	Failovers []Failovers `json:"failovers"`

	Limit *capacity.Limit `json:"limit"`
	// Caveats are those of the last run that has any; of a search with an answer, of the last such window that held.
	Caveats []string `json:"caveats,omitempty"`

	used    map[string]float64 // medians of the runs that tell which resources were used up; nil if there are none
	struck  bool               // faults struck
	windows []window           // what questions are answered by

	_ struct{}
}

// supports reports whether what is to be told of a point is true of its i-th run. An answer of a search is about loads
// that held, and others miss their limit for any reason.
func (in *PointRuns) supports(i int) bool {
	l := in.Limit
	return l == nil || l.Lower == nil || i >= len(l.Trials) || l.Trials[i].Reason == capacity.Holds
}

// summarizePoint takes medians over a point's runs.
func summarizePoint(in PointRuns, over string) Point {
	p := Point{Values: in.Values, Clients: in.Setting.Clients, Locks: in.Setting.Locks, Limit: in.Limit,
		Verdict: evidence.Pass, windows: windowsOf(in, over)}
	if in.Setting.Rate > 0 {
		p.Rate = &in.Setting.Rate
	}
	var all []*result.Result
	for i, r := range in.Runs {
		if r.Result == nil {
			continue
		}
		p.Dirs = append(p.Dirs, r.Dir)
		all = append(all, r.Result)
		if len(r.Result.Caveats) > 0 && in.supports(i) {
			p.Caveats = r.Result.Caveats
		}
		p.Violation = p.Violation || FailedCheck(r.Result) != ""
		if worse(r.Result.Verdict, p.Verdict) {
			p.Verdict, p.Why = r.Result.Verdict, whyOf(r.Result)
		}
	}
	if p.Runs = len(all); p.Runs == 0 {
		p.Verdict, p.Why = evidence.Unknown, "not run"
	}
	for _, r := range in.Broken {
		if why := FailedCheck(r.Result); why != "" && !p.Violation {
			p.Violation, p.Verdict, p.Why = true, evidence.Fail, why+" (in a run that broke off: "+r.Dir+")"
		}
	}
	if p.Runs == 0 {
		return p
	}
	p.struck = slices.ContainsFunc(all, func(r *result.Result) bool { return len(r.Faults) > 0 })
	if tried := p.tried(in.Runs); len(tried) > 0 {
		p.used = mediansOf(tried)
	}
	if in.Limit != nil {
		return p // its runs have different rates
	}
	p.Failovers = failoversOf(all, in.Setting)
	p.Medians = p.used
	if p.AcquiredPerS = p.median("acquired_per_s"); p.AcquiredPerS != nil {
		q, _ := result.Named("acquired_per_s")
		rates := valuesOf(sound(all), q)
		p.AcquiredPerSMin, p.AcquiredPerSMax = new(rates[0]), new(rates[len(rates)-1])
	}
	return p
}

// mediansOf returns the median over runs of every quantity that was measured.
func mediansOf(all []*result.Result) map[string]float64 {
	medians := map[string]float64{}
	for _, q := range result.Quantities() {
		if known := valuesOf(all, q); len(known) > 0 {
			medians[q.Name()] = measure.Median(known)
		}
	}
	return medians
}

// FailedCheck says which check of a run failed; empty if none did.
func FailedCheck(r *result.Result) string {
	for _, c := range r.Checks {
		if c.Outcome == evidence.Fail {
			return c.Name + ": " + c.Summary
		}
	}
	return ""
}

// worse orders fail, unknown, pass.
func worse(a, b evidence.Result) bool {
	rank := map[evidence.Result]int{evidence.Pass: 0, evidence.Unknown: 1, evidence.Fail: 2}
	return rank[a] > rank[b]
}

// whyOf says in a few words what kept a run from passing.
func whyOf(r *result.Result) string {
	for _, c := range r.Checks {
		if c.Outcome != evidence.Pass {
			return c.Name + ": " + c.Summary
		}
	}
	for _, t := range r.Thresholds {
		if t.Verdict != evidence.Pass {
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

// valuesOf returns the known values of a quantity in ascending order.
func valuesOf(all []*result.Result, q result.Quantity) []float64 {
	var known []float64
	for _, r := range all {
		if v := q.Value(r); v != nil {
			known = append(known, *v)
		}
	}
	slices.Sort(known)
	return known
}
