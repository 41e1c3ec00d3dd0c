package sweep

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/harness/fail"
	"locklab/reports/measure"
	"locklab/reports/words"
)

// ErrQuestion says that a sweep cannot answer a question.
var ErrQuestion = fail.Input.New("the sweep cannot answer that")

// ErrUnmeasured says that a load is not between measured ones.
var ErrUnmeasured = fail.Unknown.New("outside what was measured")

// A Question asks about a load that the sweep may not have measured. A field that is 0 takes the sweep's value, if
// the sweep has only one.
type Question struct {
	Clients int
	Locks   int
	Hold    time.Duration
	Rate    float64 // of arrivals a second; 0 = a closed loop
	// Where chooses series of the sweep, by the values of other keys.
	Where map[string]string

	_ struct{}
}

// An Answer is what was measured at a load, or what lies between the measured loads around it.
type Answer struct {
	SchemaVersion int      `json:"schema_version"`
	Clients       int      `json:"clients"`
	Locks         int      `json:"locks"`
	HoldNs        int64    `json:"hold_ns"`
	Rate          *float64 `json:"rate"`
	AcquiredPerS  float64  `json:"acquired_per_s"`
	AcquireMeanNs *int64   `json:"acquire_mean_ns"` // null if it was not measured in every window
	AcquireP99Ns  *int64   `json:"acquire_p99_ns"`
	// Intervals have the lowest and the highest of all windows at the measured loads around, by the names above.
	Intervals map[string][2]float64 `json:"intervals"`
	// Windows is the least number of windows at such a load, and Confidence the probability with which the median of a
	// measured load lies in its interval.
	Windows    int     `json:"windows"`
	Confidence float64 `json:"confidence"`
	// Measured describes these loads; a single one is the load that was asked about.
	Measured []string `json:"measured"`
	Notes    []string `json:"notes"`

	_ struct{}
}

// A load is clients, locks, hold in seconds, and rate: 0 in a closed loop.
type load [4]float64

// dimensions are the parts of a load. The last is the rate.
var dimensions = [...]struct {
	noun, open string
	show       func(float64) string
}{
	{"clients", "how many clients: --clients", words.Digits3},
	{"locks", "how many locks: --locks", words.Digits3},
	{"hold", "how long locks are held: --hold", func(s float64) string { return words.Duration(int64(s * 1e9)) }},
	{"rate", "how many arrivals a second: --rate", words.Digits3},
}

const rateOf = len(dimensions) - 1

func (s Setting) load() load {
	return load{float64(s.Clients), float64(s.Locks), s.Hold.Seconds(), s.Rate}
}

func (l load) String() string {
	text := fmt.Sprintf("%s, %s, hold %s", counted(int(l[0]), "client"), counted(int(l[1]), "lock"),
		dimensions[2].show(l[2]))
	if l[rateOf] > 0 {
		text += ", " + words.Digits3(l[rateOf]) + " arrivals a second"
	}
	return text
}

// The quantities of an answer.
var answered = [...]string{"acquired_per_s", "acquire_mean_ns", "acquire_p99_ns"}

// A window is what one run measured at a load. A time that it does not have is NaN.
type window struct {
	load
	values [len(answered)]float64
	// growing says that fewer were served than arrived, so that waits depend on how long one measures.
	growing bool
}

// servedShare is the share of arrivals that must be served if no backlog grows.
const servedShare = 0.97

// windowsOf returns what the runs of a point measured without a fault and without a violation: of a search, its full
// windows, each at its level of the key over.
func windowsOf(in PointRuns, over string) (all []window) {
	for i, run := range in.Runs {
		r := run.Result
		if r == nil || r.Throughput.AcquiredPerS == nil || in.Setting.Ramp || len(r.Faults) > 0 || FailedCheck(r) != "" {
			continue
		}
		w := window{load: in.Setting.load()}
		if l := in.Limit; l != nil {
			if i >= len(l.Trials) || !windowShapes[0].is(l.Trials[i]) {
				continue
			}
			for d := range dimensions {
				if dimensions[d].noun == over {
					w.load[d] = l.Trials[i].Level
				}
			}
		}
		known := func(ns *int64) float64 {
			if ns == nil {
				return math.NaN()
			}
			return float64(*ns)
		}
		t := &r.Throughput
		w.values = [...]float64{*t.AcquiredPerS, known(r.Latency.Acquire.MeanNs), known(r.Latency.Acquire.P99Ns)}
		w.growing = w.load[rateOf] > 0 && (t.Dropped != nil && *t.Dropped > 0 ||
			t.OfferedPerS != nil && *t.AcquiredPerS < servedShare**t.OfferedPerS)
		all = append(all, w)
	}
	return all
}

