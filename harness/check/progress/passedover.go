package progress

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

const (
	// queuedWithin is how long a client takes in calm to get its place in a queue. Nothing promises that, so what follows
	// from it is a doubt.
	queuedWithin = 2 * OneSecond
	// manyPassed is in how many of its waits a client must be passed over, and passedShare in which share of them, to
	// raise a doubt about the queue.
	manyPassed  = 5
	passedShare = 0.25
)

// passedOver finds clients of a queue that waited while others were granted the lock that had asked for it later: once
// the first had its place, or after as long as a stall takes where its place is not recorded. It judges waits that
// lasted longer than that, up to the first such grant, if nothing disturbed the client meanwhile. A client that writes
// may go on to read ahead of others, and readers, or those who get permits, may be granted the lock together.
//
// If its session may have expired because its driver stood still unseen, that is a doubt.
func (l *LivenessJudge) passedOver(lock string, all []*history.Acquisition) (found []evidence.Finding) {
	if !l.Facts.Queue {
		return nil
	}
	for _, a := range all {
		from, until := l.queued(a, l.Bound)
		if until-from <= l.Bound || l.several[a] {
			continue
		}
		first, n := l.passing(lock, a, from, until, false)
		if n == 0 || l.disturbed(a, a.Invoked, first.Returned) {
			continue
		}
		f := l.FindingOf(evidence.KindPassedOver, a, a.Invoked, until, "%s waited for %s from %s to %s, and meanwhile it "+
			"was granted %s to clients that asked for it later, first to %s at %s", a.Client, lock,
			evidence.Seconds(a.Invoked), evidence.Seconds(until), evidence.Count(n, "time", "times"), first.Client,
			evidence.Seconds(first.Returned))
		f.Clients, f.Tokens = append(f.Clients, first.Client), append(f.Tokens, first.Token)
		f.Events = append(f.Events, l.EventsOf(first)...)
		l.blameServer(&f)
		switch {
		case l.MayHaveExpired(a, first.Returned):
			l.unseen = append(l.unseen, f)
			continue
		case spans.List(l.Unconnected[a.Client]).Touches(a.Invoked, first.Returned):
			l.unsure = append(l.unsure, f.Text+", and it had no connection to the servers for a time")
			continue
		}
		found = append(found, f)
	}
	return found
}

// queued is the interval for which a waited with a place in the queue. If that is not recorded, it begins so long after
// the call.
func (l *LivenessJudge) queued(a *history.Acquisition, within int64) (from, until int64) {
	from, until = l.Waited(a)
	if a.Queued != history.None {
		return a.Queued, until
	}
	return from + within, until
}

// passing returns the first grant in [from, until) to a client that asked after from, though a waited all the time, and
// how many there were. Readers, and those who get permits, may be granted the lock together and are told in any order,
// so what they are granted near the end of such a wait does not count unless strict is set.
func (l *LivenessJudge) passing(lock string, a *history.Acquisition, from, until int64, strict bool) (
	first *history.Acquisition, n int64) {
	together := func(b *history.Acquisition) bool {
		return !strict && a.Mode == b.Mode && (a.Mode == history.ModePermit || a.Mode == history.ModeRead) &&
			b.Returned >= until-l.Bound
	}
	if a.Returned != history.None && !a.Granted() {
		until -= OneSecond // it may have left the queue before its client was told so
	}
	grants := l.GrantsOf(lock) // in the order of their returns
	after, _ := slices.BinarySearchFunc(grants, from, func(b *history.Acquisition, from int64) int {
		return cmp.Compare(b.Returned, from)
	})
	for _, b := range grants[after:] {
		if b.Returned >= until {
			break
		}
		apart := l.Clocks().Between(a.Process, b.Process)
		if b.Client == a.Client || l.downgraded(b) || l.several[b] || b.Invoked <= from+apart ||
			b.Returned >= until-apart || together(b) {
			continue
		}
		if n++; first == nil {
			first = b
		}
	}
	return first, n
}

// passedAgain says which client of a queue was passed over in many waits that were too short for
// [LivenessJudge.passedOver] and that it gave up. One such wait shows nothing, because the news of its turn may have
// been on its way.
func (l *LivenessJudge) passedAgain(lock string, all []*history.Acquisition) []string {
	if !l.Facts.Queue {
		return nil
	}
	passed, waits := map[string]int{}, map[string]int{}
	for _, a := range all {
		waits[a.Client]++
		from, until := l.queued(a, queuedWithin)
		if a.Granted() || until-from > l.Bound || until <= from || l.several[a] {
			continue
		}
		if _, n := l.passing(lock, a, from, until, true); n > 0 && !l.disturbed(a, a.Invoked, until) {
			passed[a.Client]++
		}
	}
	for _, client := range evidence.SortedKeys(passed) {
		n := passed[client]
		if n >= manyPassed && float64(n) >= passedShare*float64(waits[client]) {
			return []string{fmt.Sprintf("%s was passed over in %d of its %d waits for %s, which was granted meanwhile to "+
				"clients that asked for it later, so it is not known whether the queue keeps its order", client, n, waits[client],
				lock)}
		}
	}
	return nil
}
