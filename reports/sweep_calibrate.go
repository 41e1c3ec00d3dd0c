package reports

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
)

// What models are calibrated on.
const (
	calibrationClients = 8  // of a lock, at most
	calibrationCount   = 20 // hand-offs, grants or rounds, at least
	calibrationSizes   = 3  // different numbers of readers in rounds, at least
	// expTail is how many means of an exponential time lie between its mean and its p99.
	expTail = 3.605
)

// ofLoad are the keys by which the same locks are loaded more or less: points that differ in nothing else have
// one hand-off.
var ofLoad = []string{"clients", "rate", "locks", "think", "client-processes", "max-in-flight"}

// alike reports whether two points have the same locks, whatever their load.
func alike(a, b *SweepPoint) bool {
	strip := func(p *SweepPoint) map[string]string {
		values := maps.Clone(p.Values)
		for _, key := range ofLoad {
			delete(values, key)
		}
		if p.setting.Together == 1 {
			delete(values, "hold") // which adds to the hand-off, and does not change it
		}
		return values
	}
	return maps.Equal(strip(a), strip(b))
}

// calibrate makes the model of a point from the points of the same locks at which there was little
// load; nil if there is none.
func calibrate(all []*SweepPoint, p *SweepPoint) *SweepModel {
	from := calibration(all, p)
	if len(from) == 0 {
		return nil
	}
	l := averaged(from, p.setting)
	m := &SweepModel{From: "hand-off measured at " + clientsOf(from)}
	switch {
	case p.setting.ReadShare > 0:
		if r, ok := fitRounds(from); ok {
			l.Handoff, l.Reader, l.Spread = r.handoff, r.reader, math.Sqrt(p.setting.HoldVariance)
			m.From = fmt.Sprintf("by the rounds of 1 to %d readers measured at %s", r.most, clientsOf(from))
		}
	case p.setting.Together > 1 && p.Rate == nil:
		if g, ok := grantSpacing(from); ok {
			l.Gate, l.GateSpread, l.Use = g.mean/1e9, g.sd/1e9, g.use/1e9
			m.From += fmt.Sprintf("; permits one by one, each %s after the one before (standard deviation %s), measured at %s", duration(int64(g.mean)), duration(int64(g.sd)), clientsOf(g.at))
		}
	}
	m.HoldNs, m.HandoffNs, m.ReaderNs, m.GateNs, m.ServiceNs, m.AwayNs = nanos(l.Hold), nanos(l.Handoff), nanos(l.Reader), nanos(l.Gate), nanos(l.Service()), nanos(l.Away())
	most := l.Most(1 << 20)
	m.MostPerS = &most
	if p.Rate == nil {
		knee := l.Knee()
		m.KneeClients = &knee
	}
	m.lock = l
	p.Predicted = &SweepPrediction{Calibrated: slices.Contains(from, p)}
	return m
}

// calibration returns the points that the model of p goes by: of the same locks, as few of them as there
// are, with 2 to 8 clients each, or at the lower half of the rates.
func calibration(all []*SweepPoint, p *SweepPoint) []*SweepPoint {
	var from []*SweepPoint
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
	from = slices.DeleteFunc(from, func(c *SweepPoint) bool { return c.Locks > fewest })
	if p.Rate != nil {
		slices.SortFunc(from, func(a, b *SweepPoint) int { return cmp.Compare(*a.Rate, *b.Rate) })
		from = from[:(len(from)+1)/2]
	}
	return from
}

// calibrates reports whether the point has all that a model goes by.
func (p *SweepPoint) calibrates() bool {
	return p.setting.Modelled && p.AcquiredPerS != nil && p.HoldMeanNs != nil && p.HandoffMeanNs != nil && p.ReleaseMeanNs != nil && p.EnqueueMeanNs != nil &&
		p.HandoffCount >= calibrationCount
}

