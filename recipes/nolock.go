package recipes

import "context"

// NoLock grants at once, to everybody. It is the control for whoever claims to
// see double holds: with it there must be some.
type NoLock struct {
	session int64
}

// NewNoLock returns a lock whose holds carry the given session id, which nothing is
// asked of. It may be 0.
func NewNoLock(session int64) *NoLock { return &NoLock{session: session} }

// Acquire implements [Lock]. Its holds have no token, and end only by their release.
func (l *NoLock) Acquire(ctx context.Context) (*Hold, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	return newHold(context.WithoutCancel(ctx), l.session, 0, func(context.Context) error { return nil }), nil
}
