package history

import (
	"cmp"
	"maps"
	"slices"
)

// ByLock returns every lock's acquisitions that match, in the order in which they have been given. Nil matches all.
func ByLock(all []Acquisition, match func(*Acquisition) bool) map[string][]*Acquisition {
	n := map[string]int{}
	for i := range all {
		if a := &all[i]; match == nil || match(a) {
			n[a.Lock]++
		}
	}
	byLock := make(map[string][]*Acquisition, len(n))
	for lock, n := range n {
		byLock[lock] = make([]*Acquisition, 0, n)
	}
	for i := range all {
		if a := &all[i]; match == nil || match(a) {
			byLock[a.Lock] = append(byLock[a.Lock], a)
		}
	}
	return byLock
}

// GrantsByLock returns every lock's granted acquisitions in the order in which acquire returned. Those of one instant
// are in the order of their places. The locks are in the order of their names.
func GrantsByLock(all []Acquisition) [][]*Acquisition {
	byLock := ByLock(all, (*Acquisition).Granted)
	grants := make([][]*Acquisition, 0, len(byLock))
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		slices.SortFunc(byLock[lock], func(a, b *Acquisition) int {
			return cmp.Or(cmp.Compare(a.Returned, b.Returned), cmp.Compare(a.Place, b.Place))
		})
		grants = append(grants, byLock[lock])
	}
	return grants
}

// Grants returns [GrantsByLock] of a history. The log keeps them, and nobody may change them.
func Grants(events *Log) [][]*Acquisition {
	if events == nil {
		return nil
	}
	g := events.gathered()
	g.sorted.Do(func() { g.grants = GrantsByLock(g.all) })
	return g.grants
}
