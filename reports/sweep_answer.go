package reports

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/reports/capacity"
)

// ErrQuestion says that a question does not fit the sweep that is to answer it.
var ErrQuestion = errors.New("the sweep has no answer to that")

// A SweepQuestion is a load that a sweep did not have to measure. What is 0 is as in the sweep,
// if that has one value of it.
type SweepQuestion struct {
	Clients int
	Locks   int
	Hold    time.Duration
	Rate    float64 // of arrivals a second; 0 = a closed loop
	// Where picks series of the sweep, by values of other keys.
	Where map[string]string

	_ struct{}
}

// A SweepAnswer is what the model says, and what it was found to be off by.
type SweepAnswer struct {
	SchemaVersion int      `json:"schema_version"`
	Clients       int      `json:"clients"`
	Locks         int      `json:"locks"`
	HoldNs        int64    `json:"hold_ns"`
	Rate          *float64 `json:"rate"`
	// AcquiredPerS and the times are the model's, corrected by Nearest.
	AcquiredPerS  float64     `json:"acquired_per_s"`
	AcquireMeanNs *int64      `json:"acquire_mean_ns"` // null where the wait has no end
	AcquireP99Ns  *int64      `json:"acquire_p99_ns"`
	Utilization   float64     `json:"utilization"` // of the locks, at most 1
	Model         *SweepModel `json:"model"`
	// ModelPerS is the model's throughput as it is.
	ModelPerS float64 `json:"model_acquired_per_s"`
	// Nearest is the measured point by which the model is corrected, and how.
	Nearest string   `json:"nearest"`
	Notes   []string `json:"notes"`

	_ struct{}
}

// Answer predicts a load from the sweep's measurements. It refuses, with
// [capacity.ErrTooFar], what is further than twice the measured range.
func (s *Sweep) Answer(q SweepQuestion) (SweepAnswer, error) {
	all, err := s.asked(&q)
	if err != nil {
		return SweepAnswer{}, err
	}
	for _, r := range []struct {
		noun string
		ask  float64
		of   func(*SweepPoint) float64
	}{
		{"clients", float64(q.Clients), func(p *SweepPoint) float64 { return float64(p.Clients) }},
		{"locks", float64(q.Locks), func(p *SweepPoint) float64 { return float64(p.Locks) }},
		{"milliseconds of hold", q.Hold.Seconds() * 1e3, func(p *SweepPoint) float64 { return p.setting.Hold.Seconds() * 1e3 }},
	} {
		lo, hi := math.Inf(1), 0.0
		for _, p := range all {
			lo, hi = min(lo, r.of(p)), max(hi, r.of(p))
		}
		if err := capacity.Within(r.ask, lo, hi); err != nil {
			return SweepAnswer{}, fmt.Errorf("%s: %w", r.noun, err)
		}
	}
	nearest := slices.MinFunc(all, func(a, b *SweepPoint) int {
		d, e := q.distance(a), q.distance(b)
		switch {
		case d < e:
			return -1
		case d > e:
			return 1
		}
		return 0
	})
	p := &SweepPoint{Values: nearest.Values, Clients: q.Clients, Locks: q.Locks, setting: nearest.setting}
	p.setting.Clients, p.setting.Locks, p.setting.Hold = q.Clients, q.Locks, q.Hold
	if was := nearest.setting.Hold; was > 0 { // longer holds of the same kind vary by as much more
		p.setting.HoldVariance *= math.Pow(q.Hold.Seconds()/was.Seconds(), 2)
	}
	if p.setting.Together > 1 && q.Hold != nearest.setting.Hold {
		return SweepAnswer{}, fmt.Errorf("%w: of a semaphore, other holds have to be measured: permits are given out one by one", ErrQuestion)
	}
	m := calibrate(all, p)
	if m == nil {
		return SweepAnswer{}, fmt.Errorf("%w: it has no point of 2 to %d clients a lock, in a closed loop, from which to learn the hand-off (--param clients=1..%d)", ErrQuestion, calibrationClients, calibrationClients)
	}
	return q.answer(m, nearest, s.lawOf(nearest)), nil
}

