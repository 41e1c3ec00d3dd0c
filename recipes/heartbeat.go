package recipes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"sync"
	"time"

	"locklab/recipes/zksession"
)

// A leaseClock sends a session's heartbeats and keeps its lease by [leaseRule]. It uses this process's monotonic clock
// alone, which stands still while the machine is suspended.
//
// When the deadline passes, the term ends and every hold with it, although the session may still live. The session goes
// on, so that a short interruption costs the holds but not the waiters' places in their queues. That is safe, because a
// hold that has ended is like one that was released: its znode keeps others waiting until it is deleted, which begins
// as soon as the service can be reached; and no hold is granted before a new term, whose first deadline says that the
// session has lived all the time. The alternative, to close the session, would also give up the places, and a service
// that cannot be reached would not hear of it any sooner than of the deletions.
type leaseClock struct {
	zk   zksession.ZooKeeper
	cfg  LeaseClockConfig
	life context.Context // the session's
	node string
	log  *slog.Logger

	mu    sync.Mutex
	rule  leaseRule
	term  *leaseTerm    // the latest
	next  chan struct{} // closed as the next term begins
	timer *time.Timer
	now   func() time.Time // nil = time.Now
}

// A leaseTerm is a time during which a session is known to live, without a gap. Holds descend from its context.
type leaseTerm struct {
	clock    *leaseClock
	ctx      context.Context
	end      context.CancelCauseFunc
	deadline time.Time // moves on until it has passed; guarded by clock.mu
}

// leaseTermKey is the key under which a context, and every context made from it, has its term.
type leaseTermKey struct{}

// startLeaseClock gives the session a lease clock. It is called before the session is used.
func (s *Session) startLeaseClock(cfg LeaseClockConfig) error {
	cfg, err := cfg.withDefaults()
	if err == nil {
		err = cfg.check(s.Timeout())
	}
	if err != nil {
		return err
	}
	c := &leaseClock{zk: s.zk, cfg: cfg, life: s.life, log: s.janitor.log,
		node: path.Join(cfg.Path, fmt.Sprintf("%s%x", heartbeatMark, uint64(s.ID()))),
		rule: leaseRule{tick: cfg.Tick, timeout: s.Timeout(), margin: cfg.Margin}, next: make(chan struct{})}
	c.term = c.newTerm()
	c.term.end(lost(ErrLeaseExpired)) // no heartbeat has proved anything yet
	s.clock = c
	if !s.tasks.Start(c.run) {
		return s.Err()
	}
	return nil
}

// run sends heartbeats, one at a time, until the session is over.
func (c *leaseClock) run() {
	defer c.stop()
	for c.zk.Err() == nil {
		begun := time.Now()
		b, err := c.beat()
		if err == nil {
			c.acknowledged(b)
		} else {
			c.log.Debug("lease clock: heartbeat", "error", err)
		}
		select {
		case <-time.After(c.cfg.Interval - time.Since(begun)):
		case <-c.zk.Done():
		}
	}
}

// beat sends one heartbeat. Its context ends only with the session, because a heartbeat that was given up could still
// be executed beside the next one.
func (c *leaseClock) beat() (beat, error) {
	ctx := context.Background()
	if err := c.zk.Await(ctx); err != nil {
		return beat{}, err
	}
	sent := time.Now()
	_, err := c.zk.Multi(ctx, zksession.Op{Kind: zksession.OpSet, Path: c.node, Version: zksession.AnyVersion})
	acked := time.Now()
	if errors.Is(err, zksession.ErrNoNode) {
		// This is the first heartbeat, or an administrator deleted the znode. The next heartbeat will find it.
		if made := c.create(ctx); made != nil {
			err = fmt.Errorf("create %s: %w", c.node, made)
		}
	}
	return beat{sent, acked}, err
}

// create creates the heartbeats' znode.
func (c *leaseClock) create(ctx context.Context) error {
	_, err := c.zk.Create(ctx, c.node, nil, zksession.Ephemeral)
	if errors.Is(err, zksession.ErrNoNode) {
		if err = ensureDir(ctx, c.zk, c.cfg.Path); err == nil {
			_, err = c.zk.Create(ctx, c.node, nil, zksession.Ephemeral)
		}
	}
	if errors.Is(err, zksession.ErrNodeExists) {
		return nil // by a request whose answer was lost: no other session has this id
	}
	return err
}

// acknowledged moves the deadline on, or begins a new term if the last one is over.
func (c *leaseClock) acknowledged(b beat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// This comes first, because the answer may have waited, while this process was stopped, until after the deadline.
	c.lapse(c.term)
	c.rule.acknowledged(b)
	deadline := c.rule.deadline()
	if !time.Now().Before(deadline) {
		return
	}
	begins := c.term.ctx.Err() != nil
	if begins {
		c.term = c.newTerm()
	}
	c.term.deadline = deadline
	if c.timer == nil {
		c.timer = time.AfterFunc(time.Until(deadline), c.due)
	} else {
		c.timer.Reset(time.Until(deadline))
	}
	if begins {
		close(c.next)
		c.next = make(chan struct{})
	}
}

// newTerm makes a term that has no deadline yet. c.mu is held.
func (c *leaseClock) newTerm() *leaseTerm {
	t := &leaseTerm{clock: c}
	t.ctx, t.end = context.WithCancelCause(context.WithValue(c.life, leaseTermKey{}, t))
	return t
}

// newLease makes a term with a fixed deadline.
func newLease(life context.Context, deadline time.Time, now func() time.Time) *leaseTerm {
	c := &leaseClock{life: life, now: now}
	if now == nil {
		now = time.Now
	}
	c.mu.Lock() // the timer may be due at once
	defer c.mu.Unlock()
	c.term = c.newTerm()
	c.term.deadline = deadline
	c.timer = time.AfterFunc(deadline.Sub(now()), c.due)
	return c.term
}

// due is called by the timer.
func (c *leaseClock) due() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lapse(c.term)
	if c.term.ctx.Err() == nil {
		c.timer.Reset(time.Until(c.term.deadline)) // it has moved on meanwhile
	}
}

// lapse ends a term whose deadline has passed. c.mu is held.
func (c *leaseClock) lapse(t *leaseTerm) {
	now := time.Now
	if c.now != nil {
		now = c.now
	}
	if !now().Before(t.deadline) {
		t.end(lost(ErrLeaseExpired)) // if it had not ended before
	}
}

// latest returns the latest term, which may be over, and a channel that is closed when the next one begins.
func (c *leaseClock) latest() (*leaseTerm, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lapse(c.term)
	return c.term, c.next
}

// stop stops the timer. The session's end ends the term.
func (c *leaseClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}
