package recipes

import (
	"context"
	"time"

	"locklab/recipes/internal/tasks"
)

// HoldConfig describes a hold of a lock that is not one of this package's, such as
// one in another process.
type HoldConfig struct {
	// Parent's end also ends the hold. Its cause has to wrap ErrLockLost.
	Parent context.Context
	// Session and Token are what the hold's methods of these names return; 0 = none.
	Session, Token int64
	// Release releases the lock and waits until that is confirmed or ctx ends. It is called at most once, and not
	// after the hold was lost. Its errors should be those of [Hold.Release].
	Release func(ctx context.Context) error
	// Deadline is the time until which the holder certainly has the lock. When it passes, the hold ends with
	// ErrLeaseExpired; [Hold.Valid] and [Hold.Deadline] use it too. The zero time means that there is no deadline.
	// After the deadline, the lock's znodes are the foreign lock's own concern, and Release is not called.
	Deadline time.Time
	// Now is the clock that Deadline is compared with; nil = time.Now. It must not block.
	Now func() time.Time

	_ struct{} // no positional literals
}

// NewHold makes a hold of a foreign lock. A caller that learns that the lock is gone calls lose with the reason; if the
// hold has ended by then, lose does nothing.
func NewHold(cfg HoldConfig) (h *Hold, lose func(reason error)) {
	parent, term := cfg.Parent, (*leaseTerm)(nil)
	if !cfg.Deadline.IsZero() {
		term = newLease(parent, cfg.Deadline, cfg.Now)
		parent = term.ctx
	}
	h = newHold(parent, cfg.Session, cfg.Token, cfg.Release)
	if h.term = term; term != nil {
		context.AfterFunc(h.ctx, func() {
			term.of.stop()
			term.end(context.Canceled) // frees the resources; nothing else uses the term
		})
	}
	return h, h.lose
}

// NoLock grants the lock at once, to every client. It is the control for tools that claim to see double holds: with
// it they must find some.
type NoLock struct {
	session int64
}

// NewNoLock returns a lock whose holds carry the given session id, which may be 0. The lock sends no request in that
// session.
func NewNoLock(session int64) *NoLock { return &NoLock{session: session} }

// Acquire implements [Lock]. Its holds have no token, and end only by their release.
func (l *NoLock) Acquire(ctx context.Context) (*Hold, error) {
	if ctx.Err() != nil {
		return nil, tasks.Ended(ctx)
	}
	return newHold(context.WithoutCancel(ctx), l.session, 0, func(context.Context) error { return nil }), nil
}

type attemptKey struct{}

// OnAttempt returns a context with which an acquire reports the names by which its znodes can be recognised, so that
// a reader of the service's own record can find them whether or not the client got an answer. The acquire calls f in
// its own goroutine for each attempt, before it sends any request. f gets the directory and a prefix. All znodes that
// the attempt may create there have names with that prefix, and no other znodes do. Recipes whose znodes have no
// names of their own, [NaiveMutex] and [ZKLock], do not call f.
func OnAttempt(ctx context.Context, f func(dir, prefix string)) context.Context {
	return context.WithValue(ctx, attemptKey{}, f)
}

func tellAttempt(ctx context.Context, dir, prefix string) {
	if f, ok := ctx.Value(attemptKey{}).(func(dir, prefix string)); ok {
		f(dir, prefix)
	}
}
