package progress

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"locklab/ensembles/txnlog"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

const (
	// settled is how long a lock must have been free before a refusal of it proves something. Within it, a server that
	// lags behind the others may still show the last holder.
	settled = OneSecond / 4
	// manyRefusals is how many attempts in vain raise a doubt about a free lock.
	manyRefusals = 10
)

// refusals finds attempts that were refused as busy on a lock that was provably free, which is a finding, and says
// where a lock was asked for in vain again and again without proof that it should have been granted.
//
// A lock is provably free during an attempt if nothing else that keeps it away overlaps the call or the quarter of a
// second before it: no hold until its release was confirmed, and no other attempt, because two attempts may rightly
// refuse each other. Readers keep no readers away, and others keep no permit away while there are enough for all of
// them. No fault may be in force, and nothing may be left of faults or of acquisitions that ended otherwise than
// cleanly.
//
// Attempts of several clients may get in each other's way for long, each refused because of one that is about to give
// up. So if a lock is free for as long as a stall takes and at least [manyRefusals] attempts come to nothing, however
// far apart, that is a doubt.
func (l *LivenessJudge) refusals(lock string, all []*history.Acquisition) (found []evidence.Finding, doubts []string) {
	unclean := l.uncleanEnds(all)
	refused := slices.DeleteFunc(slices.Clone(all), func(a *history.Acquisition) bool {
		return a.Returned == history.None || a.Reason != history.FailBusy
	})
	if len(refused) == 0 {
		return nil, l.inVain(lock, all, unclean)
	}
	apart := l.Clocks().Most
	surely := l.attempts(all, 0, l.gone)
	perhaps := l.attempts(all, apart, l.gone)
	stood := l.attempts(all, 0, func(a *history.Acquisition) int64 { // may have left a znode, unseen
		if a.Granted() {
			return l.gone(a)
		}
		return min(l.AwakeAfter(a, l.gone(a)), evidence.Later(l.gone(a), l.Bound))
	})
	for _, a := range refused {
		permits := l.FewestPermits(lock, a.Invoked, a.Returned)
		switch {
		case a.Permits > permits || unclean.Touches(a.Invoked-settled, a.Returned) || surely.keptAway(a, permits):
		case stood.keptAway(a, permits):
			l.unseen = append(l.unseen, l.refusal(a, all))
		case !perhaps.keptAway(a, permits):
			found = append(found, l.refusal(a, all))
		case len(doubts) == 0:
			doubts = append(doubts, fmt.Sprintf("%s was refused %s as busy at %s, and it is not known whether it was free "+
				"then, because the clocks may differ by %s", a.Client, lock, evidence.Seconds(a.Returned), evidence.Millis(apart)))
		}
	}
	return found, append(doubts, l.inVain(lock, all, unclean)...)
}

// gone is when nothing was left of a that ended cleanly: for one that did not, see [LivenessJudge.uncleanEnds].
func (l *LivenessJudge) gone(a *history.Acquisition) int64 {
	switch {
	case a.Granted() && evidence.EndedCleanly(a):
		return a.ReleaseReturned
	case a.Granted():
		return l.BelievedUntil(a)
	case a.Returned != history.None && a.Reason == history.FailBusy:
		return a.Returned
	case a.Returned != history.None:
		return a.Returned + OneSecond // an attempt that was given up is taken away in the background
	case a.Died != history.None:
		return a.Died
	}
	return math.MaxInt64
}

func (l *LivenessJudge) refusal(a *history.Acquisition, all []*history.Acquisition) evidence.Finding {
	since := int64(math.MinInt64)
	for _, b := range all {
		if b.Invoked < a.Invoked {
			since = max(since, l.gone(b))
		}
	}
	free := "it had never been held and no other client asked for it then"
	switch {
	case since > a.Invoked:
		free = freeWords(a)
	case since != math.MinInt64:
		free = "it had been free since " + evidence.Seconds(since) + " and no other client asked for it then"
	}
	return l.FindingOf(evidence.KindRefused, a, a.Invoked, a.Returned,
		"%s was refused %s as busy at %s, though %s", a.Client, a.Lock, evidence.Seconds(a.Returned), free)
}

