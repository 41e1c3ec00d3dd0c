package recipes

import (
	"context"
	"errors"
	"fmt"
)

// A holding is what [Do] needs of a hold. *[Hold] and *[MultiHold] have it.
type holding interface {
	Context() context.Context
	Within(context.Context) (context.Context, context.CancelFunc)
	Release(context.Context) error
}

// Do does work while it holds the lock, a [Lock] or a [Multi]. It acquires the lock with ctx, gives work a context that
// ends with ctx and with the hold, as [Hold.Within] does, and releases the lock when work returns or panics, whether or
// not ctx has ended.
//
// Do returns nil only if work returned nil, the hold lasted until then, and the service confirmed the release.
// Otherwise its error wraps work's; if the hold was lost, ErrLockLost; and if the release could not be confirmed in
// time, the error of ctx. If work's error wraps the cause of the loss, the loss is not told again. Work that does not
// look at its context may go on after the hold has ended: the protected resource must refuse such an access by
// [Hold.Token].
//
// Work must not end its own hold, by [RW.Downgrade] or [Hold.Release]: that ends work's context as well, and Do returns
// ErrReleased. A writer that goes on as a reader calls [RW.ReadUnder] in its work, or Do(ctx, rw.Read(), …) with the
// context of its work, which does the same; or it acquires the write lock without Do and then calls Downgrade.
func Do[H holding](
	ctx context.Context,
	lock interface {
		Acquire(ctx context.Context) (H, error)
	},
	work func(ctx context.Context, h H) error,
) (err error) {
	h, err := lock.Acquire(ctx)
	if err != nil {
		return err
	}
	inside, cancel := h.Within(ctx)
	defer func() {
		loss := context.Cause(h.Context())
		cancel()
		release := h.Release(ctx)
		switch {
		case !errors.Is(loss, ErrLockLost):
			err = errors.Join(err, release)
		case !errors.Is(err, loss): // otherwise work has told it
			err = errors.Join(err, fmt.Errorf("while the work ran: %w", loss))
		}
	}()
	return work(inside, h)
}
