package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"locklab/reports/capacity"
	"locklab/reports/words"
)

// The bounds of the measurements that models are calibrated on.
const (
	calibrationClients = 8  // per lock, at most
	calibrationCount   = 20 // hand-offs, grants or rounds, at least
	calibrationSizes   = 3  // different numbers of readers per round, at least
	// expTail is the p99 of an exponential time less its mean, in means.
	expTail = 3.605
)

// ofLoad are the keys that only change how much the same locks are loaded. Points that differ in nothing else have
// the same hand-off.
var ofLoad = []string{"clients", "rate", "locks", "think", "client-processes", "max-in-flight"}

// alike reports whether two points have the same locks, whatever their load.
func alike(a, b *Point) bool {
	strip := func(p *Point) map[string]string {
		values := maps.Clone(p.Values)
		for _, key := range ofLoad {
			delete(values, key)
		}
		if p.setting.Together == 1 {
			delete(values, "hold") // it does not change the hand-off
		}
		return values
	}
	return maps.Equal(strip(a), strip(b))
}

// calibrate makes the model of a point from the points with the same locks and little load; nil if there are none.
func calibrate(all []*Point, p *Point) *Model {
	from := calibration(all, p)
	if len(from) == 0 {
		return nil
	}
	l := averaged(from, p.setting)
	m := &Model{From: "hand-off measured at " + clientsOf(from)}
	switch {
	case p.setting.ReadShare > 0:
		if r, ok := fitRounds(from); ok {
			l.Handoff, l.Reader, l.Spread = r.handoff, r.reader, math.Sqrt(p.setting.HoldVariance)
			m.From = fmt.Sprintf("by the rounds of 1 to %d readers measured at %s", r.most, clientsOf(from))
		}
	case p.setting.Together > 1 && p.Rate == nil:
		if g, ok := grantSpacing(from); ok {
			l.Gate, l.GateSpread, l.Use = g.mean, g.sd, g.use
			m.From += fmt.Sprintf("; permits one by one, each %s after the one before (standard deviation %s), measured at "+
				"%s", words.Duration(nanos(g.mean)), words.Duration(nanos(g.sd)), clientsOf(g.at))
		}
	}
	m.HoldNs, m.HandoffNs, m.ReaderNs, m.GateNs, m.ServiceNs, m.AwayNs = nanos(l.Hold), nanos(l.Handoff),
		nanos(l.Reader), nanos(l.Gate), nanos(l.Service()), nanos(l.Away())
	m.MostPerS = new(l.Capacity())
	if p.Rate == nil {
		m.KneeClients = new(l.Knee())
	}
	m.lock = l
	p.Predicted = &Prediction{Calibrated: slices.Contains(from, p)}
	return m
}

// calibration returns the points that the model of p is calibrated on: those with the same locks, as few locks as
// there are, and 2 to 8 clients per lock, or the lower half of the rates.
func calibration(all []*Point, p *Point) []*Point {
	var from []*Point
	fewest := math.MaxInt
	for _, c := range all {
		if !c.calibrates() || !p.setting.Modelled || !alike(c, p) || (c.Rate != nil) != (p.Rate != nil) {
			continue
		}
		perLock := float64(c.Clients) / float64(c.Locks)
		if c.Rate == nil && (perLock < 2 || perLock > calibrationClients) {
			continue
		}
		fewest = min(fewest, c.Locks)
		from = append(from, c)
	}
	from = slices.DeleteFunc(from, func(c *Point) bool { return c.Locks > fewest })
	if p.Rate != nil {
		slices.SortFunc(from, func(a, b *Point) int { return cmp.Compare(*a.Rate, *b.Rate) })
		from = from[:(len(from)+1)/2]
	}
	return from
}

// calibrates reports whether the point has all that a model needs.
func (p *Point) calibrates() bool {
	for _, name := range []string{"acquired_per_s", "hold.mean", "handoff.mean", "release.mean", "enqueue.mean"} {
		if p.median(name) == nil {
			return false
		}
	}
	return p.setting.Modelled && p.handoffs >= calibrationCount
}

