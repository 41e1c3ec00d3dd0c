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
	GuardFencing = "fencing"
)

// An Access is a client's request.
type Access struct {
	Op      string // history.OpEnter, OpRead, OpWrite or OpExit
	Lock    string
	Client  string
	Acq     int64
	Session int64
	Token   int64
	Value   int64 // to write
}

// An Answer is the resource's reply.
type Answer struct {
	// Accepted is false if the guard refused the access as stale.
	Accepted bool
	// Value is the counter's after the access.
	Value int64
	// Fence is the highest token accepted so far.
	Fence int64
}

// Resource serves counters. It may be used by many goroutines.
type Resource struct {
	guard string
	rec   *history.Recorder

	mu       sync.Mutex
	counters map[string]*counter
}

type counter struct {
	value int64
	fence int64
}

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
	if r.guard == GuardFencing && a.Token < c.fence {
		kind = history.Fail
	} else {
		c.fence = max(c.fence, a.Token)
		if a.Op == history.OpWrite {
			c.value = a.Value
		}
	}
	*answer = Answer{Accepted: kind == history.OK, Value: c.value, Fence: c.fence}
	return r.rec.Record(history.Event{Kind: kind, Op: a.Op, Lock: a.Lock, Client: a.Client, Acq: a.Acq,
		Session: history.SessionID(a.Session), Token: a.Token, Value: c.value})
}
