package recipes

import "context"

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

	_ struct{} // no positional literals
}

// NewHold makes a hold of a foreign lock. Whoever learns that the lock is gone
// calls lose with the reason, which may be too late and then does nothing.
func NewHold(cfg HoldConfig) (h *Hold, lose func(reason error)) {
	h = newHold(cfg.Parent, cfg.Session, cfg.Token, cfg.Release)
	return h, h.lose
}
