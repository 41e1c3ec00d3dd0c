package recipes

import (
	"context"
	"time"
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
