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
	"locklab/reports/capacity"
	"locklab/reports/words"
)

// ErrQuestion says that a sweep cannot answer a question.
var ErrQuestion = fail.Input.New("the sweep cannot answer that")

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

// An Answer is what the model says, corrected by its error at the nearest measured point.
type Answer struct {
	SchemaVersion int      `json:"schema_version"`
	Clients       int      `json:"clients"`
	Locks         int      `json:"locks"`
	HoldNs        int64    `json:"hold_ns"`
	Rate          *float64 `json:"rate"`
	// AcquiredPerS and the times are the model's, corrected by Nearest.
	AcquiredPerS  float64 `json:"acquired_per_s"`
	AcquireMeanNs *int64  `json:"acquire_mean_ns"` // null if the wait has no limit
	AcquireP99Ns  *int64  `json:"acquire_p99_ns"`
	Utilization   float64 `json:"utilization"` // of the locks, at most 1
	Model         *Model  `json:"model"`
	// ModelPerS is the model's throughput without the correction.
	ModelPerS float64 `json:"model_acquired_per_s"`
	// Nearest describes the measured point by which the model is corrected.
	Nearest string   `json:"nearest"`
	Notes   []string `json:"notes"`

	_ struct{}
}

// dimensions are the parts of a load that a question may leave open if the sweep has one value of them.
var dimensions = []struct {
	noun, open string
	of         func(Setting) float64
}{
	{"clients", "how many clients: --clients", func(s Setting) float64 { return float64(s.Clients) }},
	{"locks", "how many locks: --locks", func(s Setting) float64 { return float64(s.Locks) }},
	{"milliseconds of hold", "how long locks are held: --hold", func(s Setting) float64 { return s.Hold.Seconds() * 1e3 }},
}

// Answer predicts what a load comes to from the sweep's measurements. A load beyond twice the measured range is
// refused with [capacity.ErrTooFar].
func (s *Sweep) Answer(q Question) (Answer, error) {
	all, err := s.asked(q)
	if err != nil {
		return Answer{}, err
	}
	load := Setting{Clients: q.Clients, Locks: q.Locks, Hold: q.Hold}
	for _, d := range dimensions {
		lo, hi := math.Inf(1), 0.0
		for _, p := range all {
			lo, hi = min(lo, d.of(p.setting)), max(hi, d.of(p.setting))
		}
		if ask := d.of(load); ask == 0 && lo < hi {
			return Answer{}, fmt.Errorf("%w without knowing %s", ErrQuestion, d.open)
		} else if err := capacity.Within(cmp.Or(ask, lo), lo, hi); err != nil {
			return Answer{}, fmt.Errorf("%s: %w", d.noun, err)
		}
	}
	first := all[0].setting
	q.Clients, q.Locks, q.Hold = cmp.Or(q.Clients, first.Clients), cmp.Or(q.Locks, first.Locks), cmp.Or(q.Hold, first.Hold)
	load = Setting{Clients: q.Clients, Locks: q.Locks, Hold: q.Hold}
	nearest := slices.MinFunc(all, func(a, b *Point) int {
		return cmp.Compare(load.distance(a.setting), load.distance(b.setting))
	})
	p := &Point{Values: nearest.Values, Clients: q.Clients, Locks: q.Locks, setting: nearest.setting}
	p.setting.Clients, p.setting.Locks, p.setting.Hold = q.Clients, q.Locks, q.Hold
	if was := nearest.setting.Hold; was > 0 { // longer holds of the same kind vary more in proportion
		p.setting.HoldVariance *= math.Pow(q.Hold.Seconds()/was.Seconds(), 2)
	}
	if p.setting.Together > 1 && q.Hold != nearest.setting.Hold {
		return Answer{}, fmt.Errorf("%w: other holds of a semaphore have to be measured, because permits are given out one "+
			"by one", ErrQuestion)
	}
	m := calibrate(all, p)
	if m == nil {
		return Answer{}, fmt.Errorf("%w: it has no point with 2 to %d clients per lock in a closed loop, from which to "+
			"learn the hand-off (--param clients=1..%d)", ErrQuestion, calibrationClients, calibrationClients)
	}
	return q.answer(m, nearest, s.lawOf(nearest)), nil
}

// distance is how far two loads are apart, in doublings.
func (s Setting) distance(o Setting) (sum float64) {
	for _, d := range dimensions {
		sum += math.Abs(math.Log2((d.of(s) + 1e-6) / (d.of(o) + 1e-6)))
	}
	return sum
}

// lawOf returns the scalability law fitted to the series of a point; nil if there is none.
func (s *Sweep) lawOf(p *Point) *USL {
	for series, point := range s.points() {
		if point == p {
			return series.USL
		}
	}
	return nil
}

