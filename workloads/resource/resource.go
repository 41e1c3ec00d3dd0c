package resource

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"locklab/harness/history"
	"locklab/workloads"
)

// An Access is a client's request.
type Access struct {
	Op      history.Op // OpEnter, OpRead, OpWrite or OpExit
	Lock    string
	Client  string
	Acq     int64
	Session int64
	Mode    history.Mode // the hold's
	Slot    int64        // of a permit: the one whose token it is, always the same one of a hold
	Token   int64
	Value   int64 // to write; or to append
	// List is which list Value is appended to: that of the Answer to a read.
	List int64
}

// An Answer is the resource's reply.
type Answer struct {
	// Accepted is false if the access was refused as stale.
	Accepted bool
	// Value is the counter's value after the access, or the list's last element, 0 if it is empty; List tells that
	// list from all others of the lock.
	Value, List int64
	// Fence is the highest token accepted so far among those that bound such an access: an access with a lower token
	// is outdated.
	Fence int64
}

// A Recorder keeps the record of what the resource did: a [history.Recorder], or one in memory.
type Recorder interface {
	Record(e history.Event) error
}

// Resource serves counters. It may be used by many goroutines.
type Resource struct {
	fencing bool // see [New]
	lists   bool
	rec     Recorder

	mu       sync.Mutex
	counters map[string]*counter
	elements int // of all lists
}

// A counter is one lock's counter with its fences: the highest tokens accepted.
type counter struct {
	value       int64
	list        *list // nil unless the data is a list
	read, write int64
	slots       map[int64]int64
}

// fence returns the token below which a is refused.
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

// toWrite reports whether a excludes readers. Everything that a writer does excludes them, so that its first access
// raises the fence for them too, and so does a write in any mode.
func (a *Access) toWrite() bool { return a.Mode != history.ModeRead || a.Op == history.OpWrite }

// New makes a resource with all counters at 0.
//
// With fencing it refuses an access whose token is below the highest that it has accepted. Every accepted access raises
// the fence, the first read of a new holder too: if only writes raised it, an old holder's write could still land
// between a new holder's read and its write, and be lost.
//
// Clients that may hold together must not refuse each other. So an access under a read lock is refused only if its
// token is lower than the highest accepted of a writer, while a writer's is refused if it is lower than the highest
// of all. Under a permit, only the tokens of the same slot count.
func New(fencing bool, rec Recorder) *Resource {
	return &Resource{fencing: fencing, rec: rec, counters: map[string]*counter{}}
}

// Do carries out an access. It has the signature that net/rpc requires.
func (r *Resource) Do(a Access, answer *Answer) error {
	// The record is written under the lock, so its order is the order of effects.
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counter(a.Lock)
	if c.list != nil && a.Op == history.OpWrite && r.elements == workloads.MaxElements {
		return ErrFull
	}
	kind, behind := history.OK, history.Behind("")
	if r.fencing && a.Token < c.fence(&a) {
		kind = history.Fail
	} else {
		behind = r.accept(&a)
	}
	*answer = Answer{Accepted: kind == history.OK, Value: c.value, Fence: c.fence(&a)}
	if c.list != nil {
		answer.List = c.list.head
	}
	claim := history.Claim{Lock: a.Lock, Client: a.Client, Acq: a.Acq, Mode: a.Mode,
		Session: history.SessionID(a.Session), Token: a.Token}
	access := history.Access{Value: c.value, Behind: behind}
	if a.Mode == history.ModePermit {
		access.Slot = history.NewSlot(a.Slot)
	}
	return r.rec.Record(claim.Access(a.Op, kind, access))
}

// counter returns a lock's counter. r.mu is held.
func (r *Resource) counter(lock string) *counter {
	c := r.counters[lock]
	if c == nil {
		c = &counter{}
		if r.lists {
			c.list = &list{}
		}
		r.counters[lock] = c
	}
	return c
}

