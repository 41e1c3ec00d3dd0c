package service

import (
	"iter"
	"maps"
	"math"
	"slices"

	"locklab/ensembles/txnlog/nodes"
)

// A Logged is a transaction of a znode or a session, at the time (ms) when the leader prepared it.
type Logged struct{ Zxid, Time int64 }

// An Epoch is a leader's: its first transaction of a znode or session, and the last of the leader before it, which is
// zero if there was none.
type Epoch struct{ Before, First Logged }

// Epochs are those of all leaders, in order.
func Epochs(h *nodes.History) []Epoch {
	first, last := map[int64]Logged{}, map[int64]Logged{} // by epoch
	for t := range logged(h) {
		epoch := t.Zxid >> 32
		if was, known := first[epoch]; !known || t.Zxid < was.Zxid {
			first[epoch] = t
		}
		if t.Zxid > last[epoch].Zxid {
			last[epoch] = t
		}
	}
	var all []Epoch
	var before Logged
	for _, epoch := range slices.Sorted(maps.Keys(first)) {
		all = append(all, Epoch{before, first[epoch]})
		before = last[epoch]
	}
	return all
}

// LastBefore is the last instant, not after another, at which the leader prepared a transaction; the beginning of time
// if there is none. at places the times of the logs.
func LastBefore(h *nodes.History, at func(ms int64) int64, until int64) int64 {
	last := int64(math.MinInt64)
	for t := range logged(h) {
		if prepared := at(t.Time); prepared <= until {
			last = max(last, prepared)
		}
	}
	return last
}

// logged yields the transactions of znodes and sessions.
func logged(h *nodes.History) iter.Seq[Logged] {
	return func(yield func(Logged) bool) {
		one := func(zxid, ms int64) bool { return zxid == 0 || yield(Logged{zxid, ms}) }
		for _, l := range h.Lives {
			if !one(l.Czxid, l.Created) || l.End != nil && !one(l.End.Zxid, l.End.Time) {
				return
			}
		}
		for _, s := range h.Sessions {
			if !one(s.Created, s.CreatedTime) || !one(s.Closed, s.ClosedTime) {
				return
			}
		}
	}
}
