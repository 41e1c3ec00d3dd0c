package recipes

import (
	"context"
	"errors"
	"time"
)

// term returns what the session's holds descend from: its present lease term, or its life.
func (s *Session) term() context.Context {
	if s.clock == nil {
		return s.life
	}
	t, _ := s.clock.latest()
	return t.ctx
}

// mayHold returns nil if a hold may be granted now. The error is the session's, or ErrLeaseExpired.
func (s *Session) mayHold() error {
	if err := s.Err(); err != nil {
		return err
	}
	if errors.Is(context.Cause(s.term()), ErrLeaseExpired) {
		return ErrLeaseExpired
	}
	return nil
}

// ready waits until a hold may be granted, as far as the lease clock goes. Its error is the session's, or
// wraps that of ctx.
func (s *Session) ready(ctx context.Context) error {
	if s.clock == nil {
		return nil // the attempt itself will tell
	}
	for {
		t, next := s.clock.latest()
		if t.ctx.Err() == nil {
			return nil
		}
		select {
		case <-next:
		case <-s.Done():
			return s.Err()
		case <-ctx.Done():
			return ended(ctx)
		}
	}
}

// newHold makes a hold of this session. parent descends from its term. If the lease clock ends the
// hold, what the hold has at the service is removed in the background as by a release.
func (s *Session) newHold(parent context.Context, token int64, release func(context.Context) error) *Hold {
	h := newHold(parent, s.ID(), token, release)
	h.of = s
	h.term, _ = parent.Value(leaseTermKey{}).(*leaseTerm)
	if h.term != nil {
		context.AfterFunc(h.ctx, func() {
			if errors.Is(context.Cause(h.ctx), ErrLeaseExpired) {
				_ = h.release(h.ctx) // which has ended, so it does not wait
			}
		})
	}
	return h
}

// Deadline returns until when the hold lasts for certain, unless somebody deletes its znode by force or
// the session is closed: the service does not expire the session before. It moves on
// with the heartbeats until it has passed, and with it the hold. ok is false without a lease
// clock, and for locks that are not this package's.
func (h *Hold) Deadline() (deadline time.Time, ok bool) {
	if h.term == nil {
		return time.Time{}, false
	}
	h.term.clock.mu.Lock()
	defer h.term.clock.mu.Unlock()
	return h.term.deadline, true
}

// Valid reports whether the hold lasts, by looking at the deadline itself. It differs from a look at
// the context in a process that was stopped: as it goes on, Valid knows at once, while the timer that
// ends the context may have yet to run. Between Valid and whatever follows the process can be
// stopped again; against that only a token helps, or [Hold.Multi].
func (h *Hold) Valid() bool {
	if t := h.term; t != nil {
		t.clock.mu.Lock()
		t.clock.lapse(t)
		t.clock.mu.Unlock()
	}
	return h.ctx.Err() == nil
}
