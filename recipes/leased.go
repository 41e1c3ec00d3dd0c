package recipes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// term returns the context that the session's holds descend from: its present lease term, or its life.
func (s *Session) term() context.Context {
	if s.terms == nil {
		return s.life
	}
	t, _ := s.terms.latest()
	return t.ctx
}

// mayHold returns nil if a hold may be granted now. The error is the session's, or ErrLeaseExpired.
func (s *Session) mayHold() error {
	if err := s.Err(); err != nil {
		return err
	}
	if s.life.Err() != nil {
		return zksession.ErrSessionClosed // Close has begun
	}
	if errors.Is(context.Cause(s.term()), ErrLeaseExpired) {
		return ErrLeaseExpired
	}
	return nil
}

// ready waits until the lease clock allows a hold to be granted. Its error is the session's, or wraps that of ctx
// or the refusal of the heartbeats.
func (s *Session) ready(ctx context.Context) error {
	if s.terms == nil || s.terms.asks {
		return nil // the attempt itself will find that out
	}
	for {
		t, next := s.terms.latest()
		if t.ctx.Err() == nil {
			return nil
		}
		if err := s.terms.refusal(); err != nil {
			return fmt.Errorf("lease clock: %w", err)
		}
		select {
		case <-next:
		case <-s.Done():
			return s.Err()
		case <-ctx.Done():
			return tasks.Ended(ctx)
		}
	}
}

// newHold makes a hold of this session, of the lock with that key.
func (s *Session) newHold(key any, token int64, release func(context.Context) error) *Hold {
	h := newClaimedHold(s.term(), key, s.ID(), token, release)
	h.of = s
	h.term, _ = h.ctx.Value(leaseTermKey{}).(*leaseTerm)
	return h
}

// Deadline returns the time until which the hold certainly lasts, unless an administrator deletes its znode or the
// session is closed: the service does not expire the session before it. The deadline moves on with the heartbeats
// until it passes, which ends the hold. ok is false without a lease clock, and for locks of other packages that have no
// deadline.
func (h *Hold) Deadline() (deadline time.Time, ok bool) {
	if h.term == nil || h.term.of.asks {
		return time.Time{}, false
	}
	h.term.of.mu.Lock()
	defer h.term.of.mu.Unlock()
	return h.term.deadline, true
}

// Valid reports whether the hold lasts, by looking at the clock itself. That differs from a check of the context
// in a process that was stopped: when the process goes on, Valid knows at once, while the timer that ends the context
// may not have run yet. The process can also be stopped after Valid returns; only a token, or [Hold.Multi], protects
// against that.
func (h *Hold) Valid() bool {
	if t := h.term; t != nil {
		t.of.mu.Lock()
		t.of.lapse(t)
		t.of.mu.Unlock()
	}
	return h.ctx.Err() == nil
}
