package progress

import (
	"cmp"
	"math"
	"slices"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// unnoticed finds grants of the servers that the client was not told of in time.
func (l *LivenessJudge) unnoticed(lane *nodes.Lane, all []*history.Acquisition) []evidence.Finding {
	others := slices.DeleteFunc(slices.Clone(all), (*history.Acquisition).Granted) // with znodes of their own
	whose := func(s *nodes.Span) *history.Acquisition {
		a := l.Servers.UsedBy(s.Life)
		if a == nil {
			a = l.waiting(s, others)
		}
		if a != nil && a.Permits > 1 {
			return nil // it may wait for more leases
		}
		return a
	}
	blocks := func(a *history.Acquisition) []spans.Span { return l.silenced(a) }
	return l.overdue(evidence.KindUnnoticed, lane, whose, blocks, "eligible", "")
}

// besideLeases finds stalls of a semaphore while others hold permits of it: by the servers' logs, the first of its
// queue waited for longer than the bound while there were as many free as it wants.
//
// That is certain, because all leases count as taken, also those that nobody holds and those that the waiter has by
// then, and there are no fewer permits than the fewest that may have been in force then.
func (l *LivenessJudge) besideLeases(lock string, all []*history.Acquisition) []evidence.Finding {
	if l.Servers == nil || !l.Whole || len(l.Servers.DoubtedBecause()) > 0 {
		return nil
	}
	queue, is := l.Servers.Layout.Queue(lock)
	if !is || l.Facts.Permits <= 0 {
		return nil
	}
	whose := func(s *nodes.Span) *history.Acquisition { return l.waiting(s, all) }
	blocks := func(a *history.Acquisition) []spans.Span {
		all := slices.Clone(l.deaf(a))
		for _, p := range l.PermitPeriods(lock) {
			for _, s := range l.taken(lock, p.Permits-max(a.Permits, 1)) {
				if s = (spans.Span{From: max(s.From, p.From), Until: min(s.Until, p.Until)}); s.From < s.Until {
					all = append(all, s)
				}
			}
		}
		return all
	}
	return l.overdue(evidence.KindStall, l.Servers.History.Lane(queue, nodes.First), whose, blocks, "first in the queue",
		"with enough permits free ")
}

// taken are the times in which a semaphore had more leases than that.
func (l *LivenessJudge) taken(lock string, most int64) (all []spans.Span) {
	var changes []znodeChange
	for i := range l.Servers.Lanes[lock].Contenders {
		from, until := l.lifetime(&l.Servers.Lanes[lock].Contenders[i])
		changes = append(changes, znodeChange{at: from, znodes: 1}, znodeChange{at: until, znodes: -1})
	}
	slices.SortStableFunc(changes, func(a, b znodeChange) int { return cmp.Compare(a.at, b.at) })
	leases, since := 0, int64(math.MinInt64/2)
	for _, c := range append(changes, znodeChange{at: l.Stop}) {
		if int64(leases) > most {
			all = append(all, spans.Span{From: since, Until: c.at})
		}
		leases, since = leases+c.znodes, c.at
	}
	return all
}

// overdue finds acquires that did not return for longer than the bound while their znode was eligible, or first, and
// nothing blocked them.
func (l *LivenessJudge) overdue(kind evidence.Kind, lane *nodes.Lane, whose func(*nodes.Span) *history.Acquisition,
	blocks func(*history.Acquisition) []spans.Span, was, while string) (found []evidence.Finding) {
	for i := range lane.Spans {
		s := &lane.Spans[i]
		from, until := l.Servers.Clock.Times(s)
		if until = min(until, l.Stop); until-from <= l.Bound {
			continue
		}
		a := whose(s)
		if a == nil || l.several[a] {
			continue
		}
		from, until = max(from, a.Invoked), history.Earliest(until, a.Returned, a.Died)
		beside := func(strictly bool) []spans.Span {
			return append(l.blocks([]*history.Acquisition{a}, strictly), blocks(a)...)
		}
		quiet, strictly := l.longestQuiet(beside(false), from, until), l.longestQuiet(beside(true), from, until)
		if inAll := until - from - spans.Merged(beside(false)).Within(from, until); inAll > 2*l.Bound {
			strictly = max(strictly, inAll) // as of a stall, see demand.across
		}
		if max(quiet, strictly) <= l.Bound {
			continue
		}
		f := l.FindingOf(kind, a, from, until,
			"%s's znode %s was %s since zxid %s (%s), and for %s %sits acquire did not return", a.Client, s.Name(), was,
			evidence.Zxid(s.From), evidence.Seconds(from), evidence.Length(max(quiet, strictly)), while)
		f.Tokens, f.Zxids = []int64{s.Czxid}, evidence.ZxidWords([]int64{s.Czxid, s.From, s.To})
		// A client whose server shows another znode ahead of its own is right to wait.
		if l.blameServer(&f); quiet <= l.Bound {
			l.unsure = append(l.unsure, f.Text+besideWeak)
			continue
		}
		found = append(found, f)
	}
	return found
}

// waiting returns the acquisition that was waiting as the znode was created; nil if there was none, or more than one.
func (l *LivenessJudge) waiting(s *nodes.Span, all []*history.Acquisition) *history.Acquisition {
	created := l.Servers.Clock.At(s.Created)
	var one *history.Acquisition
	for _, a := range all {
		if !l.ClientsOf[history.SessionID(s.Owner)][a.Client] || a.Invoked > created+l.Servers.Clock.Err ||
			history.Earliest(math.MaxInt64, a.Returned, a.Died) < created {
			continue
		}
		if one != nil {
			return nil
		}
		one = a
	}
	return one
}
