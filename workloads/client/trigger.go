package client

import (
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"locklab/harness/history"
)

// BetweenReadAndWrite is the point of a critical section after the counter was
// read and before it is written: where a stale write loses an update.
const BetweenReadAndWrite = "between-read-and-write"

// BeforeWrite is the point of a critical section directly before the counter is written, behind what the
// client's guard asks: where no client can guard itself.
const BeforeWrite = "before-write"

// BetweenReads is the point between the two reads of a client that writes nothing: there, what a reader relies on can
// change.
const BetweenReads = "between-reads"

// WithinHold is an instant of the time for which a client holds on between its accesses, see [client.dwell].
const WithinHold = "within-hold"

// triggers are points at which a client stops its own process, or does harm to its own session. Only
// the client can hit a hold that lasts milliseconds.
type triggers struct {
	mu    sync.Mutex
	armed map[string]trigger // by point
}

// A trigger is the action that is armed at a point, and the fault that it belongs to.
type trigger struct{ fault, action string }

func (t *triggers) arm(fault, point, action string) error {
	if action != StrikeStop && action != StrikeExpire && action != StrikeMove {
		return fmt.Errorf("unknown strike %q", action)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed == nil {
		t.armed = map[string]trigger{}
	}
	t.armed[point] = trigger{fault, action}
	return nil
}

func (t *triggers) disarm(fault string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for point, armed := range t.armed {
		if armed.fault == fault {
			delete(t.armed, point)
		}
	}
}

// take returns the action that is armed at a point, once.
func (t *triggers) take(point string) (armed trigger, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	armed, ok = t.armed[point]
	delete(t.armed, point)
	return armed, ok
}

// armedAt returns the fault that is armed at a point; "" if none is.
func (t *triggers) armedAt(point string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.armed[point].fault
}

// A place is in a client's critical section.
type place struct {
	claim history.Claim
	slot  history.Slot // under a permit
}

// at does what a trigger is armed for at the point, if one is: it stops the process, or does harm to
// the client's session. The event is in the history before that; where says whose critical section it is.
func (p *process) at(point string, where place) error {
	armed, ok := p.triggers.take(point)
	if !ok {
		return nil
	}
	e := where.claim.Trigger(armed.fault, point, where.slot)
	if armed.action != StrikeStop {
		return p.strike(armed.action, e)
	}
	if err := p.rec.Record(e); err != nil {
		return err
	}
	if err := stopCompanions(); err != nil {
		return err
	}
	// A signal to the process may be taken by another thread, and this one would
	// run on for a moment; one to this thread stops it on the way out of the call.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
}
