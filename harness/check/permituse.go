package check

import (
	"cmp"
	"slices"

	"locklab/harness/history"
)

// A use is the use of the resource under a hold of permits: from the first access that was accepted to the last.
// Leaving (exit) does not use it.
type use struct {
	units       int64
	first, last *history.Event
}

func (x *effects) user(l *lockEffect, e *history.Event) {
	x.permitted = true
	if e.Op == history.OpExit {
		return
	}
	u := l.uses[keyOf(e)]
	if u == nil { // its client's record is torn
		u = &use{units: 1}
		l.uses[keyOf(e)] = u
	}
	if u.first == nil {
		u.first = e
	}
	u.last = e
}

// crowd looks for instants at which more permits were in use than there are, and counts the uses that began at one.
// This is model M4 for use rather than belief. The use of a holder that never came back ended with its last access, so
// a guard that refuses stale accesses leaves no crowd, whatever clients believe.
func (x *effects) crowd() {
	if x.permits <= 0 {
		return
	}
	for _, lock := range sortedKeys(x.locks) {
		var uses []*use
		for _, u := range x.locks[lock].uses {
			if u.first != nil {
				uses = append(uses, u)
			}
		}
		slices.SortFunc(uses, func(a, b *use) int {
			return cmp.Or(cmp.Compare(a.first.At, b.first.At), cmp.Compare(a.first.Client, b.first.Client))
		})
		x.crowdOf(uses)
	}
}

// crowdOf does so for the uses of one semaphore, in the order in which they began.
func (x *effects) crowdOf(uses []*use) {
	var active []*use // no more than the permits, unless there is a crowd
	for _, u := range uses {
		active = slices.DeleteFunc(active, func(a *use) bool { return a.last.At < u.first.At })
		active = append(active, u)
		taken := int64(0)
		for _, a := range active {
			taken += a.units
		}
		if taken > x.permits {
			x.crowded++
			x.find("crowded", u.first, active[0].first, "with %s %d permits were in use, of %d", u.first.Client, taken,
				x.permits)
		}
	}
}
