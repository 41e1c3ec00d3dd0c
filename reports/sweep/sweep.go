package sweep

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"locklab/reports/capacity"
	"locklab/reports/result"
)

// SchemaVersion is the version of sweep.json. Since version 2 a point's numbers have their names in the catalogue only,
// since version 3 a search has trials and bounds by RFC 9971,
// and since version 4 no model predicts anything.
const SchemaVersion = 4

// A Header says what a sweep varies, and how.
type Header struct {
	Scenario string  `json:"scenario"`
	About    string  `json:"about"`
	Seed     uint64  `json:"seed"`
	Params   []Param `json:"params"`
	// Repeat is how often each point is run; 0 if a search decides that.
	Repeat int `json:"repeat"`
	// Saturate has the goals of a search for the most load at each point; empty = no search. Over is the key that is
	// searched for: the rate, or how many clients or locks.
	Saturate []string `json:"saturate,omitempty"`
	Over     string   `json:"over,omitempty"`
	// PlannedRate is the rate of arrivals that the scenario gives, whose headroom is told; 0 = it gives none.
	PlannedRate float64 `json:"planned_rate,omitempty"`
	// BoundsNs are the bounds of latencies among the goals. Disturbance says what happens before the limit must be kept
	// again, and Queue is how many arrivals wait if all clients are busy.
	BoundsNs    []float64 `json:"bounds_ns,omitempty"`
	Disturbance string    `json:"disturbance,omitempty"`
	Queue       int       `json:"queue,omitempty"`
	// FullNs, ShortNs and WarmupNs are the lengths of the windows of a search at its start, and BudgetNs is the time that
	// all of them may take.
	FullNs   int64 `json:"full_window_ns,omitempty"`
	ShortNs  int64 `json:"short_window_ns,omitempty"`
	WarmupNs int64 `json:"warmup_ns,omitempty"`
	BudgetNs int64 `json:"budget_ns,omitempty"`
	// CeilingPerS is how many acquisitions a second the load generator asks for at most; 0 = not measured.
	CeilingPerS float64 `json:"ceiling_per_s,omitempty"`
}

// A Param is a key of a scenario that a sweep varies, and the values that it takes, as a scenario's file has them.
type Param struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
	// Numbers are the values as numbers, durations in nanoseconds; nil if one is not a number, and in a plan.
	Numbers []float64 `json:"numbers,omitempty"`
}

// Input is everything that the report of a sweep is made of.
type Input struct {
	Header
	// Setup has names and values of what all points have in common: load, ensemble, machine and time.
	Setup  [][2]string
	Points []PointRuns

	_ struct{}
}

// PointRuns is a point of the grid and the results of its runs.
type PointRuns struct {
	Values  map[string]string
	Setting Setting
	Runs    []Run
	// Broken are runs that did not end. Only the violations that they saw count.
	Broken []Run
	Limit  *capacity.Limit // if one was searched for
	_      struct{}
}

// A Run is a run directory, and its result; nil if the run was not done, or broke off.
type Run struct {
	Dir    string
	Result *result.Result
}

// A Setting is a point's load, and what its failovers depend on.
type Setting struct {
	Clients, Locks int
	Hold           time.Duration
	Rate           float64 // a second; 0 in a closed loop
	// Ramp says that the rate changes, so that there is no one load.
	Ramp bool
	// Timeout is the session timeout that the servers grant, and SyncLimit how many ticks a follower goes without the
	// leader; 0 = not known.
	Timeout, Tick time.Duration
	SyncLimit     int
}

// A Sweep is a sweep in numbers: sweep.json. Pointers are null if the number is not known.
type Sweep struct {
	SchemaVersion int `json:"schema_version"`
	// Headline is all headlines in one line, for lists of sweeps.
	Headline string `json:"headline"`
	Header
	Partial bool `json:"partial"` // runs are missing
	// Load is the key of the parameter on the x axis of pictures; empty if nothing was varied.
	Load     string   `json:"load"`
	Planned  int      `json:"planned_runs"`
	Done     int      `json:"done_runs"`
	Series   []Series `json:"series"`
	Warnings []string `json:"warnings"`
	// Setup is what all points have in common.
	Setup [][2]string `json:"setup"`

	_ struct{}
}

