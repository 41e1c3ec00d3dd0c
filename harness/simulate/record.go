package simulate

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"locklab/harness/history"
	"locklab/recipes/zktest/sim"
)

// A record is the history of a run.
type record struct {
	w      *sim.World
	mu     sync.Mutex
	events []history.Event
	over   bool // nothing more is recorded
}

// lane orders the events of one host at one instant. At most one host acts then, but several of its goroutines may. The
// events of each have a lane of their own, so that the order of the record does not depend on the scheduler.
func lane(op history.Op) int {
	switch op {
	case history.OpConnected, history.OpDisconnected, history.OpExpired, history.OpHiccup:
		return 0
	case history.OpLost:
		return 1
	case history.OpQueued:
		return 2
	}
	return 3
}

// at records an event of a process.
func (r *record) at(now time.Duration, process string, e history.Event) {
	e.Process, e.At = process, int64(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.events = append(r.events, e)
	}
}

// harness records an event of the harness, from the kernel.
func (r *record) harness(e history.Event) { r.at(r.w.Now(), "harness", e) }

// Record implements [resource.Recorder].
func (r *record) Record(e history.Event) error {
	r.at(r.w.Now(), "r1", e)
	return nil
}

// close ends the record and returns it.
func (r *record) close() []history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	slices.SortStableFunc(r.events, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Process, b.Process), cmp.Compare(lane(a.Op), lane(b.Op)))
	})
	return r.events
}
