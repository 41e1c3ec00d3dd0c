package check

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// The limits of ordinary hand-offs.
const (
	// slowHandOff is how long an ordinary hand-off may take at least before it is slow: some hundred times what it
	// takes on an idle machine.
	slowHandOff = oneSecond
	// typical multiplies the run's own median, of which no more than typicalCap counts. So a run in which all
	// hand-offs are slow cannot excuse itself.
	typical    = 10
	typicalCap = oneSecond / 10
	// fewSlow is how many slow hand-offs, no two of them at once, prove something. One or two may be the machine's.
	fewSlow = 3
)

const oneSecond = int64(1e9)

// A handedOver is a lock's way from a holder that released it to a client that was waiting for it all the time.
type handedOver struct {
	// called is when the last holder called release, confirmed when that returned, and granted when the next acquire
	// returned.
	called, confirmed, granted int64
	to                         *history.Acquisition
}

// after is how long it took after the release was confirmed; 0 if the next client was told first.
func (h *handedOver) after() int64 { return max(0, h.granted-h.confirmed) }

// ordinary appends a lock's hand-offs of the measured window that nothing can have delayed: the lock was released with
// success, a client was waiting for it when that was called and until the next grant, no fault was in force, and
// neither a fault nor an acquisition that ended otherwise than cleanly can have left a znode behind that the servers
// had to expire.
func (l *livenessJudge) ordinary(found []handedOver, all, grants []*history.Acquisition) []handedOver {
	until := l.stop
	for _, t := range [...]int64{l.closed, l.drain} {
		if t != history.None {
			until = min(until, t)
		}
	}
	several := slices.ContainsFunc(all, func(a *history.Acquisition) bool { return l.several[a] })
	if l.measure == history.None || several {
		return found // a client that wants several locks may have this one before it says so
	}
	waits := newWaits(all, l)
	unclean := l.uncleanEnds(all)
	found = slices.Grow(found, len(grants))
	released, confirmed := int64(math.MinInt64), int64(math.MinInt64) // of all holds so far
	for _, a := range grants {
		h := handedOver{called: released, confirmed: confirmed, granted: a.Returned, to: a}
		if h.called >= l.measure && h.granted <= until && h.called < h.granted &&
			waits.throughout(h.called, h.granted) && !unclean.touches(h.called, h.granted) {
			found = append(found, h)
		}
		released = max(released, l.believedUntil(a))
		confirmed = max(confirmed, released) // of an unclean end, which rules out the hand-offs that follow
		if endedCleanly(a) {
			confirmed = max(confirmed, a.ReleaseReturned)
		}
	}
	return found
}

// endedCleanly reports whether the hold of a granted acquisition ended with a release that succeeded.
func endedCleanly(a *history.Acquisition) bool {
	return a.ReleaseReturned != history.None && a.ReleaseOutcome == history.OK && a.Lost == history.None &&
		a.Died == history.None
}

// waits finds out whether a lock was wanted throughout a time.
type waits []wait

// A wait began then. Until is the latest end of the waits that began by then.
type wait struct{ from, until int64 }

