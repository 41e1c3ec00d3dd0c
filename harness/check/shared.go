package check

import (
	"cmp"
	"slices"

	"locklab/harness/history"
)

// A holdKey names a hold in the record of a resource.
type holdKey struct {
	client  string
	n       int64
	session history.SessionID
}

func keyOf(e *history.Event) holdKey { return holdKey{e.Client, e.Acq, e.Session} }

// reader takes note of what was accepted of a reader. Whoever can read two values
// under one read hold had no read lock worth the name.
func (x *effects) reader(l *lockEffect, e *history.Event) {
	x.reads = true
	k := keyOf(e)
	switch first := l.seen[k]; {
	case e.Op == history.OpExit:
		delete(l.seen, k)
	case e.Op != history.OpRead:
	case first == nil:
		l.seen[k] = e
	case first.Value != e.Value:
		x.torn++
		x.find("torn-read", e, first, "%s read %d and then %d under one read hold", e.Client, first.Value, e.Value)
	}
}

// A use is that of the resource under a hold of permits: from the first access that
// was accepted to the last, but leaving is none.
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

// crowd looks for instants at which more permits were in use than there are, and
// counts the uses that began at one: model M4 for what was used rather than believed. A use
// that a holder never came back to ended with its last access: a guard that refuses
// the stale leaves no crowd, whoever believes what.
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

// crowdOf does so for the uses of one semaphore, in the order of their beginnings.
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
			x.find("crowded", u.first, active[0].first, "%s came in as %d permits were in use, of %d", u.first.Client, taken, x.permits)
		}
	}
}
