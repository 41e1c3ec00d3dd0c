package broken

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"locklab/recipes"
)

// slowReleaseBy is how much later than it is told to a holder of slow-release releases. A build can have another one:
//
//	go build -ldflags '-X locklab/recipes/broken.slowReleaseBy=400us'
var slowReleaseBy = "1ms"

// A slow lock is another lock whose holders release late.
type slow struct {
	recipes.TryLock
	by time.Duration
}

// slowRelease makes slow-release from a sound lock.
func slowRelease(sound recipes.TryLock) recipes.TryLock {
	by, err := time.ParseDuration(slowReleaseBy)
	if err != nil || by <= 0 {
		panic(fmt.Sprintf("broken.slowReleaseBy is not a duration: %q", slowReleaseBy))
	}
	return slow{sound, by}
}

// Acquire implements [recipes.Lock].
func (s slow) Acquire(ctx context.Context) (*recipes.Hold, error) {
	return s.late(s.TryLock.Acquire(ctx))
}

// TryAcquire implements [recipes.TryLock].
func (s slow) TryAcquire(ctx context.Context) (*recipes.Hold, error) {
	return s.late(s.TryLock.TryAcquire(ctx))
}

// late returns the hold with a delayed release.
func (s slow) late(h *recipes.Hold, err error) (*recipes.Hold, error) {
	if err != nil {
		return nil, err
	}
	late, _ := recipes.NewHold(recipes.HoldConfig{Parent: h.Context(), Session: h.Session(), Token: h.Token(),
		Release: func(ctx context.Context) error {
			sleep(s.by)
			return h.Release(ctx)
		}})
	return late, nil
}

// sleep waits in the kernel. Go's own timers wait for whole milliseconds in an idle process, which can be more than a
// hand-off should be slowed by.
func sleep(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
