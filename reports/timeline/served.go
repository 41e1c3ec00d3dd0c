package timeline

import (
	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/reports/measure"
)

// servedSpans returns which clients held the lock during s by the servers' transaction logs; nil if the logs were not
// read. Clients that held it at the same time are in different rows.
func servedSpans(rep check.Report, lock string, s measure.Span, end int64) []ownedSpan {
	if rep.ServerHolds == nil {
		return nil
	}
	all := []ownedSpan{}
	var until []int64 // the end of the last span in each row
	for _, t := range rep.ServerHolds.Locks[lock] {
		o := ownedSpan{Span: measure.Span{From: t.From, To: min(t.Until, end)}, Client: t.Client}
		if !o.Overlaps(s) {
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

// servedUntil returns when a hold's znode was gone by the servers' logs although its owner had not released it; false
// if the logs do not say so.
func servedUntil(rep check.Report, a *history.Acquisition) (int64, bool) {
	if rep.ServerHolds == nil {
		return 0, false
	}
	for _, t := range rep.ServerHolds.Locks[a.Lock] {
		if t.Session == a.Session && t.Token == a.Token && t.Last != 0 && t.Until >= a.Invoked {
			return t.Until, a.ReleaseInvoked == history.None || a.ReleaseInvoked > t.Until
		}
	}
	return 0, false
}