// A Series is the points that differ in the load only.
type Series struct {
	Name   string            `json:"name"` // empty if it is the only one
	Values map[string]string `json:"values"`
	Points []Point           `json:"points"`
	// RanOut says which resource was used up first; null if nothing was measured.
	RanOut *RanOut `json:"ran_out_first"`

	_ struct{}
}

// loads are the keys that are the load if they are varied, the most likely one first.
var loads = []string{"clients", "rate", "locks"}

// loadParam returns the key of the parameter that is the load: one of loads, else the first whose values are numbers,
// else the first; "" if none has several values.
func loadParam(params []Param) string {
	several := slices.DeleteFunc(slices.Clone(params), func(p Param) bool { return len(p.Values) < 2 })
	if len(several) == 0 {
		return ""
	}
	rank := func(p Param) int {
		i := slices.Index(loads, p.Key)
		switch {
		case p.Numbers == nil:
			return len(loads) + 1
		case i < 0:
			return len(loads)
		}
		return i
	}
	return slices.MinFunc(several, func(a, b Param) int { return cmp.Compare(rank(a), rank(b)) }).Key
}

// Summarize reduces a sweep to its numbers.
func Summarize(in Input) Sweep {
	s := Sweep{SchemaVersion: SchemaVersion, Header: in.Header, Load: loadParam(in.Params), Warnings: []string{},
		Setup: in.Setup}
	series := map[string]int{} // by name
	for _, p := range in.Points {
		values := maps.Clone(p.Values)
		delete(values, s.Load)
		name := s.name(values)
		i, known := series[name]
		if !known {
			i = len(s.Series)
			series[name] = i
			s.Series = append(s.Series, Series{Name: name, Values: values})
		}
		point := summarizePoint(p, in.Over)
		point.Load = s.place(p.Values[s.Load])
		s.Series[i].Points = append(s.Series[i].Points, point)
		s.Planned += len(p.Runs)
		s.Done += point.Runs
		s.Partial = s.Partial || p.Limit != nil && p.Limit.Unknown != ""
		s.warn(p)
	}
	s.Partial = s.Partial || s.Done < s.Planned
	for i := range s.Series {
		slices.SortStableFunc(s.Series[i].Points, func(a, b Point) int { return cmp.Compare(a.Load, b.Load) })
	}
	s.ranOut()
	s.Headline = strings.Join(s.Headlines(), " ")
	return s
}

// warn adds the warnings of a point's runs, each once; of a search those of the full windows at the answer.
func (s *Sweep) warn(p PointRuns) {
	for i, r := range p.Runs {
		if l := p.Limit; l != nil && (l.Lower == nil || i >= len(l.Trials) || l.Trials[i].Level != *l.Lower ||
			l.Trials[i].Kind != capacity.Full) {
			continue
		}
		if r.Result == nil {
			continue
		}
		for _, w := range r.Result.Warnings {
			if !slices.Contains(s.Warnings, w) {
				s.Warnings = append(s.Warnings, w)
			}
		}
	}
}

func (s *Sweep) points() iter.Seq2[*Series, *Point] {
	return func(yield func(*Series, *Point) bool) {
		for i := range s.Series {
			for k := range s.Series[i].Points {
				if !yield(&s.Series[i], &s.Series[i].Points[k]) {
					return
				}
			}
		}
	}
}

// name names a series by the values in which it differs from others.
func (s *Sweep) name(values map[string]string) string {
	var parts []string
	for _, p := range s.Params {
		if v, ok := values[p.Key]; ok && len(p.Values) > 1 {
			parts = append(parts, p.Key+" "+v)
		}
	}
	return strings.Join(parts, ", ")
}

func (s *Sweep) nameWithout(i int, key string) string {
	values := maps.Clone(s.Series[i].Values)
	delete(values, key)
	return s.name(values)
}

// place returns where on the axis of the load a value is.
func (s *Sweep) place(value string) float64 {
	for _, p := range s.Params {
		if i := slices.Index(p.Values, value); p.Key == s.Load && i >= 0 {
			if p.Numbers != nil {
				return p.Numbers[i]
			}
			return float64(i + 1)
		}
	}
	return 0
}

// label is the value at a place on the axis of the load.
func (s *Sweep) label(load float64) string {
	for _, p := range s.Params {
		if p.Key != s.Load {
			continue
		}
		for _, v := range p.Values {
			if s.place(v) == load {
				return v
			}
		}
	}
	return ""
}
