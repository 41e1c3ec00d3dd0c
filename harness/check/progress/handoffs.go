package progress

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// The limits of ordinary hand-offs.
const (
	// slowHandOff is how long an ordinary hand-off may take at least before it is slow: some hundred times what it
	// takes on an idle machine.
	slowHandOff = OneSecond
	// typical multiplies the run's own median, of which no more than typicalCap counts. So a run in which all
	// hand-offs are slow cannot excuse itself.
	typical    = 10
	typicalCap = OneSecond / 10
	// fewSlow is how many slow hand-offs, no two of them at once, prove something. One or two may be the machine's.
	fewSlow = 3
)

const OneSecond = int64(1e9)

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
// success, a client was waiting for it when that was called and until the next grant, no fault was in force, the
// servers served, and neither a fault nor an acquisition that ended otherwise than cleanly can have left a znode behind
// that the servers had to expire. A permit is handed over by the release since which enough of them were free. Which
// times are left out, unclean says.
func (l *LivenessJudge) ordinary(
	found []handedOver, all, grants []*history.Acquisition, unclean spans.List,
) []handedOver {
	until := history.Earliest(l.Stop, l.Closed, l.Drain)
	if l.Measure == history.None {
		return found
	}
	waits := newWaits(all, l)
	unserved := spans.Merged(l.ServersStood())
	var calledBy, confirmedBy *occupancy
	if slices.ContainsFunc(grants, func(a *history.Acquisition) bool { return a.Mode == history.ModePermit }) {
		calledBy = l.occupancyOf(all, nil, l.BelievedUntil)
		confirmedBy = l.occupancyOf(all, nil, func(a *history.Acquisition) int64 {
			return max(l.BelievedUntil(a), a.ReleaseReturned)
		})
	}
	found = slices.Grow(found, len(grants))
	released, confirmed := int64(math.MinInt64), int64(math.MinInt64) // of all holds so far
	for _, a := range grants {
		h := handedOver{called: released, confirmed: confirmed, granted: a.Returned, to: a}
		if a.Mode == history.ModePermit {
			permits := l.FewestPermits(a.Lock, a.Invoked, a.Returned)
			h.called, h.confirmed = calledBy.fullUntil(a, permits), confirmedBy.fullUntil(a, permits)
		}
		if h.called >= l.Measure && h.granted <= until && h.called < h.granted &&
			(a.Mode != history.ModePermit || max(a.Invoked, a.Queued) <= h.called) &&
			waits.throughout(h.called, h.granted) && !unclean.Touches(h.called, h.granted) &&
			!unserved.Touches(h.called, h.granted) {
			found = append(found, h)
		}
		released = max(released, l.BelievedUntil(a))
		confirmed = max(confirmed, released) // of an unclean end, which rules out the hand-offs that follow
		if evidence.EndedCleanly(a) {
			confirmed = max(confirmed, a.ReleaseReturned)
		}
	}
	return found
}

// waits finds out whether a lock was wanted throughout a time.
type waits []wait

// A wait began then. Until is the latest end of the waits that began by then.
type wait struct{ from, until int64 }

