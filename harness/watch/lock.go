package watch

import (
	"context"
	"iter"
	"slices"
	"time"

	"locklab/harness/check/effect"
	"locklab/harness/history"
)

// A lock is what is known of one lock and of what it protects.
type lock struct {
	// open has the holds that last, in the order of arrival, and ended those that ended a short time ago, in the order of
	// their ends or, if the lock is crowded, of arrival.
	open, ended []hold
	crowded     bool
	// fences has the accesses that the resource accepted.
	fences effect.Fences
	// writes is how many writes were accepted and value is the counter after the last. Each write adds one to the value
	// that its client has read, so the difference between the two is lost.
	writes, value int64
	finalKnown    bool // the final value of the counter or list has been recorded
}

// A hold is a client's belief that it holds a lock; until is 0 while it lasts.
type hold struct {
	client      string
	acq         int64
	session     history.SessionID
	mode        history.Mode
	from, until int64
}

// lock returns the lock at a path. v.mu is held.
func (v *View) lock(path string) *lock {
	return entry(v.locks, path)
}

// beginHold takes in a grant. v.mu is held.
func (v *View) beginHold(e *history.Event) {
	if e.Mode == history.ModePermit {
		v.uncounted = true
	}
	l := v.lock(e.Lock)
	l.open = append(l.open, hold{client: e.Client, acq: e.Acq, session: e.Session, mode: e.Mode, from: e.At})
}

const (
	// mostEnded is how many ended holds of a lock are kept, while they might overlap another hold. Where there are more,
	// the lock is crowded and its overlaps are no longer counted.
	mostEnded = 1 << 14
	// lastEnded is how many are kept of a crowded lock.
	lastEnded = 1 << 10
)

// endHold ends a hold and counts those that it overlapped. v.mu is held.
func (v *View) endHold(path, client string, acq, at int64) {
	l := v.lock(path)
	i := slices.IndexFunc(l.open, func(h hold) bool { return h.client == client && h.acq == acq })
	if i < 0 {
		return
	}
	ended := l.open[i]
	ended.until = at
	l.open = slices.Delete(l.open, i, i+1)
	if !l.crowded {
		v.overlaps += l.overlapping(ended)
		place := len(l.ended) // holds end nearly in the order of arrival
		for place > 0 && l.ended[place-1].until > at {
			place--
		}
		l.ended = slices.Insert(l.ended, place, ended)
		l.forget(at)
		l.crowded = len(l.ended) > mostEnded
		v.uncounted = v.uncounted || l.crowded
		return
	}
	l.ended = append(l.ended, ended)
	if n := len(l.ended); n > 2*lastEnded {
		l.ended = slices.Delete(l.ended, 0, n-lastEnded)
	}
}

// overlapping counts the ended holds that a hold which ends now overlapped: a pair is counted when the second of the
// two ends. Two holds of one client do not overlap.
func (l *lock) overlapping(now hold) (n int) {
	for _, h := range slices.Backward(l.ended) {
		if h.until <= now.from {
			break
		}
		if h.client != now.client && history.Conflict(h.mode, now.mode) && h.from < now.until {
			n++
		}
	}
	return n
}

// forget drops holds that can overlap nothing any more, because they ended well before every open one began. The second
// allows for histories that arrive out of order.
func (l *lock) forget(now int64) {
	const often = 64
	if len(l.ended)%often != 0 {
		return
	}
	oldest := now
	for _, h := range l.open {
		oldest = min(oldest, h.from)
	}
	old := 0
	for old < len(l.ended) && l.ended[old].until < oldest-int64(time.Second) {
		old++
	}
	l.ended = slices.Delete(l.ended, 0, old)
}

// holds returns the holds that are known, the open ones first.
func (l *lock) holds() iter.Seq[hold] {
	return func(yield func(hold) bool) {
		for _, all := range [][]hold{l.open, l.ended} {
			for _, h := range all {
				if !yield(h) {
					return
				}
			}
		}
	}
}

// served takes in the resource's own record of an access. v.mu is held.
func (v *View) served(e *history.Event) {
	switch {
	case e.Kind == history.OK:
		l := v.lock(e.Lock)
		if e.Op != history.OpExit && l.fences.Stale(e) {
			v.stale++
		}
		if e.Op == history.OpWrite && !v.config.Lists {
			v.shared = v.shared || e.Mode == history.ModeRead || e.Mode == history.ModePermit
			l.writes, l.value = l.writes+1, e.Access().Value
		}
		l.fences.Serve(e)
	case e.Kind == history.Fail && e.Op != history.OpExit:
		v.refused++
	}
}

// accessed takes in a client's access to data in ZooKeeper. The records of several clients arrive in no order, so
// whether an access that was acknowledged was stale cannot be said yet. v.mu is held.
func (v *View) accessed(e *history.Event) {
	switch e.Kind {
	case history.OK:
		l := v.lock(e.Lock)
		if e.Op == history.OpWrite {
			l.writes, l.value = l.writes+1, max(e.Access().Value, l.value)
		}
		l.fences.Serve(e)
	case history.Fail:
		v.refused++
	}
}

// Finals returns of how many locks the final value is known.
func (s State) Finals() int {
	n := 0
	for _, l := range s.v.locks {
		if l.finalKnown {
			n++
		}
	}
	return n
}

// Superseded waits until whatever the victim of a trigger does next is stale: until the resource has served a holder
// with a later token. Without a token nothing shows in what order the resource served its clients, so there it waits
// until another client has been granted the lock in a mode that excludes the victim's.
func (v *View) Superseded(ctx context.Context, victim history.Event) error {
	return v.Wait(ctx, func(State) bool {
		l := v.lock(victim.Lock)
		if victim.Token != 0 {
			return l.fences.Stale(&victim)
		}
		for h := range l.holds() {
			if h.from > victim.At && h.client != victim.Client && history.Conflict(victim.Mode, h.mode) {
				return true
			}
		}
		return false
	})
}
