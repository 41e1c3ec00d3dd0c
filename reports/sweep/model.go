package sweep

import (
	"fmt"
	"math"

	"locklab/reports/capacity"
	"locklab/reports/words"
)

// A Model is the model of a series: its parameters, and what follows from them.
type Model struct {
	HoldNs    int64 `json:"hold_ns"`
	HandoffNs int64 `json:"handoff_ns"`
	// ReaderNs is by how much each further reader makes a round of readers longer.
	ReaderNs int64 `json:"reader_ns"`
	// GateNs is the time that it takes to give out one permit after another; 0 if they are not given out one by one.
	GateNs int64 `json:"gate_ns"`
	// ServiceNs is hold and hand-off: the time for which an acquisition keeps a lock from the next.
	ServiceNs int64 `json:"service_ns"`
	AwayNs    int64 `json:"away_ns"` // a client's time between holding and queueing again
	// From says where the hand-off was measured.
	From string `json:"from"`
	// MostPerS is the model's highest throughput, and KneeClients the number of clients that reach it; null in an
	// open loop.
	MostPerS    *float64 `json:"most_per_s"`
	KneeClients *float64 `json:"knee_clients"`

	lock capacity.Lock // at the first point

	_ struct{}
}

// A Prediction is what the model says about a point.
type Prediction struct {
	AcquiredPerS  float64 `json:"acquired_per_s"`
	AcquireMeanNs *int64  `json:"acquire_mean_ns"` // null if it has no limit
	// Calibrated says that the model was calibrated on this point.
	Calibrated bool `json:"calibrated"`
	// ByLaw says that by the scalability law, what the locks share is the limit, and not the locks.
	ByLaw bool `json:"by_scalability_law"`
}

// A USL is the scalability law fitted to a series of locks.
type USL struct {
	capacity.Fit
	PeakLocks *float64 `json:"peak_locks"` // null if it is too far from the measured loads
	Note      string   `json:"note"`

	_ struct{}
}

// gapLimit is the largest gap that needs no explanation.
const gapLimit = 0.25

// model adds models and their predictions to every series.
func (s *Sweep) model() {
	var all []*Point
	for _, p := range s.points() {
		all = append(all, p)
	}
	for i := range s.Series {
		s.Series[i].fit(s.Load)
	}
	for series, p := range s.points() {
		m := calibrate(all, p)
		if m == nil {
			continue
		}
		p.predict(m, series.USL)
		if series.Model == nil {
			series.Model = m
		}
	}
}

// limit returns the law's throughput of a number of locks if the law answers for that number and its throughput is
// less than x, which counts the locks alone and not what they share; else x.
func (u *USL) limit(x float64, locks int) (most float64, limits bool) {
	if u == nil || locks <= 1 || capacity.Within(float64(locks), u.From, u.To) != nil {
		return x, false
	}
	y := u.At(float64(locks))
	return min(x, y), y < x
}

// predict adds the model's prediction for a point, and its distance from the measurement. law may be nil.
func (p *Point) predict(m *Model, law *USL) {
	l := m.lock
	pr := p.Predicted
	if p.Rate == nil {
		if pr.AcquiredPerS, pr.ByLaw = law.limit(l.Throughput(p.Clients), p.Locks); pr.ByLaw {
			pr.Calibrated = true // the law was fitted to this point too
		}
		pr.AcquireMeanNs = finite(l.AcquireAt(p.Clients, pr.AcquiredPerS))
	} else {
		pr.AcquiredPerS = min(*p.Rate, l.Most(p.Clients))
		pr.AcquireMeanNs = finite(l.Arriving(*p.Rate))
	}
	if p.AcquiredPerS == nil {
		return
	}
	busy := min(*p.AcquiredPerS/l.Capacity(), 1)
	p.Utilization = &busy
	gap := *p.AcquiredPerS/pr.AcquiredPerS - 1
	if p.Rate != nil {
		measured := p.median("acquire.mean")
		if pr.AcquireMeanNs == nil || measured == nil || *pr.AcquireMeanNs == 0 {
			return
		}
		gap = *measured/float64(*pr.AcquireMeanNs) - 1
	}
	p.Gap = &gap
	if math.Abs(gap) > gapLimit {
		p.Cause = p.cause(m, gap)
	}
}

// cause says why the model is likely to be wrong at a point: which of its assumptions does not hold.
func (p *Point) cause(m *Model, gap float64) string {
	better := gap > 0
	if p.Rate != nil {
		better = gap < 0
	}
	handoff, hold, watches := p.Medians["handoff.mean"], p.Medians["hold.mean"],
		p.Medians["server.watches_fired_per_release"]
	grew := func(now float64, was int64) bool { return now > float64(was)*(1+gapLimit) }
	switch {
	case better && p.Rate == nil && p.Clients <= calibrationClients:
		return "with few clients the queue is often empty, and a free lock costs less than a hand-off"
	case better:
		return "better than predicted: hand-offs were slower where the model was calibrated, as on a machine that was " +
			"busy then; run it again, with --repeat"
	case p.Medians["dropped_per_s"] > 0:
		return fmt.Sprintf("%s a second were dropped, because no client was free", words.Digits3(p.Medians["dropped_per_s"]))
	case watches > 8:
		return fmt.Sprintf("a herd effect: each release fires %s watches", words.Digits3(watches))
	case p.Locks > 1 && p.Rate == nil:
		return "the limit is not the locks but the servers and processors that they share" + p.pressed()
	case p.setting.Together == 1 && grew(handoff, m.HandoffNs):
		return fmt.Sprintf("the hand-off takes %s, and took %s where the model was calibrated%s",
			words.Duration(int64(handoff)), words.Duration(m.HandoffNs), p.pressed())
	case grew(hold, m.HoldNs):
		return fmt.Sprintf("holds take %s instead of %s: clients come late to release%s", words.Duration(int64(hold)),
			words.Duration(m.HoldNs), p.pressed())
	case p.setting.Together > 1:
		return "permits are given out one after the other, behind a mutex, and that takes longer with more clients" +
			p.pressed()
	case p.Clients <= 2:
		return "with so few clients there are few hand-offs: most clients find the lock free"
	}
	return "not in the model" + p.pressed()
}

// pressed adds that the machine was short of processor time, if its sleeps show it.
func (p *Point) pressed() string { return pressed(p.Medians) }

func pressed(medians map[string]float64) string {
	if late := medians["hiccups.p99"]; late > 2e6 {
		return fmt.Sprintf(" (sleeps came late by %s at p99, so processors are busy)", words.Duration(int64(late)))
	}
	return ""
}

// fit fits the scalability law to a series of locks.
func (s *Series) fit(load string) {
	if load != "locks" {
		return
	}
	var points []capacity.Point
	for _, p := range s.Points {
		if p.AcquiredPerS != nil && p.Rate == nil {
			points = append(points, capacity.Point{Load: float64(p.Locks), Throughput: *p.AcquiredPerS})
		}
	}
	f, err := capacity.FitUSL(points)
	if err != nil {
		return // there is still the model of each point
	}
	s.USL = &USL{Fit: f}
	if peak, ok := f.Peak(); ok {
		s.USL.PeakLocks = &peak
	}
	switch {
	case !f.Trusted():
		s.USL.Note = fmt.Sprintf("%d points are few to fit a law of three parameters", len(points))
	case !f.Turns:
		s.USL.Note = "throughput was not seen to turn down: a law without a highest point fits as well"
	}
}
