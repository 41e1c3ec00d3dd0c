package resource

import (
	"fmt"
	"sync"

	"locklab/harness/history"
)

// Port is where the resource serves clients, on its own host.
const Port = 7100

// The guards.
const (
	// GuardNone accepts every access.
	GuardNone = "none"
	// GuardFencing refuses an access whose token is below the highest that it has
	// accepted. Every accepted access raises the fence, the first read of a new
	// holder too: were it raised by writes only, an old holder's write could
	// still land between a new holder's read and its write, and be lost.
	//
	// Holders that may be there together must not refuse each other. So what is
	// done under a read lock is refused only below the highest token accepted of a
	// writer, while a writer is refused below the highest of all; and under a
	// permit only the tokens of the same slot count.
	GuardFencing = "fencing"
)

// An Access is a client's request.
type Access struct {
	Op      string // history.OpEnter, OpRead, OpWrite or OpExit
	Lock    string
	Client  string
	Acq     int64
	Session int64
	Mode    string // the hold's
	Slot    int64  // of a permit: the one whose token it is, always the same one of a hold
	Token   int64
	Value   int64 // to write
}

// An Answer is the resource's reply.
type Answer struct {
	// Accepted is false if the guard refused the access as stale.
	Accepted bool
	// Value is the counter's after the access.
	Value int64
	// Fence is the highest token accepted so far of those that bound such an
	// access: one with a lower token is outdated.
	Fence int64
}

// Resource serves counters. It may be used by many goroutines.
type Resource struct {
	guard string
	rec   *history.Recorder

	mu       sync.Mutex
	counters map[string]*counter
}

// A counter is a lock's, with its fences: the highest tokens accepted.
type counter struct {
	value       int64
	read, write int64
	slots       map[int64]int64
}

// fence is the token that a must not be below.
func (c *counter) fence(a *Access) int64 {
	switch {
	case a.Mode == history.ModePermit:
		return c.slots[a.Slot]
	case a.toWrite():
		return max(c.read, c.write)
	}
	return c.write
}

// raise raises the fence that a has passed.
func (c *counter) raise(a *Access) {
	switch {
	case a.Mode == history.ModePermit:
		if c.slots == nil {
			c.slots = map[int64]int64{}
		}
		c.slots[a.Slot] = max(c.slots[a.Slot], a.Token)
	case a.toWrite():
		c.write = max(c.write, a.Token)
	default:
		c.read = max(c.read, a.Token)
	}
}

// toWrite reports whether a excludes readers: whatever a writer does, so that its
// first access raises the fence for them too, and a write whoever does it.
func (a *Access) toWrite() bool { return a.Mode != history.ModeRead || a.Op == history.OpWrite }

// New makes a resource with all counters at 0.
func New(guard string, rec *history.Recorder) (*Resource, error) {
	if guard != GuardNone && guard != GuardFencing {
		return nil, fmt.Errorf("resource: unknown guard %q", guard)
	}
	return &Resource{guard: guard, rec: rec, counters: map[string]*counter{}}, nil
}

// Do carries an access out. It has the signature that net/rpc asks for.
func (r *Resource) Do(a Access, answer *Answer) error {
	// The record is written under the lock, so its order is the order of effects.
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counters[a.Lock]
	if c == nil {
		c = &counter{}
		r.counters[a.Lock] = c
	}
	kind := history.OK
	if r.guard == GuardFencing && a.Token < c.fence(&a) {
		kind = history.Fail
	} else {
		c.raise(&a)
		if a.Op == history.OpWrite {
			c.value = a.Value
		}
	}
	*answer = Answer{Accepted: kind == history.OK, Value: c.value, Fence: c.fence(&a)}
	e := history.Event{Kind: kind, Op: a.Op, Lock: a.Lock, Client: a.Client, Acq: a.Acq, Mode: a.Mode,
		Session: history.SessionID(a.Session), Token: a.Token, Value: c.value}
	if a.Mode == history.ModePermit {
		e.Target = history.Slot(a.Slot)
	}
	return r.rec.Record(e)
}
