package progress

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

const (
	// queued is by when a client has its place in a queue in calm. It is no bound, so that what follows is a doubt.
	queued = 2 * OneSecond
	// manyPassed is how many waits in vain of one client raise a doubt about a queue that passed it over each time.
	manyPassed = 5
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
		from, until := l.Waited(a)
		if a.Queued != history.None {
			from = a.Queued
		} else {
			from += l.Bound
		}
		if until-from <= l.Bound || l.several[a] {
			continue
		}
		first, n := l.passing(lock, a, from, until)
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
		case evidence.Spans(l.Unconnected[a.Client]).Touches(a.Invoked, first.Returned):
			l.unsure = append(l.unsure, f.Text+", and it had no connection to the servers for a time")
			continue
		}
		found = append(found, f)
	}
	return found
}

// passing returns the first of the grants from one instant to another that a, which waited all the time, saw go to
// clients that asked after the first instant, and how many there were.
func (l *LivenessJudge) passing(lock string, a *history.Acquisition, from, until int64) (
	first *history.Acquisition, n int64) {
	together := func(b *history.Acquisition) bool { // and are told in any order
		return a.Mode == b.Mode && (a.Mode == history.ModePermit || a.Mode == history.ModeRead) &&
			b.Returned >= until-l.Bound
	}
	if !a.Granted() {
		until -= OneSecond // it may have left the queue before its client was told so
	}
	grants := l.Grants[lock] // in the order of their returns
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

// passedAgain says which client of a queue gave up many waits that were too short for [LivenessJudge.passedOver], each
// of which saw the lock go to clients that asked for it later. One such wait shows nothing, because the news of its
// turn may have been on its way.
func (l *LivenessJudge) passedAgain(lock string, all []*history.Acquisition) []string {
	if !l.Facts.Queue {
		return nil
	}
	times := map[string]int{}
	for _, a := range all {
		from, until := l.Waited(a)
		if a.Queued != history.None {
			from = a.Queued
		} else {
			from += queued
		}
		if a.Granted() || until-from > l.Bound || until <= from || l.several[a] {
			continue
		}
		if _, n := l.passing(lock, a, from, until); n > 0 && !l.disturbed(a, a.Invoked, until) {
			times[a.Client]++
		}
	}
	for _, client := range evidence.SortedKeys(times) {
		if n := times[client]; n >= manyPassed {
			return []string{fmt.Sprintf("%s waited for %s %d times in vain, and each time it was granted to clients that "+
				"asked for it later, so it is not known whether the queue keeps its order", client, lock, n)}
		}
	}
	return nil
}
