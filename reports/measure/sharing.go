package measure

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"locklab/harness/history"
)

// Sharing says how a lock that several clients can hold together is passed on in the measured window. Hand-offs alone
// do not say that, because clients that are let in together keep each other waiting.
type Sharing struct {
	// Rounds are those of a read/write lock, by how many readers they have.
	Rounds []Round `json:"rounds"`
	// Grants is the time from one grant of a semaphore to the next, if at the first the next client was queued and a
	// permit was free, so that the next client waited for the queue's own steps only. Stalls of the machine count, as
	// they do in hand-offs, because they are part of the rate at which permits are given out.
	Grants Spacing `json:"grants"`
}

// A Round is the readers between two writers that follow each other. It counts if all readers were queued when the
// first writer began to release, and the second writer when the last reader did. It lasts from the first writer's
// release invoked until the second's acquire returned.
type Round struct {
	Readers int `json:"readers"`
	Spacing
	// FarOut counts further rounds that are left out because the machine stalled. Since there are few rounds of a
	// size, the stall would look like the cost of that size.
	FarOut int64 `json:"far_out"`
}

// A Spacing is a mean time and its standard deviation.
type Spacing struct {
	Count  int64  `json:"count"`
	MeanNs *int64 `json:"mean_ns"`
	SDNs   *int64 `json:"sd_ns"`
}

// SharingOf returns nil if no lock could be shared. permits is how many a semaphore has; 0 = not known.
func SharingOf(locks [][]*history.Acquisition, w Interval, permits int) *Sharing {
	var spans []seenRound
	var grants []float64
	shared := false
	for _, held := range locks {
		switch mode := held[0].Mode; {
		case mode == history.ModePermit:
			shared = true
			grants = append(grants, spacings(held, w, int64(permits))...)
		case slices.ContainsFunc(held, func(a *history.Acquisition) bool { return a.Mode == history.ModeRead }):
			shared = true
			spans = append(spans, roundsOf(held, w)...)
		}
	}
	if !shared {
		return nil
	}
	return &Sharing{Rounds: bySize(spans), Grants: spacing(grants)}
}

// A seenRound is one round of readers.
type seenRound struct {
	readers int
	ns      float64
}

// roundsOf returns the rounds of a lock that began in the window.
func roundsOf(held []*history.Acquisition, w Interval) []seenRound {
	var all []seenRound
	var writer *history.Acquisition
	var readers []*history.Acquisition
	for _, a := range held {
		if a.Mode == history.ModeRead {
			readers = append(readers, a)
			continue
		}
		if writer != nil && w.Contains(writer.ReleaseInvoked) && inTurn(writer, readers, a) {
			all = append(all, seenRound{len(readers), float64(a.Returned - writer.ReleaseInvoked)})
		}
		writer, readers = a, nil
	}
	return all
}

// inTurn reports whether the clients of a round waited for the holds before them only.
func inTurn(writer *history.Acquisition, readers []*history.Acquisition, next *history.Acquisition) bool {
	by := func(a *history.Acquisition, t int64) bool { return a.Queued != history.None && a.Queued <= t }
	free := writer.ReleaseInvoked
	for _, r := range readers {
		if !by(r, writer.ReleaseInvoked) || r.ReleaseInvoked == history.None || r.ReleaseOutcome != history.OK {
			return false
		}
		free = max(free, r.ReleaseInvoked)
	}
	return by(next, free) && writer.ReleaseOutcome == history.OK && free <= next.Returned
}

// bySize summarizes rounds by their number of readers. A round is far out by its time relative to the median of its
// size, so that large rounds do not look slow.
func bySize(spans []seenRound) []Round {
	sizes := map[int][]float64{}
	for _, s := range spans {
		sizes[s.readers] = append(sizes[s.readers], s.ns)
	}
	middle := map[int]float64{}
	for n, ns := range sizes {
		slices.Sort(ns)
		middle[n] = stat.Quantile(0.5, stat.Empirical, ns, nil)
	}
	var relative []float64
	for _, s := range spans {
		relative = append(relative, s.ns/middle[s.readers])
	}
	limit := beyond(relative)
	rounds := []Round{}
	for n, ns := range sizes {
		near := slices.DeleteFunc(slices.Clone(ns), func(v float64) bool { return v > limit*middle[n] })
		rounds = append(rounds, Round{n, spacing(near), int64(len(ns) - len(near))})
	}
	slices.SortFunc(rounds, func(a, b Round) int { return cmp.Compare(a.Readers, b.Readers) })
	return rounds
}

// spacings returns the times between grants of a semaphore, from grants in the window, if the next client waited for
// the queue's own steps only. A permit counts as in use from its grant until its release has returned, so a permit
// that is free here was free at the servers.
func spacings(held []*history.Acquisition, w Interval, permits int64) []float64 {
	var all []float64
	var inUse []*history.Acquisition
	for i, a := range held[:len(held)-1] {
		inUse = slices.DeleteFunc(append(inUse, a), func(b *history.Acquisition) bool {
			return b.ReleaseOutcome == history.OK && b.ReleaseReturned != history.None && b.ReleaseReturned <= a.Returned
		})
		used := int64(0)
		for _, b := range inUse {
			used += b.Permits
		}
		next := held[i+1]
		if w.Contains(a.Returned) && next.Queued != history.None && next.Queued <= a.Returned &&
			used+next.Permits <= permits {
			all = append(all, float64(next.Returned-a.Returned))
		}
	}
	return all
}

func spacing(ns []float64) Spacing {
	s := Spacing{Count: int64(len(ns))}
	if len(ns) > 0 {
		mean, variance := stat.PopMeanVariance(ns, nil)
		s.MeanNs, s.SDNs = new(int64(math.Round(mean))), new(int64(math.Round(math.Sqrt(variance))))
	}
	return s
}

// beyond returns the limit above which values are far out: the upper quartile and three times the distance between
// the quartiles (Tukey, Exploratory Data Analysis, 1977).
func beyond(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	lower, upper := stat.Quantile(0.25, stat.Empirical, sorted, nil), stat.Quantile(0.75, stat.Empirical, sorted, nil)
	return upper + 3*(upper-lower)
}
