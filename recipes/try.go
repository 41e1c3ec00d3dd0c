package recipes

import (
	"context"
	"errors"
	"fmt"
)

// A TryLock is a [Lock] that can be had at once or not at all. All locks of this package are but
// [ZKLock].
//
// (A limit in time between the two is a context with a deadline for Acquire. At the deadline that takes no last look,
// as Curator's timed acquire does: it would take a round trip beyond the deadline. A lock that becomes
// free in that very moment may thus have been given to the attempt; it is given back in the background.)
type TryLock interface {
	Lock
	// TryAcquire takes its place in the queue, looks once, and waits for nobody: if it cannot hold it
	// takes its place away and returns an error wrapping ErrNotAcquired. It waits for the service
	// alone, which may take long while the session is disconnected; otherwise as Acquire.
	//
	// ErrNotAcquired says that somebody was ahead in the queue at that moment. That may also have been one who was
	// on his way out: another TryAcquire, or a waiter giving up. On return the attempt's own znode is gone, unless
	// ctx ended first: then that goes on in the background.
	TryAcquire(ctx context.Context) (*Hold, error)
}

// trying returns the same way into the queue for those who do not wait.
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

// TryAcquire is to Acquire what it is in [TryLock]. It also fails where permits are free, but fewer than n.
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

// TryAcquire is Acquire, but by TryAcquire of the members: what it returns when one of them cannot be had at
// once wraps ErrNotAcquired. Members that are no [TryLock] are refused before anything is acquired.
func (m *Multi) TryAcquire(ctx context.Context) (*MultiHold, error) {
	for _, member := range m.members {
		if _, ok := member.Lock.(TryLock); !ok {
			return nil, fmt.Errorf("multi-lock: acquire %s: %w", member.Key, errors.ErrUnsupported)
		}
	}
	return m.acquire(ctx, func(l Lock) (*Hold, error) { return l.(TryLock).TryAcquire(ctx) })
}
