package reports

import (
	"locklab/harness/check"
	"locklab/harness/history"
)

// servedSpans returns what the servers held of the lock while s, by their transaction logs; nil if
// those were not read. Holders at one time are in rows of their own.
func servedSpans(rep check.Report, lock string, s span, end int64) []ownedSpan {
	if rep.Held == nil {
		return nil
	}
	all := []ownedSpan{}
	var until []int64 // of the last in each row
	for _, t := range rep.Held.Locks[lock] {
		o := ownedSpan{span: span{t.From, min(t.Until, end)}, Client: t.Client}
		if !o.overlaps(s) {
			continue
		}
		for o.Row < len(until) && until[o.Row] > o.From {
			o.Row++
		}
		if o.Row == len(until) {
			until = append(until, 0)
		}
		until[o.Row] = o.To
		all = append(all, o)
	}
	return all
}

// servedUntil returns when, by the servers' logs, a hold's znode was gone though its owner had not released it;
// false if they do not say so.
func servedUntil(rep check.Report, a *history.Acquisition) (int64, bool) {
	if rep.Held == nil {
		return 0, false
	}
	for _, t := range rep.Held.Locks[a.Lock] {
		if t.Session == a.Session && t.Token == a.Token && t.Last != 0 && t.Until >= a.Invoked {
			return t.Until, a.ReleaseInvoked == history.None || a.ReleaseInvoked > t.Until
		}
	}
	return 0, false
}
