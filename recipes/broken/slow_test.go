package broken

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/recipes"
)

// A fakeLock grants holds that report when they are released.
type fakeLock struct {
	session  context.Context
	released chan time.Time
	err      error
}

func (f fakeLock) Acquire(context.Context) (*recipes.Hold, error) {
	h, _ := recipes.NewHold(
		recipes.HoldConfig{Parent: f.session, Session: 7, Token: 8, Release: func(context.Context) error {
			f.released <- time.Now()
			return f.err
		}},
	)
	return h, nil
}

func (f fakeLock) TryAcquire(ctx context.Context) (*recipes.Hold, error) { return f.Acquire(ctx) }

// A countedLock is a fakeLock whose queue can be asked for its length.
type countedLock struct {
	fakeLock
	asked *int
	err   error
}

func (c countedLock) Length(context.Context) (int, error) {
	*c.asked++
	return 3, c.err
}

// attempts are the ways to acquire a lock.
func attempts(l recipes.TryLock) []func(context.Context) (*recipes.Hold, error) {
	return []func(context.Context) (*recipes.Hold, error){l.Acquire, l.TryAcquire}
}

// A slow lock behaves as the sound one, except for the time at which it is released.
func TestSlowRelease(t *testing.T) {
	by, err := time.ParseDuration(slowReleaseBy)
	if err != nil {
		t.Fatal(err)
	}
	session, lose := context.WithCancelCause(t.Context())
	refused := errors.New("refused")
	sound := fakeLock{session, make(chan time.Time, 1), refused}
	slow := slowRelease(sound)
	for _, acquire := range attempts(slow) {
		h, err := acquire(t.Context())
		if err != nil || h.Session() != 7 || h.Token() != 8 {
			t.Fatalf("%+v, %v", h, err)
		}
		begun := time.Now()
		if err := h.Release(t.Context()); !errors.Is(err, refused) {
			t.Errorf("release: %v", err)
		}
		if late := (<-sound.released).Sub(begun); late < by {
			t.Errorf("released after %s, want at least %s", late, by)
		}
	}
	h, err := slow.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	lose(gone)
	if cause := context.Cause(h.Context()); cause != gone {
		t.Errorf("cause: %v", cause)
	}
}

// One of fifty grants of late-grant is late, and not always the same one. The chance that fewer than 5 or more than 50
// of 1,000 are is below 0.00001.
func TestLateGrant(t *testing.T) {
	lock := lateGrant(fakeLock{t.Context(), make(chan time.Time, 1), nil})
	late := 0
	for range 500 {
		for _, acquire := range attempts(lock) {
			begun := time.Now()
			h, err := acquire(t.Context())
			if err != nil || h.Token() != 8 {
				t.Fatalf("%+v, %v", h, err)
			}
			if time.Since(begun) >= lateGrantBy {
				late++
			}
		}
	}
	if late < 5 || late > 50 {
		t.Errorf("%d of 1000 grants were late", late)
	}
}

// Each attempt at extra-request costs one request more. If that fails, so does the attempt.
func TestExtraRequest(t *testing.T) {
	asked := 0
	sound := countedLock{fakeLock{t.Context(), make(chan time.Time, 1), nil}, &asked, nil}
	for i, acquire := range attempts(extraRequest(sound)) {
		if h, err := acquire(t.Context()); err != nil || h.Token() != 8 || asked != i+1 {
			t.Errorf("%+v, %v, %d requests", h, err, asked)
		}
	}
	sound.err = errors.New("no answer")
	if h, err := extraRequest(sound).Acquire(t.Context()); h != nil || !errors.Is(err, sound.err) {
		t.Errorf("%+v, %v", h, err)
	}
}