func newWaits(all []*history.Acquisition, l *LivenessJudge) waits {
	list := make(waits, 0, len(all))
	for _, a := range all {
		from, until := l.Waited(a)
		if a.Queued != history.None {
			from = max(from, a.Queued)
		}
		if until > from && a.Permits <= l.FewestPermits(a.Lock, from, until) {
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

// uncleanEnds are the times in which something may be left of faults, or of acquisitions of one lock that ended
// otherwise than cleanly: for as long as a stall takes, because by then the servers have forgotten it. Whoever takes
// several locks together, or asks for more permits than there are, may rightly keep others waiting meanwhile.
func (l *LivenessJudge) uncleanEnds(all []*history.Acquisition) spans.List {
	unclean, _ := l.uncleanBeside(all)
	return unclean
}

// uncleanBeside returns the [LivenessJudge.uncleanEnds], and them without what the lock brought about in calm itself:
// an error, or a release or acquire of unknown outcome. A lock that is slow after these is not excused by them.
func (l *LivenessJudge) uncleanBeside(all []*history.Acquisition) (unclean, beside spans.List) {
	var left, own []spans.Span
	excused := l.excusesErrors()
	calm := func(a *history.Acquisition, from, until int64) bool {
		return !excused.Touches(from, until) && !spans.List(l.Unconnected[a.Client]).Touches(from, until)
	}
	for _, a := range all {
		began, itself := history.None, false
		switch {
		case a.Died != history.None:
			began = a.Died
		case a.Lost != history.None:
			began = a.Lost
		case a.Unknown() || FailedByItself(a):
			began, itself = a.Returned, calm(a, a.Invoked, a.Returned)
		case a.Granted() && a.ReleaseInvoked != history.None && !evidence.EndedCleanly(a):
			began, itself = a.ReleaseInvoked, calm(a, a.ReleaseInvoked, history.Earliest(l.Stop, a.ReleaseReturned))
		}
		if began != history.None && itself {
			own = append(own, spans.Span{From: began, Until: began + l.Bound})
		} else if began != history.None {
			left = append(left, spans.Span{From: began, Until: began + l.Bound})
		}
		if l.several[a] || l.excessive(a) {
			left = append(left, spans.Span{From: a.Invoked, Until: evidence.Later(l.gone(a), l.Bound)})
		}
	}
	left = append(left, l.aftermath...)
	return spans.Merged(slices.Concat(left, own)), spans.Merged(left)
}

// aftermaths are the times in which a fault was in force, or may have left something.
func (l *LivenessJudge) aftermaths() []spans.Span {
	var all []spans.Span
	for _, f := range l.Faults {
		if from, until := l.InForce(f); from != math.MaxInt64 {
			all = append(all, spans.Span{From: from, Until: until + l.Bound})
		}
	}
	return all
}

// handOffs judges the run's ordinary hand-offs together. They are slow, which is a finding,
//
//   - if they took longer after a confirmed release than 1 s and ten times the run's own median, of which 0.1 s count
//     at most. After that, no disk has to be waited for. More by how far the hosts' clocks can differ.
//   - if more than half of them took longer than 2 s from the call of release on, which includes slow releases. If the
//     servers' logs show that half of the grants came sooner after their znodes were eligible, it is a doubt: it was
//     the service that was slow, or the release.
//
// Several that are slow only from the call of release on are a doubt, and so are those for which the next client may
// account, see [LivenessJudge.excuse].
//
// Recorded standstills within a hand-off do not count. If drivers that declare no pings may have stood still in each
// slow one, and no more than half are slow, that is a doubt; a driver that stands still at every other hand-off is no
// accident. Several must be slow, no two of them at the same time, because one standstill of a server delays hand-offs
// of many locks at once. Fewer than [fewSlow] are only mentioned.
func (l *LivenessJudge) handOffs(all []handedOver) (slow []evidence.Finding, said string, doubts []string) {
	if len(all) == 0 {
		return nil, "", nil
	}
	slices.SortFunc(all, func(a, b handedOver) int { return cmp.Compare(a.granted, b.granted) })
	still := spans.Merged(l.Stillness(0))
	after, whole, lock := make([]int64, len(all)), make([]int64, len(all)), make([]int64, len(all))
	for i := range all {
		h := &all[i]
		after[i] = h.after() - still.Within(min(h.confirmed, h.granted), h.granted)
		whole[i] = h.granted - h.called - still.Within(h.called, h.granted)
		eligible, _ := l.eligible(h.to)
		lock[i] = h.granted - max(h.called, eligible)
	}
	took, limit, since := after, slowHandOff+typical*min(median(after), typicalCap), "its release was confirmed"
	switch {
	case median(whole) <= 2*slowHandOff, len(all) < fewSlow && median(lock) <= 2*slowHandOff:
	case median(lock) <= 2*slowHandOff:
		doubts = []string{fmt.Sprintf("more than half of %s took longer than %s from the call of release on, but by the "+
			"servers' logs half of the grants came within %s after their znodes were eligible, so the servers may have been "+
			"slow", evidence.Count(int64(len(all)), "ordinary hand-off", "ordinary hand-offs"),
			evidence.Length(2*slowHandOff), evidence.Length(median(lock)))}
	default:
		took, limit, since = whole, 2*slowHandOff, "its release was called for"
	}
	limit += l.Clocks().Most
	var sure, excused, legs slowness
	seen, why := false, ""
	legLimit := 2*slowHandOff + typical*min(median(whole), typicalCap) + l.Clocks().Most
	for i := range all {
		h := &all[i]
		if took[i] <= limit {
			if whole[i] > legLimit {
				legs.add(h, whole[i], evidence.Finding{})
			}
			continue
		}
		f := l.slowHandOff(h, took[i], since)
		if excuse := l.excuse(h, took[i], limit); excuse != "" {
			why = cmp.Or(why, excuse)
			excused.add(h, took[i], f)
			continue
		}
		sure.add(h, took[i], f)
		seen = seen || took[i]-l.PerhapsStood(h.to, h.called, h.granted).Lasts() > limit
	}
	say := func(s *slowness, limit int64, from string) string {
		return fmt.Sprintf("%s of %d took longer than %s%s, at most %s", evidence.Count(int64(len(s.found)),
			"ordinary hand-off", "ordinary hand-offs"), len(all), evidence.Length(limit), from, evidence.Length(s.most))
	}
	const fromCall = " from the call of release on"
	if legs.apart >= fewSlow {
		doubts = append(doubts, say(&legs, legLimit, fromCall)+", so the servers may have been slow, or the release")
	} else if legs.apart > 0 {
		said += "; " + say(&legs, legLimit, fromCall)
	}
	slow = sure.found
	if sure.apart < fewSlow {
		if sure.apart > 0 {
			said += "; " + say(&sure, limit, "")
		}
		if len(excused.found) > 0 && sure.apart+excused.apart >= fewSlow {
			doubts = append(doubts, excused.found[0].Text+why)
		}
		return nil, said, doubts
	}
	if !seen && 2*len(slow) <= len(all) {
		l.unseen, slow = append(l.unseen, slow...), nil
	}
	return slow, said, doubts
}

// A slowness is hand-offs that took too long.
type slowness struct {
	found []evidence.Finding
	most  int64
	apart int // the most that do not overlap: always take the first to end
	free  int64
}

func (s *slowness) add(h *handedOver, took int64, f evidence.Finding) {
	if s.apart == 0 || h.called >= s.free {
		s.apart, s.free = s.apart+1, h.granted
	}
	s.found, s.most = append(s.found, f), max(s.most, took)
}

// excuse says why the next client, and not the lock, may account for a hand-off that took longer than the limit: it
// told that it had no connection, or its znode was not there yet by the servers' logs. It is empty if nothing does.
func (l *LivenessJudge) excuse(h *handedOver, took, limit int64) string {
	deaf := spans.Merged(slices.Clone(l.Unconnected[h.to.Client]))
	if took-deaf.Within(h.called, h.granted) <= limit {
		return ", but it had no connection to the servers for a time"
	}
	if _, joined := l.eligible(h.to); h.granted-max(h.called, joined) <= limit {
		return ", but by the servers' logs its znode was only created then, so the servers may have been slow"
	}
	return ""
}

// eligible is when the servers had made a grant's znodes eligible at the earliest, and joined when they had created
// them; the beginning of time if their logs do not tell.
func (l *LivenessJudge) eligible(a *history.Acquisition) (eligible, joined int64) {
	if l.Servers == nil || !l.Transactions.Whole() {
		return math.MinInt64, math.MinInt64
	}
	w := l.Servers.Proof(a)
	if w.Answer != nodes.Witnessed {
		return math.MinInt64, math.MinInt64
	}
	_, ms := w.From()
	created := int64(math.MinInt64)
	for _, s := range w.Spans {
		created = max(created, s.Created)
	}
	clock := &l.Transactions.Clock
	return clock.At(ms) - clock.Err, clock.At(created) - clock.Err
}

func (l *LivenessJudge) slowHandOff(h *handedOver, took int64, since string) evidence.Finding {
	return l.FindingOf(evidence.KindSlowHandOff, h.to, h.called, h.granted,
		"%s was handed to %s at %s, %s after %s, though a client waited for it and no fault was in force",
		h.to.Lock, h.to.Client, evidence.Seconds(h.granted), evidence.Length(took), since)
}

// median is the middle one of some numbers, the lower one of two.
func median(all []int64) int64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)-1)/2]
}

