package reports

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"locklab/reports/capacity"
)

// SweepSchemaVersion is the version of sweep.json.
const SweepSchemaVersion = 1

// SweepInput is everything that the report of a sweep is made of.
type SweepInput struct {
	Scenario, About string
	Seed            uint64
	Repeat          int // runs of a point; 0 where searches say so
	Params          []SweepParam
	Saturate        string // the limit that searches go by; empty = none
	Points          []SweepRuns

	_ struct{}
}

// A SweepParam is a key that was varied, and its values in order.
type SweepParam struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
	// Numbers are the values as numbers, durations in nanoseconds; nil if some are none.
	Numbers []float64 `json:"numbers"`
}

// SweepRuns is a point of the grid and what its runs came to.
type SweepRuns struct {
	Values  map[string]string
	Setting SweepSetting
	Runs    []SweepRun
	// Broken are runs that did not end: they count for the violations that they saw, and for nothing else.
	Broken []SweepRun
	Limit  *capacity.Limit // where one was searched for
	_      struct{}
}

// A SweepRun is a run directory, and its result; nil if the run was not done, or broke off.
type SweepRun struct {
	Dir    string
	Result *Result
}

// A SweepSetting is what models want to know of a point's scenario.
type SweepSetting struct {
	Clients, Locks int
	Together       int     // acquisitions that can hold together: 1 of a mutex
	ReadShare      float64 // 0 where nobody reads
	Hold, Think    time.Duration
	HoldVariance   float64 // of a hold from another, in square seconds
	Rate           float64 // a second; 0 in a closed loop
	// Modelled says that the models are for such a point: locks that are all alike, a rate that stays.
	Modelled bool
}

// A Sweep is a sweep in numbers: sweep.json. Pointers are null where nothing is known.
type Sweep struct {
	SchemaVersion int          `json:"schema_version"`
	Scenario      string       `json:"scenario"`
	About         string       `json:"about"`
	Seed          uint64       `json:"seed"`
	Partial       bool         `json:"partial"` // runs are missing
	Repeat        int          `json:"repeat"`
	Saturate      string       `json:"saturate,omitempty"`
	Params        []SweepParam `json:"params"`
	// Load is the parameter that pictures have to the right; empty if nothing was varied.
	Load     string        `json:"load"`
	Planned  int           `json:"planned_runs"`
	Done     int           `json:"done_runs"`
	Series   []SweepSeries `json:"series"`
	Warnings []string      `json:"warnings"`

	_ struct{}
}

// A SweepSeries is the points that differ in the load only.
type SweepSeries struct {
	Name   string            `json:"name"` // empty if it is the only one
	Values map[string]string `json:"values"`
	Points []SweepPoint      `json:"points"`
	Model  *SweepModel       `json:"model"`
	USL    *SweepUSL         `json:"usl"`

	_ struct{}
}

// loads are the keys that make an axis of load, the first that was varied.
var loads = []string{"clients", "rate", "locks"}

// loadParam returns which parameter is the load: one of loads, else the first of numbers, else the first.
func loadParam(params []SweepParam) string {
	several := func(p SweepParam) bool { return len(p.Values) > 1 }
	for _, key := range loads {
		if slices.ContainsFunc(params, func(p SweepParam) bool { return p.Key == key && several(p) && p.Numbers != nil }) {
			return key
		}
	}
	for _, p := range params {
		if several(p) && p.Numbers != nil {
			return p.Key
		}
	}
	for _, p := range params {
		if several(p) {
			return p.Key
		}
	}
	return ""
}

// SummarizeSweep reduces a sweep to its numbers.
func SummarizeSweep(in SweepInput) Sweep {
	s := Sweep{SchemaVersion: SweepSchemaVersion, Scenario: in.Scenario, About: in.About, Seed: in.Seed, Repeat: in.Repeat, Saturate: in.Saturate, Params: in.Params, Load: loadParam(in.Params), Warnings: []string{}}
	at := map[string]int{}
	for _, p := range in.Points {
		values := maps.Clone(p.Values)
		delete(values, s.Load)
		name := s.name(values)
		i, known := at[name]
		if !known {
			i = len(s.Series)
			at[name] = i
			s.Series = append(s.Series, SweepSeries{Name: name, Values: values})
		}
		point := summarizePoint(p)
		point.Load = s.place(p.Values[s.Load])
		s.Series[i].Points = append(s.Series[i].Points, point)
		s.Planned += len(p.Runs)
		s.Done += point.Runs
		// Whatever there is to be unsure of, and the same thing is said once.
		for _, r := range p.Runs {
			if r.Result == nil {
				continue
			}
			for _, w := range r.Result.Warnings {
				if !slices.Contains(s.Warnings, w) {
					s.Warnings = append(s.Warnings, w)
				}
			}
		}
		if p.Limit != nil && p.Limit.Unknown != "" {
			s.Partial = true
		}
	}
	s.Partial = s.Partial || s.Done < s.Planned
	for i := range s.Series {
		slices.SortStableFunc(s.Series[i].Points, func(a, b SweepPoint) int { return cmp.Compare(a.Load, b.Load) })
	}
	s.model()
	return s
}

// name says by what values a series differs from others.
func (s *Sweep) name(values map[string]string) string {
	var words []string
	for _, p := range s.Params {
		if v, ok := values[p.Key]; ok && len(p.Values) > 1 {
			words = append(words, p.Key+" "+v)
		}
	}
	return strings.Join(words, ", ")
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

// label is a value as the axis of the load shows it.
func (s *Sweep) label(load float64) string {
	for _, p := range s.Params {
		if p.Key != s.Load {
			continue
		}
		for i, v := range p.Values {
			if s.place(v) == load {
				return p.Values[i]
			}
		}
	}
	return ""
}
