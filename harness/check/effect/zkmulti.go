package effect

import (
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A staleCall is the invocation of a stale write, and the access that had made it stale.
type staleCall struct{ by, call *history.Event }

// inZooKeeper judges an access to a counter that ZooKeeper keeps, by its client's own record, in order of time. When a
// write took effect is not recorded, only that it did so between the call and the return. So
//
//   - An access is stale if it was called after an access with a higher token had returned, because a later holder was
//     certainly there. If it was accepted, it is damage; if it was refused, it is counted as rejected. An access that
//     was refused before that was refused to a client that had lost the lock too, but it might have done no harm.
//   - A write is damage as well if it was called after the znodes of its hold were gone, by the servers' transactions.
//   - If two acknowledged writes set a counter to the same value, one of them was lost, because each adds one to what
//     it read. Their order in time shows nothing, since an acknowledgement may be late.
//
// The final value shows whether anything else was lost, and so does the version of its znode, see [Effects.resolve]
// and [Effects.compare].
func (x *Effects) inZooKeeper(l *LockEffect, e *history.Event) {
	k := keyOf(e)
	switch e.Kind {
	case history.Invoke:
		if by := x.outdatedBy(l, e); by != nil {
			l.stale[k] = staleCall{by: kept(by), call: kept(e)}
		}
		return
	case history.OK:
	case history.Fail:
		if by := x.outdatedBy(l, e); by != nil {
			x.StaleRejected++
			x.findStale(evidence.KindStaleRejected, "was refused", e, by, x.callOf(e))
		} else {
			x.early++
		}
		return
	default:
		if e.Op == history.OpWrite {
			l.open = append(l.open, kept(e))
		}
		return // of unknown outcome
	}
	x.recorded = true
	x.tokens = x.tokens || e.Token != 0
	if e.Op == history.OpWrite {
		if s, stale := l.stale[k]; stale {
			x.StaleAccepted++
			x.findStale(evidence.KindStaleAccepted, "was accepted", e, s.by, s.call)
		} else if call := x.callOf(e); call != nil && x.gone != nil && x.gone(call) {
			x.afterEnd++
			x.find(evidence.KindAcceptedAfterEnd, e, call,
				"the write of %s was acknowledged at %s, though its hold had ended at the "+
					"servers before it was called for at %s", e.Client, evidence.Seconds(e.At), evidence.Seconds(call.At))
		}
		wrote := e.Access().Value
		if other := l.values[wrote]; other != nil {
			x.overwritten++
			x.find(evidence.KindLostUpdate, e, other, "%s and %s both wrote %d", other.Client, e.Client, wrote)
		}
		l.values[wrote], l.wrote = kept(e), *e
		l.lastWrite = &l.wrote
		if l.highest == nil || wrote > l.highest.Access().Value {
			l.highest = l.values[wrote]
		}
	}
	x.staleReadInZooKeeper(l, e)
	if e.Mode == history.ModeRead {
		x.reader(l, e)
	}
	l.fences.Serve(e)
}

// outdatedBy is the access with a higher token that had certainly returned before the client recorded e; nil if there
// is none.
func (x *Effects) outdatedBy(l *LockEffect, e *history.Event) *history.Event {
	if by := l.fences.Bound(e); l.fences.Stale(e) && x.certainlyBefore(by, e) {
		return by
	}
	return nil
}

// resolve finds out what became of writes whose outcome their clients never learned, from how many writes ZooKeeper
// executed in all. If it executed as many as it acknowledged, none of the others had an effect: a write that was stale
// when it was called was refused and can have none any more, while others may still be on their way. If it executed
// more than those others can account for, it accepted stale writes.
func (x *Effects) resolve(versions map[string]int64, whole bool) {
	for _, lock := range evidence.SortedKeys(x.Locks) {
		l := x.Locks[lock]
		executed, known := versions[lock]
		if !known {
			continue
		}
		if n := l.acknowledged - executed; n > 0 {
			x.miscounted += n
			x.find(evidence.KindAccounting, &history.Event{Lock: lock}, nil,
				"clients have %d acknowledged writes, ZooKeeper executed %d", l.acknowledged, executed)
		}
		if !whole {
			continue // more may have been acknowledged than is recorded
		}
		var stale []*history.Event
		for _, e := range l.open {
			if _, was := l.stale[keyOf(e)]; was {
				stale = append(stale, e)
			}
		}
		others := l.invoked - l.acknowledged - l.refused - int64(len(stale))
		if n := executed - l.acknowledged - others; n > 0 && len(stale) > 0 {
			x.StaleAccepted += n
			x.find(evidence.KindStaleAccepted, stale[0], l.stale[keyOf(stale[0])].by,
				"ZooKeeper executed %d more than it acknowledged, of which at most %d can be writes of clients "+
					"not known to be outdated", executed-l.acknowledged, others)
		}
		if executed != l.acknowledged {
			continue
		}
		for _, e := range stale {
			s := l.stale[keyOf(e)]
			l.refused++
			x.StaleRejected++
			x.find(evidence.KindStaleRejected, e, s.by,
				"the write of %s with token %d, after %s with token %d, had no effect, "+
					"because ZooKeeper executed no more writes than it acknowledged; %v",
				e.Client, e.Token, s.by.Client, s.by.Token, x.outdatedAccess(e, s.call))
		}
	}
}

// compare counts the updates of a counter that were lost, by how many writes ZooKeeper executed. Each of them set the
// counter to one more than its client had read. So the counter falls short of the writes by exactly the lost updates,
// whether or not their clients were told that they had written, and it can never exceed them.
func (x *Effects) compare(l *LockEffect, at *history.Event, value, executed int64) {
	switch n := executed - value; {
	case n > 0 && !l.shared:
		x.lost += n
		x.find("lost-updates", at, nil, "ZooKeeper executed %s, but the final value is %d: %s lost",
			evidence.Count(executed, "write", "writes"), value, evidence.Count(n, "update was", "updates were"))
	case n < 0:
		x.miscounted -= n
		x.find(evidence.KindAccounting, at, nil, "the final value is %d, but ZooKeeper executed only %s", value,
			evidence.Count(executed, "write", "writes"))
	}
}