func newWaits(all []*history.Acquisition, l *livenessJudge) waits {
	list := make(waits, 0, len(all))
	for _, a := range all {
		from, until := l.waited(a)
		if a.Queued != history.None {
			from = max(from, a.Queued)
		}
		if until > from && a.Permits <= l.fewestPermits(a.Lock) {
			list = append(list, wait{from, until})
		}
	}
	slices.SortFunc(list, func(a, b wait) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(list); i++ {
		list[i].until = max(list[i].until, list[i-1].until)
	}
	return list
}

// throughout reports whether some client waited at both instants and in between.
func (w waits) throughout(from, until int64) bool {
	i, found := slices.BinarySearchFunc(w, from, func(x wait, from int64) int { return cmp.Compare(x.from, from) })
	for found && i+1 < len(w) && w[i+1].from == from {
		i++
	}
	if !found {
		i--
	}
	return i >= 0 && w[i].until >= until
}

// spells are times, in order of their beginning; none of them overlaps the next.
type spells []spell

// merged puts spells in order and joins those that overlap.
func merged(all []spell) spells {
	slices.SortFunc(all, func(a, b spell) int { return cmp.Compare(a.from, b.from) })
	var s spells
	for _, x := range all {
		if n := len(s); n > 0 && x.from <= s[n-1].until {
			s[n-1].until = max(s[n-1].until, x.until)
			continue
		}
		s = append(s, x)
	}
	return s
}

// within is how much of [from, until] they cover.
func (s spells) within(from, until int64) int64 {
	var sum int64
	for part := range s.cut(from, until) {
		sum += part.until - part.from
	}
	return sum
}

// cut yields the parts of [from, until) that they have.
func (s spells) cut(from, until int64) iter.Seq[spell] {
	return func(yield func(spell) bool) {
		i, _ := slices.BinarySearchFunc(s, from, func(x spell, from int64) int { return cmp.Compare(x.until, from) })
		for ; i < len(s) && s[i].from < until; i++ {
			part := spell{max(s[i].from, from), min(s[i].until, until)}
			if part.from < part.until && !yield(part) {
				return
			}
		}
	}
}

// touches reports whether one of them has an instant of [from, until].
func (s spells) touches(from, until int64) bool {
	i, _ := slices.BinarySearchFunc(s, from, func(x spell, from int64) int { return cmp.Compare(x.until, from) })
	return i < len(s) && s[i].from <= until
}

// uncleanEnds are the times in which something may be left of faults, or of acquisitions of one lock that ended
// otherwise than cleanly: for as long as a stall takes, because by then the servers have forgotten it.
func (l *livenessJudge) uncleanEnds(all []*history.Acquisition) spells {
	left := slices.Clone(l.aftermath)
	for _, a := range all {
		began := history.None
		switch {
		case a.Died != history.None:
			began = a.Died
		case a.Lost != history.None:
			began = a.Lost
		case a.Unknown() || failedByItself(a):
			began = a.Returned
		case a.Granted() && a.ReleaseInvoked != history.None && !endedCleanly(a):
			began = a.ReleaseInvoked
		}
		if began != history.None {
			left = append(left, spell{began, began + l.bound})
		}
	}
	return merged(left)
}

// aftermaths are the times in which a fault was in force, or may have left something.
func (l *livenessJudge) aftermaths() []spell {
	var all []spell
	for _, f := range l.faults {
		if from, until := l.inForce(f); from != math.MaxInt64 {
			all = append(all, spell{from, until + l.bound})
		}
	}
	return all
}

// stalled are the times in which a process, and so perhaps the machine, stood still by its own record.
func (d *digest) stalled() spells {
	var all []spell
	for _, of := range d.hiccups {
		for _, e := range of {
			all = append(all, spell{e.At - int64(e.Hiccup()), e.At})
		}
	}
	return merged(all)
}

// handOffs judges the run's ordinary hand-offs together. They are slow, which is a finding,
//
//   - if they took longer after a confirmed release than 1 s and ten times the run's own median, of which 0.1 s count
//     at most. After that, no disk has to be waited for.
//     More by how far the hosts' clocks can differ.
//   - if more than half of them took longer than 2 s from the call of release on, which includes slow releases. If the
//     servers' logs show that half of the grants came sooner after their znodes were eligible, it is a doubt: it was
//     the service that was slow, or the release.
//
// Recorded standstills within a hand-off do not count. Several must be slow, no two of them at the same time, because
// one standstill of a server delays hand-offs of many locks at once. Fewer than [fewSlow] are only mentioned.
func (l *livenessJudge) handOffs(all []handedOver) (slow []Finding, said string, doubts []string) {
	if len(all) == 0 {
		return nil, "", nil
	}
	slices.SortFunc(all, func(a, b handedOver) int { return cmp.Compare(a.granted, b.granted) })
	still := l.stalled()
	after, whole, lock := make([]int64, len(all)), make([]int64, len(all)), make([]int64, len(all))
	for i := range all {
		h := &all[i]
		after[i] = h.after() - still.within(min(h.confirmed, h.granted), h.granted)
		whole[i] = h.granted - h.called - still.within(h.called, h.granted)
		lock[i] = h.granted - max(h.called, l.eligible(h.to))
	}
	took, limit, since := after, slowHandOff+typical*min(median(after), typicalCap), "its release was confirmed"
	switch {
	case median(whole) <= 2*slowHandOff:
	case median(lock) <= 2*slowHandOff:
		doubts = []string{fmt.Sprintf("more than half of %s took longer than %s from the call of release on, but by the "+
			"servers' logs half of the grants came within %s after their znodes were eligible, so the servers may have been "+
			"slow",
			count(int64(len(all)), "ordinary hand-off", "ordinary hand-offs"), length(2*slowHandOff), length(median(lock)))}
	default:
		took, limit, since = whole, 2*slowHandOff, "its release was called for"
	}
	limit += l.clocks().most
	apart, free := 0, int64(math.MinInt64) // the most that do not overlap: always take the first to end
	for i := range all {
		h := &all[i]
		if took[i] <= limit {
			continue
		}
		slow = append(slow, l.slowHandOff(h, took[i], since))
		if h.called >= free {
			apart, free = apart+1, h.granted
		}
	}
	if apart < fewSlow && len(slow) > 0 {
		return nil, fmt.Sprintf("; %s of %d took longer than %s, at most %s", count(int64(len(slow)), "ordinary hand-off",
			"ordinary hand-offs"), len(all), length(limit), length(slices.Max(took))), doubts
	}
	return slow, "", doubts
}

// eligible is when the servers had made a grant's znodes eligible at the earliest; the beginning of time if their logs
// do not tell.
func (l *livenessJudge) eligible(a *history.Acquisition) int64 {
	if l.servers == nil || !l.transactions.whole() {
		return math.MinInt64
	}
	w := l.servers.proof(a)
	if w.answer != nodes.Witnessed {
		return math.MinInt64
	}
	_, ms := w.from()
	return l.transactions.clock.at(ms) - l.transactions.clock.err
}

func (l *livenessJudge) slowHandOff(h *handedOver, took int64, since string) Finding {
	return Finding{
		Kind: KindSlowHandOff, Lock: h.to.Lock, At: h.called, Until: h.granted, Cause: CauseNone,
		Clients: []string{h.to.Client}, Tokens: []int64{h.to.Token}, Events: l.eventsOf(h.to),
		Text: fmt.Sprintf("%s was handed to %s at %s, %s after %s, though a client waited for it and no fault was in force",
			h.to.Lock, h.to.Client, seconds(h.granted), length(took), since),
	}
}

// median is the middle one of some numbers, the lower one of two.
func median(all []int64) int64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)-1)/2]
}
