package client

import (
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"locklab/harness/history"
	"locklab/workloads/control"
)

// triggers are points at which a client stops its own process, or does harm to its own session. Only
// the client can hit a hold that lasts milliseconds.
type triggers struct {
	mu    sync.Mutex
	armed map[string]trigger // by point
}

// A trigger is the action that is armed at a point, and the fault that it belongs to.
type trigger struct{ fault, action string }

func (t *triggers) arm(fault, point, action string) error {
	if action != control.StrikeStop && action != control.StrikeExpire && action != control.StrikeMove {
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
	if armed.action != control.StrikeStop {
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
