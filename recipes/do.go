package recipes

import (
	"context"
	"errors"
)

// Do does work while it holds the lock. It acquires the lock with ctx, gives work a context that ends with ctx and with
// the hold, as [Hold.Within] does, and releases the lock when work returns or panics, whether or not ctx has ended.
//
// Do returns nil only if work returned nil, the hold lasted until then, and the service confirmed the release.
// Otherwise its error wraps work's; if the hold was lost, ErrLockLost; and if the release could not be confirmed in
// time, the error of ctx. Work that does not look at its context may go on after the hold has ended: the protected
// resource must refuse such an access by [Hold.Token].
func Do(ctx context.Context, lock Lock, work func(ctx context.Context, h *Hold) error) (err error) {
	h, err := lock.Acquire(ctx)
	if err != nil {
		return err
	}
	inside, cancel := h.Within(ctx)
	defer func() {
		cancel()
		err = errors.Join(err, h.Release(ctx))
	}()
	return work(inside, h)
}
