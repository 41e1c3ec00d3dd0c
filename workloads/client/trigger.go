package client

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"locklab/harness/history"
)

// BetweenReadAndWrite is the point of a critical section after the counter was
// read and before it is written: where a stale write loses an update.
const BetweenReadAndWrite = "between-read-and-write"

// triggers are points at which a client stops its own process. Only the client
// can hit a hold that lasts milliseconds.
type triggers struct {
	mu    sync.Mutex
	armed map[string]string // fault by point
}

func (t *triggers) arm(fault, point string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed == nil {
		t.armed = map[string]string{}
	}
	t.armed[point] = fault
}

func (t *triggers) disarm(fault string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for point, f := range t.armed {
		if f == fault {
			delete(t.armed, point)
		}
	}
}

// take returns the fault armed at a point, once.
func (t *triggers) take(point string) (fault string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fault, ok = t.armed[point]
	delete(t.armed, point)
	return fault, ok
}

// at stops the process if a trigger is armed for the point. The event is in the
// history before the process stops; e says whose critical section it is.
func (p *process) at(point string, e history.Event) error {
	fault, ok := p.triggers.take(point)
	if !ok {
		return nil
	}
	e.Op, e.Kind, e.Fault, e.Detail = history.OpTrigger, history.Info, fault, point
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