// lastHeal is the instant from which every fault is over, None if there was no fault; or it gives the doubts about
// whether there is such an instant.
func (l *LivenessJudge) lastHeal() (at int64, doubts []string) {
	at = history.None
	for _, f := range l.Faults {
		switch {
		case f.Injected == history.None:
		case f.Permanent:
			at = max(at, f.Injected)
		case f.Healed == history.None:
			doubts = append(doubts, f.String()+" was not healed")
		case f.HealVerified == history.None:
			doubts = append(doubts, "the heal of "+f.String()+" was not verified")
		default:
			at = max(at, f.Healed, f.HealVerified)
		}
	}
	if l.Final != nil && l.Final.Kind == history.OK && at != history.None {
		at = max(at, l.Final.At)
	} else if l.Final != nil && l.Final.Kind != history.OK {
		doubts = append(doubts, "not everything was healed in the end: "+l.Final.Leftovers())
	}
	if len(doubts) > 0 {
		at = history.None
	}
	return at, doubts
}

// gotAfter says how many of the clients got a lock after the last heal.
func (l *LivenessJudge) gotAfter(heal int64) string {
	clients, got := map[string]bool{}, map[string]bool{}
	for i := range l.Acquisitions {
		a := &l.Acquisitions[i]
		clients[a.Client] = true
		if a.Granted() && a.Returned >= heal {
			got[a.Client] = true
		}
	}
	return fmt.Sprintf("; %d of %d clients got a lock after the last heal", len(got), len(clients))
}

