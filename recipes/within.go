package recipes

import "context"

// Within returns ctx with an additional end: it also ends with the hold, with the hold's cause, and when cancel is
// called, which frees its resources. It is for work under the lock that already has a context, such as a request to a
// service.
//
// Like [Hold.Context], it tells an acquire that the lock is held: so a reader that asks for the write lock with it
// gets ErrUpgrade.
func (h *Hold) Within(ctx context.Context) (inside context.Context, cancel context.CancelFunc) {
	return until(h.mark(ctx), h.ctx)
}

// Within is [Hold.Within] for all members together: it ends with the first that is lost.
func (h *MultiHold) Within(ctx context.Context) (inside context.Context, cancel context.CancelFunc) {
	for _, k := range h.holds {
		ctx = k.mark(ctx)
	}
	return until(ctx, h.ctx)
}

// until returns ctx, which also ends with hold, with its cause.
func until(ctx, hold context.Context) (inside context.Context, cancel context.CancelFunc) {
	inside, end := context.WithCancelCause(ctx)
	follow := func() { end(context.Cause(hold)) }
	stop := context.AfterFunc(hold, follow)
	if hold.Err() != nil {
		follow() // AfterFunc comes a moment later
	}
	return inside, func() {
		stop()
		end(context.Canceled)
	}
}
