package progress

import (
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// unreturned finds releases that took longer than a stall does, with nothing in the way of client or servers for that
// long: they never returned, or nobody knows what they came to. A release that says in the end what it came to is a
// doubt, and so is one that only weak faults or a lost connection can have delayed. The end of the run, or of the
// client's process, cuts a release off.
func (l *LivenessJudge) unreturned(all []*history.Acquisition) (found []evidence.Finding) {
	for _, a := range all {
		from, until := a.ReleaseInvoked, history.Earliest(l.Stop, a.ReleaseReturned, a.Died)
		if h, ok := l.Horizon[a.Process]; ok {
			until = min(until, h)
		}
		if !a.Granted() || from == history.None || until-from <= l.Bound {
			continue
		}
		beside := func(strictly bool) []spans.Span {
			return append(l.blocks([]*history.Acquisition{a}, strictly), l.silenced(a)...)
		}
		quiet := l.longestQuiet(beside(false), from, until)
		if max(quiet, l.longestQuiet(beside(true), from, until)) <= l.Bound {
			continue
		}
		f := l.FindingOf(evidence.KindReleaseStall, a, from, until, "%s called release of %s at %s, and it did not return "+
			"in the %s until %s, though nothing was in its way", evidence.Holder(a), a.Lock, evidence.Seconds(from),
			evidence.Length(until-from), evidence.Seconds(until))
		connected := l.longestQuiet(append(beside(false), l.Unconnected[a.Client]...), from, until)
		switch stood := l.PerhapsStood(a, from, until).Lasts(); {
		case l.blameServer(&f):
			l.unsure = append(l.unsure, f.Text)
		case quiet <= l.Bound:
			l.unsure = append(l.unsure, f.Text+besideWeak)
		case connected <= l.Bound:
			l.unsure = append(l.unsure, f.Text+", but it had no connection to the servers for a time")
		case until-from-stood <= l.Bound:
			l.unseen = append(l.unseen, f)
		case a.ReleaseReturned == history.None && slices.ContainsFunc(all, func(b *history.Acquisition) bool {
			return b.Client == a.Client && b.Invoked > from
		}):
			l.unsure = append(l.unsure, f.Text+", but its client went on, so the answer may only be missing")
		case a.ReleaseReturned != history.None && a.ReleaseOutcome != history.Info:
			l.unsure = append(l.unsure, f.Text+", so it is not known whether the lock can be given back in time")
		default:
			found = append(found, f)
		}
	}
	return found
}
