package progress

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// passedOver finds clients of a queue that waited while others were granted the lock that had asked for it later: once
// the first had its place, or after as long as a stall takes where its place is not recorded. It judges waits that
// lasted longer than that, up to the first such grant, if nothing disturbed the client meanwhile. Reads are left out,
// because a client that writes may go on to read ahead of others.
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
		var first *history.Acquisition
		n := int64(0)
		grants := l.Grants[lock] // in the order of their returns
		after, _ := slices.BinarySearchFunc(grants, from, func(b *history.Acquisition, from int64) int {
			return cmp.Compare(b.Returned, from)
		})
		for _, b := range grants[after:] {
			if b.Returned >= until {
				break
			}
			apart := l.Clocks().Between(a.Process, b.Process)
			if b.Client == a.Client || b.Mode == history.ModeRead || l.several[b] || b.Invoked <= from+apart ||
				b.Returned >= until-apart {
				continue
			}
			if n++; first == nil {
				first = b
			}
		}
		if n == 0 || l.Disturbed(a.Invoked, first.Returned, a.Process) {
			continue
		}
		f := evidence.Finding{
			Kind: evidence.KindPassedOver, Lock: lock, At: a.Invoked, Until: until, Cause: evidence.CauseNone,
			Clients: []string{a.Client, first.Client}, Tokens: []int64{a.Token, first.Token},
			Events: append(l.EventsOf(a), l.EventsOf(first)...),
			Text: fmt.Sprintf("%s waited for %s from %s to %s, and meanwhile it was granted %s to clients that asked for it "+
				"later, first to %s at %s", a.Client, lock, evidence.Seconds(a.Invoked), evidence.Seconds(until), evidence.Count(n,
				"time", "times"),
				first.Client, evidence.Seconds(first.Returned)),
		}
		l.blameServer(&f)
		found = append(found, f)
	}
	return found
}
