package recipes

import (
	"context"
	"time"
)

// HoldConfig describes a hold of a lock that is not one of this package's, such as
// one in another process.
type HoldConfig struct {
	// Parent ends the hold at the latest. Its cause has to wrap ErrLockLost.
	Parent context.Context
	// Session and Token are what the hold's methods of these names return; 0 = none.
	Session, Token int64
	// Release gives the lock back and waits until that is confirmed or ctx ends. It
	// is called at most once, and not after the hold was lost. Its errors are to be
	// those of [Hold.Release].
	Release func(ctx context.Context) error
	// Deadline is until when the lock is the holder's for certain: the hold ends with ErrLeaseExpired as it
	// passes, and [Hold.Valid] and [Hold.Deadline] go by it. The zero time = there is none. What the
	// lock has at its service is then its own business: Release is not called.
	Deadline time.Time
	// Now is what Deadline is held against; nil = time.Now. It must not block.
	Now func() time.Time

	_ struct{} // no positional literals
}

// NewHold makes a hold of a foreign lock. Whoever learns that the lock is gone
// calls lose with the reason, which may be too late and then does nothing.
func NewHold(cfg HoldConfig) (h *Hold, lose func(reason error)) {
	parent, term := cfg.Parent, (*leaseTerm)(nil)
	if !cfg.Deadline.IsZero() {
		term = newLease(parent, cfg.Deadline, cfg.Now)
		parent = term.ctx
	}
	h = newHold(parent, cfg.Session, cfg.Token, cfg.Release)
	if h.term = term; term != nil {
		context.AfterFunc(h.ctx, func() {
			term.clock.stop()
			term.end(context.Canceled) // of no use to anybody else
		})
	}
	return h, h.lose
}