// asked returns the measured points that a question is about.
func (s *Sweep) asked(q Question) ([]*Point, error) {
	for key := range q.Where {
		i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Key == key })
		if i < 0 || slices.Contains([]string{"clients", "locks", "hold", "rate"}, key) {
			return nil, fmt.Errorf("%w: %s was not varied", ErrQuestion, key)
		}
		if !slices.Contains(s.Params[i].Values, q.Where[key]) {
			return nil, fmt.Errorf("%w: %s was %s, never %s", ErrQuestion, key, strings.Join(s.Params[i].Values, ", "),
				q.Where[key])
		}
	}
	var all []*Point
	others := map[string][]string{} // the values of keys that the question leaves open
	for _, p := range s.points() {
		fits := p.AcquiredPerS != nil && p.setting.Modelled && p.Rate == nil
		for key, v := range q.Where {
			fits = fits && p.Values[key] == v
		}
		if !fits {
			continue
		}
		all = append(all, p)
		for key, v := range p.Values {
			if !slices.Contains(ofLoad, key) && key != "hold" && !slices.Contains(others[key], v) {
				others[key] = append(others[key], v)
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: the models apply to none of the measured points that fit (they need a closed "+
			"loop, locks that are all alike, and no faults)", ErrQuestion)
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		if len(others[key]) > 1 {
			return nil, fmt.Errorf("%w without knowing which %s is meant: --where %s=%s", ErrQuestion, key, key,
				strings.Join(slices.Sorted(slices.Values(others[key])), "|"))
		}
	}
	return all, nil
}

// answer takes what the model says, and corrects it by its error at the nearest measured point.
func (q Question) answer(m *Model, nearest *Point, law *USL) Answer {
	if q.Clients != nearest.Clients || q.Hold != nearest.setting.Hold || q.Rate > 0 {
		law = nil // it was fitted at that load only
	}
	l := m.lock
	a := Answer{SchemaVersion: 1, Clients: q.Clients, Locks: q.Locks, HoldNs: int64(q.Hold), Model: m, Notes: []string{}}
	near := l
	near.Locks = nearest.Locks
	near.Hold += nearest.setting.Hold.Seconds() - q.Hold.Seconds()
	said, _ := law.limit(near.Throughput(nearest.Clients), nearest.Locks)
	correction := *nearest.AcquiredPerS / said
	a.Nearest = fmt.Sprintf("%s, %s, hold %s: %s a second measured, where the model says %s",
		counted(nearest.Clients, "client"), counted(nearest.Locks, "lock"),
		nearest.setting.Hold, words.Digits3(*nearest.AcquiredPerS), words.Digits3(said))
	if nearest.Cause != "" {
		a.Notes = append(a.Notes, "at the nearest point: "+nearest.Cause)
	}
	corrected := func(x float64) float64 { return x * correction }
	if q.Locks != nearest.Locks && nearest.Locks > 1 && correction < 1-gapLimit {
		// The locks were not full then, but what they share was. More locks do not change that.
		corrected = func(x float64) float64 { return min(x, *nearest.AcquiredPerS) }
		a.Notes = append(a.Notes, "with more locks than were measured, what they share is still the limit")
		if q.Locks < nearest.Locks {
			a.Notes[len(a.Notes)-1] = "with fewer locks, what they share has no more capacity than it had"
		}
	}
	most := min(corrected(l.Capacity()), l.Capacity())
	if q.Rate > 0 {
		rate := q.Rate
		a.Rate = new(rate)
		a.ModelPerS = min(rate, l.Capacity())
		a.AcquiredPerS = min(rate, most)
		a.Utilization = min(rate/most, 1)
		// The model is slowed down by as much as it was too fast.
		slower := 1 / min(correction, 1)
		l.Hold, l.Handoff, l.Gate, l.GateSpread = l.Hold*slower, l.Handoff*slower, l.Gate*slower, l.GateSpread*slower
		a.AcquireMeanNs, a.AcquireP99Ns = finite(l.Arriving(rate)), finite(l.Enqueue+l.WaitQuantile(rate, 0.99))
		if rate >= most {
			a.Notes = append(a.Notes, fmt.Sprintf("more arrive than the %s a second that the locks can "+
				"serve, so the queue grows without limit", words.Digits3(most)))
		}
		return a
	}
	var byLaw bool
	if a.ModelPerS, byLaw = law.limit(l.Throughput(q.Clients), q.Locks); byLaw {
		a.Notes = append(a.Notes, "by the scalability law fitted to the sweep, what the locks share is the limit")
	}
	a.AcquiredPerS = corrected(a.ModelPerS)
	a.Utilization = min(a.AcquiredPerS/l.Capacity(), 1)
	mean := l.AcquireAt(q.Clients, a.AcquiredPerS)
	a.AcquireMeanNs = finite(mean)
	if p99, was := nearest.median("acquire.p99"), nearest.Medians["acquire.mean"]; p99 != nil && was > 0 {
		a.AcquireP99Ns = finite(mean * *p99 / was)
		a.Notes = append(a.Notes, "p99 is the mean times their ratio at the nearest point")
	}
	return a
}

// PrintAnswer writes the answer for a person.
func PrintAnswer(w io.Writer, a Answer) error {
	load := fmt.Sprintf("%d clients that ask again at once", a.Clients)
	if a.Rate != nil {
		load = words.Digits3(*a.Rate) + " arrivals a second"
	}
	_, err := fmt.Fprintf(w, "%s, %s, held for %s each:\n  %s acquisitions a second (the locks are taken %.0f %% of "+
		"the time)\n  time to get a lock: mean %s, p99 %s\nmodel: hold %s + hand-off %s (%s): %s a second\nnearest: %s\n",
		load, counted(a.Locks, "lock"), words.Duration(a.HoldNs), words.Digits3(a.AcquiredPerS), 100*a.Utilization,
		words.Known(a.AcquireMeanNs, words.Duration), words.Known(a.AcquireP99Ns, words.Duration),
		words.Duration(a.Model.HoldNs), words.Duration(a.Model.HandoffNs), a.Model.From, words.Digits3(a.ModelPerS),
		a.Nearest)
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
