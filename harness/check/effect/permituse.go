package effect

import (
	"cmp"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A use is the use of the resource under a hold of permits: from the first access that was accepted to the last.
// Leaving (exit) does not use it.
type use struct {
	units  int64
	called int64 // when the hold was asked for
	first  *history.Event
	last   int64 // when the last was
}

// A calledKey names an acquisition before its session is known.
type calledKey struct {
	client string
	n      int64
}

// takes notes that permits were asked for, or granted.
func (x *Effects) takes(e *history.Event) {
	if e.Mode != history.ModePermit {
		return
	}
	l, k := x.of(e.Lock), calledKey{e.Client, e.Acq}
	switch e.Kind {
	case history.Invoke:
		l.called[k] = e.At
	case history.OK:
		l.uses[keyOf(e)] = &use{units: e.Permits(), called: l.called[k]}
		delete(l.called, k)
	}
}

func (x *Effects) user(l *LockEffect, e *history.Event) {
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
		u.first = kept(e)
	}
	u.last = e.At
}

// crowd looks for instants at which more permits were in use than there are, and counts the uses that began at one.
// This is model M4 for use rather than belief. As for belief, the number of permits is one that was in force between
// the call of the last of these holds and the instant. The use of a holder that never came back ended with its last
// access, so a guard that refuses stale accesses leaves no crowd, whatever clients believe.
func (x *Effects) crowd() {
	if x.permits <= 0 {
		return
	}
	for _, lock := range evidence.SortedKeys(x.Locks) {
		var uses []*use
		for _, u := range x.Locks[lock].uses {
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
func (x *Effects) crowdOf(uses []*use) {
	var active []*use // no more than the permits, unless there is a crowd
	for _, u := range uses {
		active = slices.DeleteFunc(active, func(a *use) bool { return a.last < u.first.At })
		active = append(active, u)
		var taken, called int64
		for _, a := range active {
			taken, called = taken+a.units, max(called, a.called)
		}
		if limit := x.Most(u.first.Lock, called, u.first.At); taken > limit {
			x.crowded++
			x.note(damage{lock: x.of(u.first.Lock), e: u.first, crowd: slices.Clone(active), excess: taken - limit,
				finding: x.find(evidence.KindCrowded, u.first, active[0].first, "with %s %d permits were in use, of %d",
					u.first.Client,
					taken, limit)})
		}
	}
}