// averaged makes the model of a lock in a setting from what was measured at some points, weighted by their hand-offs.
func averaged(from []*Point, setting Setting) capacity.Lock {
	var n, handoff, tail, over float64
	for _, c := range from {
		w := float64(c.handoffs)
		n += w
		handoff += w * c.seconds("handoff.mean")
		over += w * (c.seconds("hold.mean") - c.setting.Hold.Seconds())
		if c.median("handoff.p99") != nil {
			tail += w * (c.seconds("handoff.p99") - c.seconds("handoff.mean"))
		}
	}
	// What a client does alone is taken from where there were fewest clients: with others it also waits for
	// processors.
	alone := slices.MinFunc(from, func(a, b *Point) int { return a.Clients - b.Clients })
	l := capacity.Lock{Hold: setting.Hold.Seconds() + max(over/n, 0), Handoff: handoff / n,
		Enqueue: alone.seconds("enqueue.mean"), Release: alone.seconds("release.mean"),
		Think: setting.Think.Seconds(), Permits: setting.Together, ReadShare: setting.ReadShare, Locks: setting.Locks}
	handoffs := min(max(tail/n/expTail, 0), l.Handoff)
	variance := handoffs*handoffs + setting.HoldVariance
	l.Spread = min(math.Sqrt(variance), l.Service())
	l.Variation = variance / math.Pow(l.Service(), 2)
	return l
}

// roundTimes is how much longer than their holds rounds of readers take.
type roundTimes struct {
	handoff float64 // to readers and from them, each, in seconds
	reader  float64 // for each further reader
	most    int     // readers in a round
}

// fitRounds fits a line to the rounds that were measured, weighted by how many there were of each size. A round lasts
// longer than its hold by two hand-offs, and by some more for each further reader. The model already knows that the
// longest of several holds that vary counts, so that is subtracted. Rounds of few clients show the ensemble's limit
// among many, because a round of six readers makes the same requests however many other clients wait.
func fitRounds(from []*Point) (roundTimes, bool) {
	var further, besides, counts []float64
	var total int64
	sizes := map[int]bool{}
	r := roundTimes{}
	for _, c := range from {
		hold, spread := c.seconds("hold.mean"), math.Sqrt(c.setting.HoldVariance)
		for _, round := range c.rounds {
			if round.Readers == 0 || round.MeanNs == nil {
				continue
			}
			longest := 0.0 // the mean of the longest of round.Readers exponential times, in means
			for k := range round.Readers {
				longest += 1 / float64(k+1)
			}
			further = append(further, float64(round.Readers-1))
			besides = append(besides, float64(*round.MeanNs)/1e9-hold-spread*(longest-1))
			counts = append(counts, float64(round.Count))
			total += round.Count
			sizes[round.Readers] = true
			r.most = max(r.most, round.Readers)
		}
	}
	if total < calibrationCount || len(sizes) < calibrationSizes {
		return r, false
	}
	first, slope := stat.LinearRegression(further, besides, counts, false)
	if slope < 0 { // this is noise: further readers never make a round shorter
		first, slope = stat.Mean(besides, counts), 0
	}
	r.handoff, r.reader = first/2, slope
	return r, first > 0
}

// A gate describes how permits were given out at the points with the most clients: the time between two permits, and
// the time for which each was in use, in seconds.
type gate struct {
	at            []*Point // where this was measured
	mean, sd, use float64
}

// grantSpacing returns the gate by the points with the most clients; false if too few grants were seen. With fewer
// clients the head of the queue shares servers and processors with fewer others, so it is faster than among many.
func grantSpacing(from []*Point) (gate, bool) {
	perLock := func(p *Point) float64 { return float64(p.Clients) / float64(p.Locks) }
	var most float64
	for _, c := range from {
		most = max(most, perLock(c))
	}
	var g gate
	g.at = slices.DeleteFunc(slices.Clone(from), func(c *Point) bool { return perLock(c) < most })
	var n float64
	for _, c := range g.at {
		if c.median("sharing.grants.mean") == nil {
			continue
		}
		w := float64(c.grants)
		n += w
		g.mean += w * c.seconds("sharing.grants.mean")
		g.use += w * (c.seconds("hold.mean") + c.seconds("release.mean"))
		g.sd += w * c.seconds("sharing.grants.sd") // old results have none
	}
	if n < calibrationCount {
		return gate{}, false
	}
	g.mean, g.sd, g.use = g.mean/n, g.sd/n, g.use/n
	return g, true
}

// clientsOf says at how many clients, or arrivals a second, points were measured.
func clientsOf(from []*Point) string {
	var at []string
	noun := "clients"
	for _, c := range from {
		text := strconv.Itoa(c.Clients)
		switch {
		case c.Rate != nil:
			text, noun = words.Digits3(*c.Rate), "a second"
		case c.Locks > 1:
			noun = fmt.Sprintf("clients of %d locks", c.Locks) // all points have the same number of locks
		}
		if !slices.Contains(at, text) {
			at = append(at, text)
		}
	}
	return strings.Join(at, ", ") + " " + noun
}

func nanos(s float64) int64 { return int64(math.Round(s * 1e9)) }

// finite returns a time in ns; nil if it has no limit.
func finite(s float64) *int64 {
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return nil
	}
	return new(nanos(s))
}
