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
	units int64
	first *history.Event
	last  int64 // when the last was
}

// takes notes that permits were granted, and the lock of which they were asked for.
func (x *Effects) takes(e *history.Event) {
	if e.Mode != history.ModePermit {
		return
	}
	if l := x.of(e.Lock); e.Kind == history.OK {
		l.uses[keyOf(e)] = &use{units: e.Permits()}
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
// the instant since which the last of these holds can have been granted and the use. The use of a holder that never
// came back ended with its last access, so a guard that refuses stale accesses leaves no crowd, whatever clients
// believe.
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
		var taken, since, awake int64
		for _, a := range active {
			taken += a.units
		}
		if taken <= x.Most(u.first.Lock, u.first.At, u.first.At) {
			continue
		}
		for _, a := range active {
			first, unless := x.since(a.first)
			since, awake = max(since, first), max(awake, unless)
		}
		limit := x.Most(u.first.Lock, since, u.first.At)
		switch {
		case taken > limit:
			x.crowded++
			x.note(damage{lock: x.of(u.first.Lock), e: u.first, crowd: slices.Clone(active), excess: taken - limit,
				finding: x.find(evidence.KindCrowded, u.first, active[0].first, "with %s %d permits were in use, of %d",
					u.first.Client, taken, limit)})
		case taken > x.Most(u.first.Lock, awake, u.first.At) && !x.explained(active, u):
			x.crowdedAwake++
		}
	}
}

// explained reports whether the service had taken the lock from one of these users before it gave it to the newest one.
func (x *Effects) explained(active []*use, newest *use) bool {
	return slices.ContainsFunc(active, func(u *use) bool { return u != newest && x.taken(u.first, newest.first) })
}

// inSection notes an accepted access under a hold without a token, or beside such holds. Nothing tells whether such an
// access is outdated, but the resource's own record shows who used it together.
func (x *Effects) inSection(l *LockEffect, e *history.Event) {
	if !x.excludes || e.Token != 0 && !x.bare || e.Mode == history.ModePermit || e.Op == history.OpExit || e.Client == "" {
		return
	}
	u := l.sections[keyOf(e)]
	if u == nil {
		u = &use{first: kept(e)}
		l.sections[keyOf(e)] = u
	}
	u.last = e.At
}

// together looks for uses of the resource that overlap though the holds behind them exclude each other: from the first
// access of each that was accepted to its last. It is what [Effects.crowd] is for permits.
func (x *Effects) together() {
	for _, lock := range evidence.SortedKeys(x.Locks) {
		var uses []*use
		for _, u := range x.Locks[lock].sections {
			uses = append(uses, u)
		}
		slices.SortFunc(uses, func(a, b *use) int {
			return cmp.Or(cmp.Compare(a.first.At, b.first.At), cmp.Compare(a.first.Client, b.first.Client))
		})
		holds := make([]Hold, len(uses))
		first := map[*history.Acquisition]*history.Event{}
		for i, u := range uses {
			by := &history.Acquisition{Claimant: &history.Claimant{Client: u.first.Client, Mode: u.first.Mode}, N: u.first.Acq,
				Token: u.first.Token}
			// A use of one access takes a moment too.
			holds[i], first[by] = Hold{From: u.first.At, Until: max(u.last, u.first.At+1), By: by}, u.first
		}
		EachOverlap(holds, func(a, b *Hold) {
			if a.By.Token != 0 && b.By.Token != 0 {
				return // which of them is outdated is known
			}
			x.shared++
			until := min(a.Until, b.Until)
			x.note(damage{lock: x.Locks[lock], e: first[b.By], by: first[a.By], until: until,
				finding: x.find("together", first[b.By], first[a.By], "%s used it while %s did, from %s to %s", b.By.Client,
					a.By.Client, evidence.Seconds(b.From), evidence.Seconds(until))})
		})
	}
}
