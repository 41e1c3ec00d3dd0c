package effect

import (
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// holdEnds are how clients' latest holds of a lock ended by their own record, by client: with the call of release, or
// with the news of the loss.
type holdEnds map[string]*history.Event

// note remembers the end of a hold. A loss that a client learns of while it releases the lock changes nothing.
func (h holdEnds) note(e *history.Event) {
	if was := h[e.Client]; e.Op == history.OpLost && was != nil && keyOf(was) == keyOf(e) {
		return
	}
	keep(h, e.Client, e)
}

// endOf is how the hold behind an access had ended before it; nil if it had not, or if the session is not known and
// the client's process was started again, because it may have used the number before.
func (x *Effects) endOf(l *LockEffect, e *history.Event) *history.Event {
	end := l.ends[e.Client]
	if end == nil || keyOf(end) != keyOf(e) || e.Session == 0 && x.restarted[history.HostOf(e.Client)] {
		return nil
	}
	return end
}

// restarted are the processes that were started again.
func restarted(events *history.Log) map[string]bool {
	exited, again := map[string]bool{}, map[string]bool{}
	for _, e := range events.Of(history.OpProcess) {
		exited[e.Process] = exited[e.Process] || e.ProcessIs(history.ProcessExited)
		again[e.Process] = exited[e.Process] && (again[e.Process] || e.ProcessIs(history.ProcessStarted))
	}
	return again
}

// ended notes that a client called release, or learned of a loss.
func (x *Effects) ended(e *history.Event) {
	if e.Op == history.OpLost || e.Kind == history.Invoke {
		x.of(e.Lock).ends.note(e)
	}
}

// afterHold counts an access that a client made after it had released the lock, by the client's own record. No
// fault can make a client do that, and no guard has to expect it. A guard that asks before each access makes none after
// the client has learned of its loss, except for one that was asked for just before: as long as a hand-off may take,
// standstills of the process not counted. One with a lease clock makes none either, within the same bounds, after its
// session has expired by the servers' transactions. Leaving (exit) does not use the resource. Of a write the call is
// recorded, of every other access only the answer. The call of a write that the guard forbids is recorded too, but is
// no access: see [unsentWrites].
func (x *Effects) afterHold(l *LockEffect, e *history.Event) {
	made := e.Kind != history.Invoke
	if e.Op == history.OpWrite {
		made = e.Kind == history.Invoke
	}
	end := x.endOf(l, e)
	switch {
	case !made || e.Op == history.OpExit || e.Access().GivenUp() || x.unsent[writeCall{keyOf(e), e.Lock, e.At}]:
	case end == nil:
		if at := x.expired(e); at != history.None && e.At-at-x.stood(e.Process, at, e.At) > int64(evidence.HandOff) {
			x.outlasted++
			x.find(evidence.KindUsedAfterExpiry, e, nil,
				"the %s of %s came %s after its session had expired at the servers, in spite "+
					"of its lease clock", e.Op, e.Client, evidence.Millis(e.At-at))
		}
	case end.Op == history.OpRelease:
		x.released++
		x.find(evidence.KindUsedAfterRelease, e, end, "the %s of %s came %s after it had called release", e.Op, e.Client,
			evidence.Millis(e.At-end.At))
	case x.asks && e.At-end.At-x.stood(e.Process, end.At, e.At) > int64(evidence.HandOff):
		x.broken++
		x.find(evidence.KindUsedAfterLoss, e, end,
			"the %s of %s came %s after it had learned of its loss, in spite of its guard",
			e.Op, e.Client, evidence.Millis(e.At-end.At))
	}
}

// late reports whether an access was served after its hold had ended, at the servers or by the client's own record.
func (x *Effects) late(l *LockEffect, e *history.Event) bool {
	if e.Op == history.OpExit {
		return false
	}
	if end := x.endOf(l, e); end != nil && x.certainlyBefore(end, e) {
		if end.Op == history.OpLost {
			x.lateKnown++
		} else {
			x.lateReleased++
		}
		return true
	}
	return x.gone != nil && x.gone(e)
}

// A writeCall is a client's call of a write.
type writeCall struct {
	hold holdKey
	lock string
	at   int64
}

// unsentWrites are the calls of writes that clients' guards forbade, as the answers say, so that they were never sent.
func unsentWrites(events *history.Log) map[writeCall]bool {
	unsent, called := map[writeCall]bool{}, map[string]int64{} // by client: when it called its latest write
	for _, e := range events.Of(history.OpWrite) {
		switch {
		case e.Kind == history.Invoke:
			called[e.Client] = e.At
		case e.Access().GivenUp():
			unsent[writeCall{keyOf(&e), e.Lock, called[e.Client]}] = true
		}
	}
	return unsent
}