// An estimate is what a load comes to.
type estimate struct {
	at, low, high [len(answered)]float64 // NaN if not known
	windows       int                    // at the measured load with the fewest
	measured      []string
}

// Answer says what a load comes to: what was measured there or, between measured loads, what is between these. Each
// part of a load changes what comes of it in one direction, so the truth lies between both, and nothing is said beyond
// them.
func (s *Sweep) Answer(q Question) (Answer, error) {
	all, err := s.asked(q)
	if err != nil {
		return Answer{}, err
	}
	want := Setting{Clients: q.Clients, Locks: q.Locks, Hold: q.Hold, Rate: q.Rate}.load()
	for d := range dimensions {
		values := valuesAt(all, d)
		if want[d] == 0 && len(values) > 1 {
			return Answer{}, fmt.Errorf("%w without knowing %s", ErrQuestion, dimensions[d].open)
		}
		want[d] = cmp.Or(want[d], values[0])
	}
	e, err := between(all, want, 0)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{SchemaVersion: 2, Clients: int(want[0]), Locks: int(want[1]), HoldNs: int64(math.Round(want[2] * 1e9)),
		AcquiredPerS: e.at[0], Intervals: map[string][2]float64{}, Windows: e.windows,
		Confidence: 1 - math.Pow(2, float64(1-e.windows)), Measured: e.measured, Notes: []string{}}
	if q.Rate > 0 {
		a.Rate = &want[rateOf]
	}
	for i, ns := range [...]**int64{1: &a.AcquireMeanNs, 2: &a.AcquireP99Ns} {
		if math.IsNaN(e.at[i]) {
			continue
		}
		if a.Intervals[answered[i]] = [2]float64{e.low[i], e.high[i]}; ns != nil {
			*ns = new(int64(math.Round(e.at[i])))
		}
	}
	if enough := 5; e.windows < enough {
		a.Notes = append(a.Notes, fmt.Sprintf("a load with %s says little of how much such windows differ: sweep with "+
			"--repeat %d", words.Count(int64(e.windows), "window"), enough))
	}
	return a, nil
}

