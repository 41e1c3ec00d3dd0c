package reports

import (
	"fmt"
	"math"
	"time"

	"locklab/reports/capacity"
)

// A SweepModel is what the model of a series goes by.
type SweepModel struct {
	HoldNs    int64 `json:"hold_ns"`
	HandoffNs int64 `json:"handoff_ns"`
	// ReaderNs is by how much each further reader makes a round of readers longer; 0 = it does not.
	ReaderNs int64 `json:"reader_ns"`
	GateNs   int64 `json:"gate_ns"` // in which permits are given out one by one; 0 = they are not
	// ServiceNs is hold and hand-off: for so long an acquisition takes a lock away from the next.
	ServiceNs int64 `json:"service_ns"`
	AwayNs    int64 `json:"away_ns"` // a client's time between holding and queueing again
	// From says where the hand-off is from.
	From string `json:"from"`
	// MostPerS is the model's highest throughput, and KneeClients the number of clients from which on there is no
	// more; null in an open loop.
	MostPerS    *float64 `json:"most_per_s"`
	KneeClients *float64 `json:"knee_clients"`

	lock capacity.Lock // of the first point

	_ struct{}
}

// A SweepPrediction is what the model says of a point.
type SweepPrediction struct {
	AcquiredPerS  float64 `json:"acquired_per_s"`
	AcquireMeanNs *int64  `json:"acquire_mean_ns"` // null where it has no end
	// Calibrated says that the model goes by this point itself.
	Calibrated bool `json:"calibrated"`
	// ByLaw says that what the locks share is the limit, by the scalability law, and not the locks.
	ByLaw bool `json:"by_scalability_law"`
}

// A SweepUSL is the scalability law fitted to a series of locks.
type SweepUSL struct {
	Lambda    float64   `json:"lambda"`
	Sigma     float64   `json:"sigma"`
	Kappa     float64   `json:"kappa"`
	R2        *float64  `json:"r2"` // null where throughput is always the same
	Residuals []float64 `json:"residuals"`
	From      float64   `json:"from"`
	To        float64   `json:"to"`
	PeakLocks *float64  `json:"peak_locks"` // null if it is too far from what was measured
	Note      string    `json:"note"`

	_ struct{}
}

// gapLimit is the gap that is called out.
const gapLimit = 0.25

// model adds what models say to every series.
func (s *Sweep) model() {
	var all []*SweepPoint
	for i := range s.Series {
		for k := range s.Series[i].Points {
			all = append(all, &s.Series[i].Points[k])
		}
	}
	for i := range s.Series {
		series := &s.Series[i]
		series.fit(s.Load)
		for k := range series.Points {
			p := &series.Points[k]
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
}

// limit returns the law's throughput of so many locks where it answers for them and it is less than x, which
// counts the locks alone and not what they share; else x.
func (u *SweepUSL) limit(x float64, locks int) (most float64, limits bool) {
	if u == nil || locks <= 1 || capacity.Within(float64(locks), u.From, u.To) != nil {
		return x, false
	}
	y := u.law().At(float64(locks))
	return min(x, y), y < x
}

// predict says what the model comes to at a point, and how far that is from what was measured. law may be nil.
func (p *SweepPoint) predict(m *SweepModel, law *SweepUSL) {
	l := m.lock
	pr := p.Predicted
	var mean float64
	if p.Rate == nil {
		pr.AcquiredPerS = l.Throughput(p.Clients)
		mean = l.Acquire(p.Clients)
		if pr.AcquiredPerS, pr.ByLaw = law.limit(pr.AcquiredPerS, p.Locks); pr.ByLaw {
			pr.Calibrated = true // the law was fitted to this point too
			mean = max(float64(p.Clients)/pr.AcquiredPerS-l.Hold-l.Release-l.Think, 0)
		}
	} else {
		pr.AcquiredPerS = min(*p.Rate, l.Most(p.Clients))
		mean = l.Arriving(*p.Rate)
	}
	if !math.IsInf(mean, 0) {
		ns := nanos(mean)
		pr.AcquireMeanNs = &ns
	}
	if p.AcquiredPerS == nil {
		return
	}
	busy := min(*p.AcquiredPerS/l.Most(1<<20), 1)
	p.Utilization = &busy
	gap := *p.AcquiredPerS/pr.AcquiredPerS - 1
	if p.Rate != nil {
		if pr.AcquireMeanNs == nil || p.AcquireMeanNs == nil || *pr.AcquireMeanNs == 0 {
			return
		}
		gap = float64(*p.AcquireMeanNs)/float64(*pr.AcquireMeanNs) - 1
	}
	p.Gap = &gap
	if math.Abs(gap) > gapLimit {
		p.Cause = p.cause(m, gap)
	}
}

// cause says why the model is likely to be wrong at a point: what it takes for given and is not so.
func (p *SweepPoint) cause(m *SweepModel, gap float64) string {
	better := gap > 0
	if p.Rate != nil {
		better = gap < 0
	}
	grew := func(now *int64, was int64) bool { return now != nil && float64(*now) > float64(was)*(1+gapLimit) }
	switch {
	case better && p.Rate == nil && p.Clients <= calibrationClients:
		return "with few clients the queue is often empty, and a lock that lies free costs less than a hand-off"
	case better:
		return "better than predicted: hand-offs were slower where the model was calibrated, as on a machine that was busy then; run it again, with --repeat"
	case p.DroppedPerS != nil && *p.DroppedPerS > 0:
		return fmt.Sprintf("%s a second were dropped, because no client was free", digits3(*p.DroppedPerS))
	case p.Watches != nil && *p.Watches > 8:
		return fmt.Sprintf("a herd: each release fires %s watches", digits3(*p.Watches))
	case p.Locks > 1 && p.Rate == nil:
		return "the locks are not the limit: the servers and processors that they share are" + p.pressed()
	case p.setting.Together == 1 && grew(p.HandoffMeanNs, m.HandoffNs):
		return fmt.Sprintf("the hand-off takes %s, and took %s where the model was calibrated%s", duration(*p.HandoffMeanNs), duration(m.HandoffNs), p.pressed())
	case grew(p.HoldMeanNs, m.HoldNs):
		return fmt.Sprintf("holds take %s instead of %s: clients come late to release%s", duration(*p.HoldMeanNs), duration(m.HoldNs), p.pressed())
	case p.setting.Together > 1:
		return "permits are given out one after the other, behind a mutex, and that takes longer with more clients" + p.pressed()
	case p.Clients <= 2:
		return "with so few clients there is little to hand off: what counts is a lock that lies free"
	}
	return "not in the model" + p.pressed()
}

// pressed adds that the machine was short of processor time, where its sleeps say so.
func (p *SweepPoint) pressed() string {
	if h := p.HiccupsP99Ns; h != nil && time.Duration(*h) > 2*time.Millisecond {
		return fmt.Sprintf(" (sleeps came late by %s at p99, so processors are short)", duration(*h))
	}
	return ""
}

// fit fits the scalability law to a series of locks.
func (s *SweepSeries) fit(load string) {
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
		return // the model of each point says what can be said
	}
	s.USL = &SweepUSL{Lambda: f.Lambda, Sigma: f.Sigma, Kappa: f.Kappa, R2: f.R2, Residuals: f.Residuals, From: f.From, To: f.To}
	if peak, ok := f.Peak(); ok {
		s.USL.PeakLocks = &peak
	}
	switch {
	case !f.Trusted():
		s.USL.Note = fmt.Sprintf("%d points are few for a law of three parameters", len(points))
	case !f.Turns:
		s.USL.Note = "that throughput turns down anywhere was not seen: a law without a highest point fits as well"
	}
}