// inVain says where a free lock was asked for again and again in vain.
func (l *LivenessJudge) inVain(lock string, all []*history.Acquisition, unclean spans.List) (doubts []string) {
	var tries []*history.Acquisition
	for _, a := range all {
		if a.Returned != history.None && a.Reason.ByWorkload() &&
			a.Permits <= l.FewestPermits(lock, a.Invoked, a.Returned) {
			tries = append(tries, a)
		}
	}
	if len(tries) < manyRefusals {
		return nil
	}
	slices.SortFunc(tries, func(a, b *history.Acquisition) int { return cmp.Compare(a.Returned, b.Returned) })
	busy := l.occupancyOf(all, nil, l.gone)
	var first, last *history.Acquisition
	n := 0
	over := func() {
		if n >= manyRefusals && last.Returned-first.Invoked > l.Bound && len(doubts) == 0 {
			doubts = append(doubts, fmt.Sprintf("%s was asked for %d times in vain in %s from %s though %s, so it is not "+
				"known whether it could be had", lock, n, evidence.Length(last.Returned-first.Invoked),
				evidence.Seconds(first.Invoked), freeWords(first)))
		}
		first, last, n = nil, nil, 0
	}
	for _, a := range tries {
		from := a.Invoked
		if last != nil {
			from = min(from, last.Returned)
		}
		if busy.keeps(a, l.FewestPermits(lock, from, a.Returned), from, a.Returned) || unclean.Touches(from, a.Returned) {
			over()
			continue
		}
		if first == nil {
			first = a
		}
		last, n = a, n+1
	}
	over()
	return doubts
}

// lostWithoutCause finds holds that their clients were told they had lost, at the latest as they released them, though
// nothing can have cost them: by the servers' transactions neither the session nor the znode had ended for a reason, no
// fault was in force that the client can have felt, no process of its host stood still, and the servers served. Without
// whole transactions that is a doubt.
func (l *LivenessJudge) lostWithoutCause(all []*history.Acquisition) (found []evidence.Finding, doubts []string) {
	for _, a := range all {
		lost := a.Lost
		if lost == history.None && a.ReleaseOutcome == history.Fail {
			lost = a.ReleaseReturned
		}
		if lost == history.None || lost >= l.Stop || !a.Granted() || l.ended(a, lost) ||
			l.disturbed(a, a.Returned, lost) {
			continue
		}
		f := l.FindingOf(evidence.KindLostWithoutCause, a, a.Returned, lost,
			"%s was told at %s that it had lost %s, which it had had since %s, and nothing can have cost it the lock",
			evidence.Holder(a), evidence.Seconds(lost), a.Lock, evidence.Seconds(a.Returned))
		stood := l.PerhapsStood(a, a.Returned, lost).Lasts()
		switch {
		case spans.List(l.Unconnected[a.Client]).Touches(lost-l.Bound, lost):
			if len(doubts) == 0 { // as Curator's LeaderLatch gives up at SUSPENDED
				doubts = []string{f.Text + " but its connection, which its client had said was lost"}
			}
		case l.Transactions.Whole() && stood > 0 && stood >= l.LongestTimeout()/3:
			l.unseen = append(l.unseen, f)
		case l.Transactions.Whole():
			found = append(found, f)
		case len(doubts) == 0:
			doubts = []string{f.Text + ", as far as is known without the servers' transactions"}
		}
	}
	return found, doubts
}

// ended reports whether the servers had ended a hold for a reason when it was lost: its session had expired, or the
// znode or session was ended in its client's name, by somebody who is no client, or by servers that contradict
// themselves.
func (l *LivenessJudge) ended(a *history.Acquisition, lost int64) bool {
	at, end := l.Digest.EndAtServers(a)
	if end == nil || at-2*l.Transactions.Clock.Err > lost+l.BackAt() {
		return false
	}
	s := l.Transactions.History.Sessions[end.By]
	x := l.Digest.Ended(a, "", end)
	return end.Cause == txnlog.CloseSession && s != nil && s.Expired || x.Explained() || x.Unsure() ||
		len(l.ClientsOf[history.SessionID(end.By)]) == 0
}