// lawOf returns the scalability law fitted to the series of a point; nil if there is none.
func (s *Sweep) lawOf(p *SweepPoint) *SweepUSL {
	for i := range s.Series {
		for k := range s.Series[i].Points {
			if &s.Series[i].Points[k] == p {
				return s.Series[i].USL
			}
		}
	}
	return nil
}

// asked returns the measured points that a question is about, and fills in what it leaves open.
func (s *Sweep) asked(q *SweepQuestion) ([]*SweepPoint, error) {
	for key := range q.Where {
		i := slices.IndexFunc(s.Params, func(p SweepParam) bool { return p.Key == key })
		if i < 0 || slices.Contains([]string{"clients", "locks", "hold", "rate"}, key) {
			return nil, fmt.Errorf("%w: %s was not varied", ErrQuestion, key)
		}
		if !slices.Contains(s.Params[i].Values, q.Where[key]) {
			return nil, fmt.Errorf("%w: %s was %s, never %s", ErrQuestion, key, strings.Join(s.Params[i].Values, ", "), q.Where[key])
		}
	}
	var all []*SweepPoint
	others := map[string]map[string]bool{} // what is left open, and its values
	for i := range s.Series {
		for k := range s.Series[i].Points {
			p := &s.Series[i].Points[k]
			fits := p.AcquiredPerS != nil && p.setting.Modelled && p.Rate == nil
			for key, v := range q.Where {
				fits = fits && p.Values[key] == v
			}
			if !fits {
				continue
			}
			all = append(all, p)
			for key, v := range p.Values {
				if !slices.Contains(ofLoad, key) && key != "hold" {
					if others[key] == nil {
						others[key] = map[string]bool{}
					}
					others[key][v] = true
				}
			}
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no such point was measured that the models are for (a closed loop, locks that are all alike, no faults)", ErrQuestion)
	}
	for _, key := range slices.Sorted(maps.Keys(others)) {
		if len(others[key]) > 1 {
			return nil, fmt.Errorf("%w before it knows which %s is meant: --where %s=%s", ErrQuestion, key, key, strings.Join(slices.Sorted(maps.Keys(others[key])), "|"))
		}
	}
	first := all[0].setting
	for _, f := range []struct {
		noun string
		into *int
		of   func(*SweepPoint) int
	}{{"clients", &q.Clients, func(p *SweepPoint) int { return p.Clients }}, {"locks", &q.Locks, func(p *SweepPoint) int { return p.Locks }}} {
		if *f.into != 0 {
			continue
		}
		if *f.into = f.of(all[0]); slices.ContainsFunc(all, func(p *SweepPoint) bool { return f.of(p) != *f.into }) {
			return nil, fmt.Errorf("%w before it knows how many %s: --%s", ErrQuestion, f.noun, f.noun)
		}
	}
	if q.Hold == 0 {
		if q.Hold = first.Hold; slices.ContainsFunc(all, func(p *SweepPoint) bool { return p.setting.Hold != q.Hold }) {
			return nil, fmt.Errorf("%w before it knows how long locks are held: --hold", ErrQuestion)
		}
	}
	return all, nil
}

// distance is how far a measured point is from what is asked, in doublings.
func (q SweepQuestion) distance(p *SweepPoint) float64 {
	ratio := func(a, b float64) float64 {
		if a == b {
			return 0
		}
		return math.Abs(math.Log2((a + 1e-9) / (b + 1e-9)))
	}
	return ratio(float64(q.Clients), float64(p.Clients)) + ratio(float64(q.Locks), float64(p.Locks)) + ratio(q.Hold.Seconds(), p.setting.Hold.Seconds())
}

// answer takes the model, and corrects it by what it is off by at the nearest measured point.
func (q SweepQuestion) answer(m *SweepModel, nearest *SweepPoint, law *SweepUSL) SweepAnswer {
	if q.Clients != nearest.Clients || q.Hold != nearest.setting.Hold || q.Rate > 0 {
		law = nil // it is of that load
	}
	l := m.lock
	a := SweepAnswer{SchemaVersion: 1, Clients: q.Clients, Locks: q.Locks, HoldNs: int64(q.Hold), Model: m, Notes: []string{}}
	near := l
	near.Locks = nearest.Locks
	near.Hold += nearest.setting.Hold.Seconds() - q.Hold.Seconds()
	said, _ := law.limit(near.Throughput(nearest.Clients), nearest.Locks)
	correction := *nearest.AcquiredPerS / said
	a.Nearest = fmt.Sprintf("%s, %s, hold %s: %s a second measured, where the model says %s", counted(nearest.Clients, "client"), counted(nearest.Locks, "lock"),
		nearest.setting.Hold, digits3(*nearest.AcquiredPerS), digits3(said))
	if nearest.Cause != "" {
		a.Notes = append(a.Notes, "at the nearest point: "+nearest.Cause)
	}
	corrected := func(x float64) float64 { return x * correction }
	if q.Locks != nearest.Locks && nearest.Locks > 1 && correction < 1-gapLimit {
		// Then it is not the locks that were full, but what they share, and that is what it is.
		corrected = func(x float64) float64 { return min(x, *nearest.AcquiredPerS) }
		a.Notes = append(a.Notes, "with more locks than were measured, what they share stays the limit")
		if q.Locks < nearest.Locks {
			a.Notes[len(a.Notes)-1] = "with fewer locks, what they share is no more than it was"
		}
	}
	most := min(corrected(l.Most(1<<20)), l.Most(1<<20))
	set := func(mean, p99 float64) {
		for _, f := range []struct {
			into **int64
			v    float64
		}{{&a.AcquireMeanNs, mean}, {&a.AcquireP99Ns, p99}} {
			if !math.IsInf(f.v, 0) && !math.IsNaN(f.v) {
				ns := nanos(f.v)
				*f.into = &ns
			}
		}
	}
	if q.Rate > 0 {
		rate := q.Rate
		a.Rate = &rate
		a.ModelPerS = min(rate, l.Most(1<<20))
		a.AcquiredPerS = min(rate, most)
		a.Utilization = min(rate/most, 1)
		// Slower by as much as the model is too fast.
		slower := 1 / min(correction, 1)
		l.Hold, l.Handoff, l.Gate, l.GateSpread = l.Hold*slower, l.Handoff*slower, l.Gate*slower, l.GateSpread*slower
		set(l.Arriving(rate), l.Enqueue+l.WaitQuantile(rate, 0.99))
		if rate >= most {
			a.Notes = append(a.Notes, fmt.Sprintf("more arrive than the %s a second that the locks can take: the queue grows for ever", digits3(most)))
		}
		return a
	}
	var byLaw bool
	if a.ModelPerS, byLaw = law.limit(l.Throughput(q.Clients), q.Locks); byLaw {
		a.Notes = append(a.Notes, "what the locks share is the limit, by the scalability law fitted to the sweep")
	}
	a.AcquiredPerS = corrected(a.ModelPerS)
	a.Utilization = min(a.AcquiredPerS/l.Most(1<<20), 1)
	mean := max(float64(q.Clients)/a.AcquiredPerS-l.Hold-l.Release-l.Think, 0)
	tail := math.NaN()
	if nearest.AcquireP99Ns != nil && nearest.AcquireMeanNs != nil && *nearest.AcquireMeanNs > 0 {
		tail = mean * float64(*nearest.AcquireP99Ns) / float64(*nearest.AcquireMeanNs)
		a.Notes = append(a.Notes, "p99 is the mean times what it was at the nearest point")
	}
	set(mean, tail)
	return a
}

// PrintSweepAnswer writes the answer for a person.
func PrintSweepAnswer(w io.Writer, a SweepAnswer) error {
	time := func(ns *int64) string {
		if ns == nil {
			return absent
		}
		return duration(*ns)
	}
	load := fmt.Sprintf("%d clients that ask again at once", a.Clients)
	if a.Rate != nil {
		load = digits3(*a.Rate) + " arrivals a second"
	}
	_, err := fmt.Fprintf(w, "%s, %s, held for %s each:\n  %s acquisitions a second (the locks are taken %.0f %% of the time)\n  time to get a lock: mean %s, p99 %s\nmodel: hold %s + hand-off %s (%s): %s a second\nnearest: %s\n",
		load, counted(a.Locks, "lock"), duration(a.HoldNs), digits3(a.AcquiredPerS), 100*a.Utilization, time(a.AcquireMeanNs), time(a.AcquireP99Ns),
		duration(a.Model.HoldNs), duration(a.Model.HandoffNs), a.Model.From, digits3(a.ModelPerS), a.Nearest)
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