// averaged makes a lock of a setting out of what was measured at some points, each as heavy as it has
// hand-offs.
func averaged(from []*SweepPoint, setting SweepSetting) capacity.Lock {
	var n, handoff, tail, over float64
	for _, c := range from {
		w := float64(c.HandoffCount)
		n += w
		handoff += w * float64(*c.HandoffMeanNs) / 1e9
		over += w * (float64(*c.HoldMeanNs) - float64(c.setting.Hold)) / 1e9
		if c.HandoffP99Ns != nil {
			tail += w * float64(*c.HandoffP99Ns-*c.HandoffMeanNs) / 1e9
		}
	}
	// What a client does alone is from where there were fewest: in company it waits for processors too.
	alone := slices.MinFunc(from, func(a, b *SweepPoint) int { return a.Clients - b.Clients })
	l := capacity.Lock{Hold: setting.Hold.Seconds() + max(over/n, 0), Handoff: handoff / n, Enqueue: float64(*alone.EnqueueMeanNs) / 1e9, Release: float64(*alone.ReleaseMeanNs) / 1e9,
		Think: setting.Think.Seconds(), Permits: setting.Together, ReadShare: setting.ReadShare, Locks: setting.Locks}
	handoffs := min(max(tail/n/expTail, 0), l.Handoff)
	variance := handoffs*handoffs + setting.HoldVariance
	l.Spread = min(math.Sqrt(variance), l.Service())
	l.Variation = variance / math.Pow(l.Service(), 2)
	return l
}

// roundTimes are what rounds of readers take besides holds.
type roundTimes struct {
	handoff float64 // to readers and from them, each, in seconds
	reader  float64 // more for each further reader
	most    int     // readers that a round had
}

// fitRounds draws a line through the rounds that were measured, each size as heavy as it was frequent: what a
// round lasts longer than its hold is two hand-offs, and so much more for each further reader. Who holds longest
// of several whose holds vary is in the model already, and so is taken off. What the ensemble's limit is among many
// clients shows among few: a round of six readers has the same requests in it whoever else waits.
func fitRounds(from []*SweepPoint) (roundTimes, bool) {
	var further, besides, counts []float64
	var total int64
	sizes := map[int]bool{}
	r := roundTimes{}
	for _, c := range from {
		hold, spread := float64(*c.HoldMeanNs), 1e9*math.Sqrt(c.setting.HoldVariance)
		for _, round := range c.rounds {
			if round.Readers == 0 || round.MeanNs == nil {
				continue
			}
			longest := 0.0
			for k := range round.Readers {
				longest += 1 / float64(k+1)
			}
			further = append(further, float64(round.Readers-1))
			besides = append(besides, (float64(*round.MeanNs)-hold-spread*(longest-1))/1e9)
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
	if slope < 0 { // noise: company never helps
		first, slope = stat.Mean(besides, counts), 0
	}
	r.handoff, r.reader = first/2, slope
	return r, first > 0
}

// A gate is how permits were given out where most clients asked for them: how long after each other, and
// for how long each was in use, in ns.
type gate struct {
	at            []*SweepPoint // where that was measured
	mean, sd, use float64
}

// grantSpacing returns false if too few were seen. With fewer clients the queue's head shares servers and processors
// with fewer others, and is faster than it ever is among many.
func grantSpacing(from []*SweepPoint) (gate, bool) {
	perLock := func(p *SweepPoint) float64 { return float64(p.Clients) / float64(p.Locks) }
	var most float64
	for _, c := range from {
		most = max(most, perLock(c))
	}
	var g gate
	g.at = slices.DeleteFunc(slices.Clone(from), func(c *SweepPoint) bool { return perLock(c) < most })
	var n float64
	for _, c := range g.at {
		if c.GrantSpacingNs == nil {
			continue
		}
		w := float64(c.grants)
		n += w
		g.mean += w * float64(*c.GrantSpacingNs)
		g.use += w * float64(*c.HoldMeanNs+*c.ReleaseMeanNs)
		if c.GrantSpacingSDNs != nil { // results of old have none
			g.sd += w * float64(*c.GrantSpacingSDNs)
		}
	}
	if n < calibrationCount {
		return gate{}, false
	}
	g.mean, g.sd, g.use = g.mean/n, g.sd/n, g.use/n
	return g, true
}

// clientsOf says at how many clients, or arrivals a second, points were measured.
func clientsOf(from []*SweepPoint) string {
	var at []string
	noun := "clients"
	for _, c := range from {
		text := strconv.Itoa(c.Clients)
		switch {
		case c.Rate != nil:
			text, noun = digits3(*c.Rate), "a second"
		case c.Locks > 1:
			noun = fmt.Sprintf("clients of %d locks", c.Locks) // the same of all of them
		}
		if !slices.Contains(at, text) {
			at = append(at, text)
		}
	}
	return strings.Join(at, ", ") + " " + noun
}

func nanos(s float64) int64 { return int64(math.Round(s * 1e9)) }