// accept carries out an access that was not refused, and records which list a write appended to. r.mu is held.
func (r *Resource) accept(a *Access) (behind history.Behind) {
	c := r.counter(a.Lock)
	c.raise(a)
	if a.Op != history.OpWrite {
		return ""
	}
	c.value = a.Value
	if c.list == nil {
		return ""
	}
	r.elements++
	return history.NewBehind(c.list.write(a.List, a.Value))
}

// ErrFull is the refusal to append to a list beyond [workloads.MaxElements].
var ErrFull = fmt.Errorf("resource: the lists have %d elements, and hold no more", workloads.MaxElements)

// A list is what a section that appends reads and writes as a whole. A client writes what it has read plus one
// element, whatever the list is by then. So that a write need not carry the whole list, every list that ever existed
// is kept, as the list that it was written from and its last element.
type list struct {
	all  []version
	head int64 // the number of the list as it is, 0 if it is empty
}

// A version is a list: version number i is all[i-1].
type version struct{ from, element int64 }

// write makes the list what version from is, and an element. It returns the last element of from.
func (l *list) write(from, element int64) (behind int64) {
	if from > 0 && from <= int64(len(l.all)) {
		behind = l.all[from-1].element
	}
	l.all = append(l.all, version{from, element})
	l.head = int64(len(l.all))
	return behind
}

// elements returns the elements of the present list, in order.
func (l *list) elements() []int64 {
	var es []int64
	for at := l.head; at > 0; at = l.all[at-1].from { // which existed before
		es = append(es, l.all[at-1].element)
	}
	slices.Reverse(es)
	return es
}

// NewOfLists makes a resource with a list for each lock, all empty, instead of a counter.
func NewOfLists(fencing bool, rec Recorder) *Resource {
	r := New(fencing, rec)
	r.lists = true
	return r
}

// List returns the elements of a lock's list. It has the signature that net/rpc asks for.
func (r *Resource) List(lock string, elements *[]int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lists {
		return errors.New("resource: it has counters, not lists")
	}
	if c := r.counters[lock]; c != nil {
		*elements = c.list.elements()
	}
	return nil
}

// resume takes over from a resource with the same guard, by its record: that resource recorded what it accepted
// before it answered. Nothing but the record outlives a resource, as with a service that writes what it accepts to a
// durable log first.
func (r *Resource) resume(dir string) error {
	t := history.NewTailer(dir)
	defer t.Close()
	for {
		frames, err := t.Next()
		if err != nil {
			return fmt.Errorf("resource: resume: %w", err)
		}
		if len(frames) == 0 {
			return nil
		}
		events, _, err := history.Decode(nil, frames, map[string]string{})
		if err != nil {
			return fmt.Errorf("resource: resume: %w", err)
		}
		for i := range events {
			if err := r.replay(&events[i]); err != nil {
				return fmt.Errorf("resource: resume: %w", err)
			}
		}
	}
}

// replay repeats the effect of an accepted access.
func (r *Resource) replay(e *history.Event) error {
	if e.Lock == "" || e.Kind != history.OK {
		return nil
	}
	recorded := e.Access()
	a := Access{Op: e.Op, Lock: e.Lock, Mode: e.Mode, Token: e.Token, Value: recorded.Value}
	if e.Mode == history.ModePermit {
		slot, err := recorded.Slot.Number()
		if err != nil {
			return err
		}
		a.Slot = slot
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lists && e.Op == history.OpWrite {
		a.List = r.counter(e.Lock).list.written(recorded.Behind)
	}
	r.accept(&a)
	return nil
}

// written returns the number of the list that a write was based on, by its record: the last list that ended in that
// way.
func (l *list) written(behind history.Behind) int64 {
	for at := len(l.all); at > 0; at-- {
		if history.NewBehind(l.all[at-1].element) == behind {
			return int64(at)
		}
	}
	return 0
}
