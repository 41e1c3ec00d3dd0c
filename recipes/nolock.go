package recipes

import (
	"context"

	"locklab/recipes/internal/tasks"
)

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
