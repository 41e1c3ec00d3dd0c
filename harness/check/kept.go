package check

import "locklab/harness/history"

// kept judges an access to what ZooKeeper keeps, by its client's own record, in order of time. When a
// write took effect is not recorded, only that it did between the call and the return. So
//
//   - stale is what was called after an access with a higher token had returned: a later holder was
//     certainly there. Accepted, it is damage; refused, it is counted as rejected. What was
//     refused before that was refused to one who had lost the lock too, but might have done no harm.
//   - a counter that two acknowledged writes set to the same value lost one of them: each adds one to
//     what it read. Their order in time shows nothing, for an acknowledgement may be late.
//
// Whether anything else was lost is for the final value to say, and for the version of its znode, see [effects.resolve].
func (x *effects) kept(l *lockEffect, e *history.Event) {
	k := keyOf(e)
	switch e.Kind {
	case history.Invoke:
		if l.fences.Stale(e) {
			l.stale[k] = l.fences.Bound(e)
		}
		return
	case history.OK:
	case history.Fail:
		if by := l.fences.Bound(e); l.fences.Stale(e) {
			x.staleRejected++
			x.find("stale-rejected", e, by, "%s of %s was refused with token %d, after %s with token %d", e.Op, e.Client, e.Token, by.Client, by.Token)
		} else {
			x.early++
		}
		return
	default:
		if e.Op == history.OpWrite {
			l.open = append(l.open, e)
		}
		return // of unknown outcome
	}
	x.recorded = true
	x.tokens = x.tokens || e.Token != 0
	if e.Op == history.OpWrite {
		if by := l.stale[k]; by != nil {
			x.staleAccepted++
			x.find("stale-accepted", e, by, "write of %s was accepted with token %d, after %s with token %d", e.Client, e.Token, by.Client, by.Token)
		}
		if other := l.values[e.Value]; other != nil {
			x.overwritten++
			x.find("lost-update", e, other, "%s and %s both wrote %d", other.Client, e.Client, e.Value)
		}
		l.values[e.Value], l.lastWrite = e, e
	}
	if e.Mode == history.ModeRead {
		x.reader(l, e)
	}
	l.fences.Serve(e)
}

// resolve finds out what became of writes whose outcome their clients never learned, from how many writes ZooKeeper
// executed in all. If those are as many as were acknowledged, none of the others had an effect. What was stale when it was
// called will have none any more: it was refused. Others may still be on their way. If it executed more than those others
// can account for, what was stale was accepted.
func (x *effects) resolve(versions map[string]int64, whole bool) {
	for _, lock := range sortedKeys(x.locks) {
		l := x.locks[lock]
		executed, known := versions[lock]
		if !known {
			continue
		}
		if n := l.acknowledged - executed; n > 0 {
			x.miscounted += n
			x.find("accounting", &history.Event{Lock: lock}, nil, "clients have %d acknowledged writes, ZooKeeper executed %d", l.acknowledged, executed)
		}
		if !whole {
			continue // what was acknowledged may be more than is recorded
		}
		var stale []*history.Event
		for _, e := range l.open {
			if l.stale[keyOf(e)] != nil {
				stale = append(stale, e)
			}
		}
		others := l.invoked - l.acknowledged - l.refused - int64(len(stale))
		if n := executed - l.acknowledged - others; n > 0 && len(stale) > 0 {
			x.staleAccepted += n
			x.find("stale-accepted", stale[0], l.stale[keyOf(stale[0])], "ZooKeeper executed %d writes more than it acknowledged, of which no more than %d can have been of those who were not known to be outdated", executed-l.acknowledged, others)
		}
		if executed != l.acknowledged {
			continue
		}
		for _, e := range stale {
			by := l.stale[keyOf(e)]
			l.refused++
			x.staleRejected++
			x.find("stale-rejected", e, by, "write of %s with token %d, after %s with token %d, had no effect: ZooKeeper executed no more than it acknowledged", e.Client, e.Token, by.Client, by.Token)
		}
	}
}
