package zksession

import (
	"fmt"
	"sync"
	"time"
)

// State is a state of a session.
type State int

// The states. A session begins Connected, may go to and fro between Connected
// and Disconnected, and ends Expired or Closed.
const (
	Connected State = iota
	Disconnected
	Expired
	Closed
)

func (s State) String() string {
	switch s {
	case Connected:
		return "connected"
	case Disconnected:
		return "disconnected"
	case Expired:
		return "expired"
	case Closed:
		return "closed"
	}
	return fmt.Sprintf("state-%d", int(s))
}

// A StateChange says that a session entered a state.
type StateChange struct {
	State   State
	Session int64
	// Server is the host:port that the session is, or was last, connected to.
	Server string
	// Negotiated is the session timeout that the server granted.
	Negotiated time.Duration
	// Err is the reason: what broke the connection, or what ended the session.
	Err error
}

// changes delivers state changes to one function, in order, from one goroutine, however long the function takes: the
// queue has no bound, so that push never waits.
type changes struct {
	mu     sync.Mutex
	queue  []StateChange
	last   bool          // nothing more will be pushed
	wake   chan struct{} // capacity 1
	target func(StateChange)
}

func newChanges(target func(StateChange)) *changes {
	return &changes{wake: make(chan struct{}, 1), target: target}
}

// push appends c. Nothing may be pushed after a change marked last. Without a target there is nobody to deliver it to.
func (q *changes) push(c StateChange, last bool) {
	if q.target == nil {
		return
	}
	q.mu.Lock()
	q.queue = append(q.queue, c)
	q.last = q.last || last
	q.mu.Unlock()
	q.poke()
}

// end lets deliver return once the queue is empty.
func (q *changes) end() {
	q.mu.Lock()
	q.last = true
	q.mu.Unlock()
	q.poke()
}

func (q *changes) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// deliver calls the target until the last change has been delivered. Without a target it returns at once, because a
// process may have thousands of sessions, and a goroutine for each.
func (q *changes) deliver() {
	if q.target == nil {
		return
	}
	for range q.wake {
		q.mu.Lock()
		batch, last := q.queue, q.last
		q.queue = nil
		q.mu.Unlock()
		for _, c := range batch {
			q.target(c)
		}
		if last {
			return
		}
	}
}
