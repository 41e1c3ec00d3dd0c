package progress

import (
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// strictly is a look at a lock in which only those faults and standstills count that its clients, with these
// acquisitions, can have felt at all: those of theirs, of their servers, of the leader and of a majority. What is a
// finding only then is a doubt. One that delays answers counts, because an old list may show another holder.
func (l *LivenessJudge) strictly(all []*history.Acquisition) *LivenessJudge {
	strict := *l
	strict.strict, strict.disturbs, strict.unseen, strict.unsure = true, nil, nil, nil
	strict.Faults = slices.DeleteFunc(slices.Clone(l.Faults), func(f *evidence.Fault) bool {
		return f.Nature.SparesSessions || !l.allFeel(f) && !l.feltBy(all, f)
	})
	strict.Hiccups = map[string][]*history.Event{}
	for _, a := range all {
		if hiccups := l.Hiccups[a.Process]; hiccups != nil {
			strict.Hiccups[a.Process] = hiccups
		}
	}
	strict.aftermath = strict.aftermaths()
	return &strict
}

// lockFindings are what is found of one lock beside stalls.
type lockFindings struct {
	refused, passed, lost, failing, unreturned []evidence.Finding
	doubts                                     []string
}

// ofLock judges a lock beside its stalls. One that stalls is not asked whether it could be had otherwise.
func (l *LivenessJudge) ofLock(lock string, all []*history.Acquisition, stalls bool) (of lockFindings) {
	of.refused, of.doubts = l.refusals(lock, all)
	of.passed, of.unreturned = l.passedOver(lock, all), l.unreturned(all)
	of.doubts = append(of.doubts, l.passedAgain(lock, all)...)
	losses, unsure := l.lostWithoutCause(all)
	if of.lost = losses; stalls {
		of.doubts = unsure
		return of
	}
	failures, unsureOf := l.failing(lock, all)
	of.doubts = slices.Concat(unsure, of.doubts, unsureOf)
	for _, f := range failures {
		switch {
		case f.Cause == evidence.CauseServer:
			of.doubts = append(of.doubts, f.Text)
		case l.Facts.Tries:
			of.doubts = append(of.doubts, f.Text+", and it is not known whether the lock can be tried")
		default:
			of.failing = append(of.failing, f)
		}
	}
	return of
}

func (of lockFindings) nothing() bool {
	return len(of.refused)+len(of.passed)+len(of.lost)+len(of.failing)+len(of.unreturned)+len(of.doubts) == 0
}

// besideWeak turns what a strict look finds into doubts.
func (of lockFindings) besideWeak() []string {
	doubts := of.doubts
	for _, found := range [][]evidence.Finding{of.refused, of.passed, of.lost, of.failing} {
		if len(found) > 0 {
			doubts = append(doubts, found[0].Text+besideWeak)
		}
	}
	return doubts
}

// disturbed reports whether something may have cost a's client its session, or the use of the lock, between two
// instants. In a strict look it must have been in force then, for so long that it costs a connection, and have struck
// the client, its server or all.
func (l *LivenessJudge) disturbed(a *history.Acquisition, from, until int64) bool {
	if !l.strict {
		return l.Disturbed(a.Lock, from, until, a.Process)
	}
	from = min(from, a.Invoked) // what struck it while it waited, its client may have learned of later
	third := l.LongestTimeout() / 3
	struck := func(f *evidence.Fault) bool {
		began, over := f.Effect()
		if !f.Possible() || f.Passes(l.LongestTimeout()) || began > until || over < from {
			return false
		}
		if f.Nature.EndsSessions || f.Nature.DeletesZnodes {
			return f.Nature.DeletesAll || f.HitsClient(a)
		}
		return (over-began >= third || f.Nature.Lingers) && (l.allFeel(f) || feels(l.Digest, a, f) ||
			!l.OnlyClients(f) && l.ServerAt(a.Session, max(began, a.Invoked)) == "")
	}
	stood := func(e *history.Event) bool {
		return int64(e.Hiccup()) >= third && e.At-int64(e.Hiccup()) <= until && e.At >= from
	}
	return slices.ContainsFunc(l.Faults, struck) || slices.ContainsFunc(l.Hiccups[a.Process], stood) ||
		slices.ContainsFunc(l.Unserved(true), func(s spans.Span) bool { return s.From <= until && s.Until >= from })
}
