package broken

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"locklab/recipes"
)

// slowReleaseBy is how much later than it is told to a holder of slow-release releases. A build can have another one:
//
//	go build -ldflags '-X locklab/recipes/broken.slowReleaseBy=400us'
var slowReleaseBy = "1ms"

// One of lateGrantOf grants of late-grant comes lateGrantBy later than the sound lock's.
const (
	lateGrantOf = 50
	lateGrantBy = 20 * time.Millisecond
)

// A decorated lock is another lock, with something added that costs time.
type decorated struct {
	recipes.TryLock
	// before is called before each attempt, and granted with each hold, of which it returns what the caller gets. Nil
	// adds nothing.
	before  func(context.Context) error
	granted func(*recipes.Hold) *recipes.Hold
}

// Acquire implements [recipes.Lock].
func (d decorated) Acquire(ctx context.Context) (*recipes.Hold, error) {
	return d.attempt(ctx, d.TryLock.Acquire)
}

// TryAcquire implements [recipes.TryLock].
func (d decorated) TryAcquire(ctx context.Context) (*recipes.Hold, error) {
	return d.attempt(ctx, d.TryLock.TryAcquire)
}

func (d decorated) attempt(ctx context.Context, sound acquirer) (*recipes.Hold, error) {
	if d.before != nil {
		if err := d.before(ctx); err != nil {
			return nil, err
		}
	}
	h, err := sound(ctx)
	if err == nil && d.granted != nil {
		h = d.granted(h)
	}
	return h, err
}

func slowRelease(sound recipes.TryLock) recipes.TryLock {
	by, err := time.ParseDuration(slowReleaseBy)
	if err != nil || by <= 0 {
		panic(fmt.Sprintf("broken.slowReleaseBy is not a duration: %q", slowReleaseBy))
	}
	return decorated{TryLock: sound, granted: func(h *recipes.Hold) *recipes.Hold {
		late, _ := recipes.NewHold(recipes.HoldConfig{Parent: h.Context(), Session: h.Session(), Token: h.Token(),
			Release: func(ctx context.Context) error {
				sleep(by)
				return h.Release(ctx)
			}})
		// The sound hold has to be released if it was lost, too, and a decorated one is not asked to then.
		context.AfterFunc(h.Context(), func() {
			if context.Cause(h.Context()) != recipes.ErrReleased {
				_ = h.Release(h.Context()) // which has ended, so the znode is removed in the background
			}
		})
		return late
	}}
}

// lateGrant makes late-grant from a sound lock. Which grants are late is drawn, because the clients of a queue take
// turns: if each counted its own grants, the late ones would follow one another.
func lateGrant(sound recipes.TryLock) recipes.TryLock {
	return decorated{TryLock: sound, granted: func(h *recipes.Hold) *recipes.Hold {
		if rand.N(lateGrantOf) == 0 {
			sleep(lateGrantBy)
		}
		return h
	}}
}

// A measurable lock can count the contenders in its queue, which costs one request.
type measurable interface {
	recipes.TryLock
	Length(context.Context) (int, error)
}

func extraRequest(sound measurable) recipes.TryLock {
	return decorated{TryLock: sound, before: func(ctx context.Context) error {
		_, err := sound.Length(ctx)
		return err
	}}
}

// sleep waits in the kernel. Go's own timers wait for whole milliseconds in an idle process, which can be more than a
// hand-off should be slowed by.
func sleep(d time.Duration) {
	left := unix.NsecToTimespec(int64(d))
	for unix.Nanosleep(&left, &left) == unix.EINTR {
	}
}
