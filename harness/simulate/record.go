package simulate

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"locklab/harness/history"
	"locklab/recipes/zktest/sim"
)

// A record is the history of a run. At one instant at most one host acts, but several of its goroutines may. Each has a
// lane of its own, so that the order of the record does not depend on the scheduler.
type record struct {
	w      *sim.World
	mu     sync.Mutex
	events []recorded
	over   bool // nothing more is recorded
}

type recorded struct {
	history.Event
	lane lane
}

type lane int

const (
	laneKernel lane = iota
	laneState
	laneLost
	laneQueue
	laneClient
)

// at records an event of a process.
func (r *record) at(now time.Duration, l lane, process string, e history.Event) {
	e.Process, e.At = process, int64(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.events = append(r.events, recorded{e, l})
	}
}

// harness records an event of the harness, from the kernel.
func (r *record) harness(e history.Event) { r.at(r.w.Now(), laneKernel, "harness", e) }

// Record implements [resource.Recorder].
func (r *record) Record(e history.Event) error {
	r.at(r.w.Now(), laneKernel, "r1", e)
	return nil
}

// close ends the record and returns it.
func (r *record) close() []history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	slices.SortStableFunc(r.events, func(a, b recorded) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Process, b.Process), cmp.Compare(a.lane, b.lane))
	})
	all := make([]history.Event, len(r.events))
	for i := range r.events {
		all[i] = r.events[i].Event
	}
	return all
}