// valuesAt returns the measured values of a part of the load, in ascending order.
func valuesAt(all []window, d int) (values []float64) {
	for _, w := range all {
		values = append(values, w.load[d])
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// between returns what a load comes to by windows that agree with it in the parts before d. It is interpolated along
// one part after the other.
func between(all []window, want load, d int) (estimate, error) {
	if d == len(want) {
		return estimateOf(all)
	}
	values := valuesAt(all, d)
	above, found := slices.BinarySearch(values, want[d])
	show := dimensions[d].show
	if above == len(values) || !found && above == 0 {
		return estimate{}, fmt.Errorf("%w: %s %s, and measured were %s to %s (%s): sweep over that load too", ErrUnmeasured,
			dimensions[d].noun, show(want[d]), show(values[0]), show(values[len(values)-1]), all[0].load)
	}
	part := func(value float64) (estimate, error) {
		return between(slices.DeleteFunc(slices.Clone(all), func(w window) bool { return w.load[d] != value }), want, d+1)
	}
	hi, err := part(values[above])
	if err != nil || found {
		return hi, err
	}
	lo, err := part(values[above-1])
	if err != nil {
		return lo, err
	}
	share := (want[d] - values[above-1]) / (values[above] - values[above-1])
	if values[above-1] > 0 {
		share = math.Log(want[d]/values[above-1]) / math.Log(values[above]/values[above-1])
	}
	e := estimate{windows: min(lo.windows, hi.windows), measured: slices.Concat(lo.measured, hi.measured)}
	for i := range answered {
		e.at[i] = math.Exp((1-share)*math.Log(lo.at[i]) + share*math.Log(hi.at[i]))
		e.low[i], e.high[i] = min(lo.low[i], hi.low[i]), max(lo.high[i], hi.high[i])
	}
	return e, nil
}

// estimateOf returns the medians of windows of one load, and between which they were.
func estimateOf(all []window) (e estimate, err error) {
	growing := 0
	for _, w := range all {
		if w.growing {
			growing++
		}
	}
	if 2*growing >= len(all) {
		return e, fmt.Errorf("%w: with %s more arrive than are served, so waits there and towards it depend on how long one "+
			"measures", ErrUnmeasured, all[0].load)
	}
	e.windows = len(all)
	for i := range answered {
		var values []float64
		for _, w := range all {
			values = append(values, w.values[i])
		}
		slices.Sort(values) // NaN is first
		n := len(values)
		e.at[i], e.low[i], e.high[i] = measure.Median(values), values[0], values[n-1]
		if math.IsNaN(values[0]) {
			e.at[i] = values[0]
		}
	}
	text := fmt.Sprintf("%s: %s a second", all[0].load, words.Digits3(e.at[0]))
	if p99 := e.at[2]; !math.IsNaN(p99) {
		text += ", p99 " + words.Duration(int64(p99))
	}
	e.measured = []string{fmt.Sprintf("%s (%s)", text, words.Count(int64(e.windows), "window"))}
	return e, nil
}

func (s *Sweep) asked(q Question) (all []window, err error) {
	isLoad := func(key string) bool { return slices.Contains([]string{"clients", "locks", "hold", "rate"}, key) }
	for key := range q.Where {
		i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Key == key })
		if i < 0 || isLoad(key) {
			return nil, fmt.Errorf("%w: %s was not varied", ErrQuestion, key)
		}
		if !slices.Contains(s.Params[i].Values, q.Where[key]) {
			return nil, fmt.Errorf("%w: %s was %s, never %s", ErrQuestion, key, strings.Join(s.Params[i].Values, ", "),
				q.Where[key])
		}
	}
	others := map[string][]string{} // the values of keys that the question leaves open
	opens, rated := false, false
	for _, p := range s.points() {
		fits := len(p.windows) > 0
		for key, v := range q.Where {
			fits = fits && p.Values[key] == v
		}
		if !fits {
			continue
		}
		opens = p.windows[0].load[rateOf] > 0
		rated = rated || opens
		if opens != (q.Rate > 0) {
			continue
		}
		all = append(all, p.windows...)
		for key, v := range p.Values {
			if !isLoad(key) && !slices.Contains(others[key], v) {
				others[key] = append(others[key], v)
			}
		}
	}
	switch {
	case len(all) == 0 && q.Rate == 0 && rated:
		return nil, fmt.Errorf("%w without knowing %s", ErrQuestion, dimensions[rateOf].open)
	case len(all) == 0 && q.Rate > 0:
		return nil, fmt.Errorf("%w: arrivals at a rate (sweep --param rate=… with arrivals, or --saturate)", ErrUnmeasured)
	case len(all) == 0:
		return nil, fmt.Errorf("%w: the sweep has no window without a fault and without a violation", ErrUnmeasured)
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		if len(others[key]) > 1 {
			return nil, fmt.Errorf("%w without knowing which %s is meant: --where %s=%s", ErrQuestion, key, key,
				strings.Join(slices.Sorted(slices.Values(others[key])), "|"))
		}
	}
	return all, nil
}

// PrintAnswer writes the answer for a person.
func PrintAnswer(w io.Writer, a Answer) error {
	asks := fmt.Sprintf("%d clients that ask again at once", a.Clients)
	if a.Rate != nil {
		asks = fmt.Sprintf("%s arrivals a second, served by %s", words.Digits3(*a.Rate), counted(a.Clients, "client"))
	}
	within := func(name string, show func(float64) string) string {
		i, known := a.Intervals[name]
		if !known {
			return ""
		}
		return fmt.Sprintf(" (%s to %s)", show(i[0]), show(i[1]))
	}
	duration := func(v float64) string { return words.Duration(int64(v)) }
	_, err := fmt.Fprintf(w, "%s, %s, held for %s each:\n  %s acquisitions a second%s\n  time to get a lock: mean %s%s, "+
		"p99 %s%s\nmeasured: %s\n", asks, counted(a.Locks, "lock"), words.Duration(a.HoldNs),
		words.Digits3(a.AcquiredPerS), within(answered[0], words.Digits3),
		words.Known(a.AcquireMeanNs, words.Duration), within(answered[1], duration),
		words.Known(a.AcquireP99Ns, words.Duration), within(answered[2], duration), strings.Join(a.Measured, "\nmeasured: "))
	for _, note := range a.Notes {
		if err == nil {
			_, err = fmt.Fprintln(w, "note:", note)
		}
	}
	return err
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
