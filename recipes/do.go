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

// A TryLock is a [Lock] that can be acquired at once or not at all. All locks of this package except [ZKLock] are
// TryLocks.
//
// (To wait for a limited time, use Acquire and a context with a deadline. Acquire takes no last look at the deadline,
// as Curator's timed acquire does, because that would take a round trip beyond it. So a lock that becomes free at
// that very moment may have been granted to the attempt; it is then released in the background.)
type TryLock interface {
	Lock
	// TryAcquire takes its place in the queue, looks once, and does not wait for other contenders: if it cannot hold the
	// lock, it takes its place away and returns an error wrapping ErrNotAcquired. It waits for the service alone, which
	// may take long while the session is disconnected; otherwise it is as Acquire.
	//
	// ErrNotAcquired says that another contender was ahead in the queue at that moment. That contender may have been about
	// to leave: another TryAcquire, or a waiter giving up. On return the attempt's own znode is gone, unless ctx ended
	// first: then its removal goes on in the background.
	TryAcquire(ctx context.Context) (*Hold, error)
}

// trying returns the same way into the queue, for attempts that do not wait.
func (l line) trying() *line {
	l.try = true
	return &l
}

// TryAcquire implements [TryLock].
func (l *line) TryAcquire(ctx context.Context) (*Hold, error) { return l.trying().Acquire(ctx) }

// TryAcquire implements [TryLock].
func (m *Mutex) TryAcquire(ctx context.Context) (*Hold, error) { return m.line.TryAcquire(ctx) }

// TryAcquire implements [TryLock].
func (w writers) TryAcquire(ctx context.Context) (*Hold, error) {
	return w.acquire(ctx, w.rw.write.trying())
}

// TryAcquire is like Acquire, as described in [TryLock]. It also fails if fewer than n permits are free.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) (*Hold, error) {
	return s.acquire(ctx, n, true)
}

// TryAcquire implements [TryLock].
func (q quantity) TryAcquire(ctx context.Context) (*Hold, error) { return q.s.TryAcquire(ctx, q.n) }

// TryAcquire implements [TryLock].
func (m *SemaphoreMutex) TryAcquire(ctx context.Context) (*Hold, error) {
	return m.s.TryAcquire(ctx, 1)
}

// TryAcquire implements [TryLock]. It has no place in a queue: it creates the znode or does not.
func (m *NaiveMutex) TryAcquire(ctx context.Context) (*Hold, error) { return m.acquire(ctx, true) }

// TryAcquire implements [TryLock]. It always succeeds.
func (l *NoLock) TryAcquire(ctx context.Context) (*Hold, error) { return l.Acquire(ctx) }

// TryAcquire is Acquire with TryAcquire of the members: if one of them cannot be acquired at once, the error wraps
// ErrNotAcquired. Members that do not implement [TryLock] are refused before anything is acquired.
func (m *Multi) TryAcquire(ctx context.Context) (*MultiHold, error) {
	for _, member := range m.members {
		if _, ok := member.Lock.(TryLock); !ok {
			return nil, fmt.Errorf("multi-lock: acquire %s: %w", member.Key, errors.ErrUnsupported)
		}
	}
	return m.acquire(ctx, func(ctx context.Context, l Lock) (*Hold, error) { return l.(TryLock).TryAcquire(ctx) })
}
