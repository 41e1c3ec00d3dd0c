package recipes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/recipes/zksession"
)

// HoldsEnd says when a session's holds end although the service has not said that they are lost.
//
// A client that is cut off is not told that its session has expired. These bounds say how long it goes on believing in
// its holds. They are no proof that a hold lasts until then, because a server that is cut off from the leader still
// answers its clients: see SPEC.md's sections on silence and on the lease clock.
type HoldsEnd int

const (
	// AfterTimeout ends holds when the service has been silent for the session timeout, as Curator's LOST does. The time
	// is measured from when the newest request was sent that was answered. go-zookeeper sends a ping every third of the
	// session timeout if it sends nothing else.
	AfterTimeout HoldsEnd = iota
	// WhenTold ends holds only when the client hears from the service that they are lost, however long it is cut off.
	WhenTold
)

func (e HoldsEnd) check() error {
	if e < AfterTimeout || e > WhenTold {
		return fmt.Errorf("no such end of holds: %d", int(e))
	}
	return nil
}

// terms are the times in which a session's holds may last, one after the other. When one ends, every hold ends with
// it, although the session may still live. The session goes on, so that a short interruption costs the holds but not
// the waiters' places in their queues. That is safe, because the znode of a hold that has ended keeps others waiting
// until the holder, which may be in the middle of its work, releases it; and no hold is granted before a new term. The
// alternative, to close the session, would also give up the places, and a service that cannot be reached would not
// hear of it any sooner than of the releases.
//
// The deadlines come from a lease clock, which moves them on, or else from zk, which is asked. They are of this
// process's monotonic clock, which stands still while the machine is suspended.
type terms struct {
	life   context.Context // the session's
	now    func() time.Time
	timers timers

	zk zksession.ZooKeeper
	// asks says that the deadline is the session timeout after zk was heard.
	asks bool

	mu   sync.Mutex
	term *leaseTerm    // the latest
	next chan struct{} // closed as the next term begins, or the service has refused one
	// refused is why the service refuses what would begin a term; nil if it does not.
	refused error
	timer   zksession.Timer
}

// A leaseTerm is a time in which holds may last, without a gap. Holds descend from its context.
type leaseTerm struct {
	of       *terms
	ctx      context.Context
	end      context.CancelCauseFunc
	deadline time.Time // moves on until it has passed; guarded by of.mu
}

// leaseTermKey is the key under which a context, and every context made from it, has its term.
type leaseTermKey struct{}

// newTerms returns terms of which none has begun.
func newTerms(life context.Context, timers timers) *terms {
	c := &terms{life: life, timers: timers, now: time.Now, next: make(chan struct{})}
	c.term = c.newTerm()
	c.term.end(lost(ErrLeaseExpired)) // nothing has proved anything yet
	return c
}

// newTerm makes a term that has no deadline yet. c.mu is held.
func (c *terms) newTerm() *leaseTerm {
	t := &leaseTerm{of: c}
	t.ctx, t.end = context.WithCancelCause(context.WithValue(c.life, leaseTermKey{}, t))
	return t
}

// newLease makes a term with a fixed deadline.
func newLease(life context.Context, deadline time.Time, now func() time.Time) *leaseTerm {
	c := newTerms(life, nil)
	if now != nil {
		c.now = now
	}
	c.mu.Lock() // the timer may be due at once
	defer c.mu.Unlock()
	c.term = c.newTerm()
	c.term.deadline = deadline
	c.timer = c.timers.start(deadline.Sub(c.now()), c.due)
	return c.term
}

// extend moves the deadline on, or begins a new term if the last one is over. c.mu is held.
func (c *terms) extend(deadline time.Time) {
	if !c.now().Before(deadline) || c.life.Err() != nil {
		return
	}
	begins := c.term.ctx.Err() != nil
	if begins {
		c.term = c.newTerm()
	}
	c.term.deadline = deadline
	if left := deadline.Sub(c.now()); c.timer == nil {
		c.timer = c.timers.start(left, c.due)
	} else {
		c.timer.Reset(left)
	}
	if begins {
		close(c.next)
		c.next = make(chan struct{})
	}
}

// due is called by the timer.
func (c *terms) due() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lapse(c.term)
	if c.term.ctx.Err() == nil {
		// It has moved on meanwhile, or the hold's clock is behind the process's. A clock that stands still just before the
		// deadline is not asked all the time.
		c.timer.Reset(max(c.term.deadline.Sub(c.now()), time.Millisecond))
	}
}

// lapse ends a term whose deadline has passed. c.mu is held.
func (c *terms) lapse(t *leaseTerm) {
	if c.asks && t == c.term {
		t.deadline = c.heard()
	}
	switch {
	case c.now().Before(t.deadline):
	case c.asks:
		t.end(lost(fmt.Errorf("%w: the service has been silent for %s", ErrLeaseExpired, c.zk.Timeout())))
	default:
		t.end(lost(ErrLeaseExpired)) // if it had not ended before
	}
}

// heard returns the deadline by what was heard of the service.
func (c *terms) heard() time.Time { return c.zk.Heard().Add(c.zk.Timeout()) }

// refuse takes note of whether the service has refused what would begin a term.
func (c *terms) refuse(err error) {
	if !errors.Is(err, zksession.ErrNoAuth) {
		err = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil && err != nil {
		close(c.next)
		c.next = make(chan struct{})
	}
	c.refused = err
}

// refusal returns why no term can begin, if that is known.
func (c *terms) refusal() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// latest returns the latest term, which may be over, and a channel that is closed when the next one begins.
func (c *terms) latest() (*leaseTerm, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lapse(c.term)
	if c.asks && c.term.ctx.Err() != nil {
		c.extend(c.heard())
	}
	return c.term, c.next
}

// stop stops the timer. The session's end ends the term.
func (c *terms) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}