// afterHeal says why it is not known that lock recovered after the last heal: some client wanted it then, no client
// got it, and it was not free for long enough to be a stall.
func (l *LivenessJudge) afterHeal(lock string, all []*history.Acquisition, heal int64) []string {
	wanted, held := false, false
	for _, a := range all {
		if a.Granted() && a.Returned >= heal {
			return nil
		}
		_, until := l.Waited(a)
		wanted = wanted || until > heal
		held = held || a.Granted() && l.BelievedUntil(a) > heal
	}
	switch {
	case !wanted:
		return nil
	case held:
		return []string{fmt.Sprintf("no client got %s after the last heal, because its holder kept it", lock)}
	}
	return []string{fmt.Sprintf("no client got %s in the %s after the last heal, which is too short to tell: a stall "+
		"takes %s", lock, evidence.Length(l.Stop-heal), evidence.Length(l.Bound))}
}

// downgraded reports whether a is a read that its client asked for while it held the lock to write.
func (l *LivenessJudge) downgraded(a *history.Acquisition) bool {
	return a.Mode == history.ModeRead && slices.ContainsFunc(l.GrantsOf(a.Lock), func(b *history.Acquisition) bool {
		return b.Client == a.Client && b.Mode != history.ModeRead && b.Returned <= a.Invoked &&
			l.BelievedUntil(b) >= a.Invoked
	})
}
