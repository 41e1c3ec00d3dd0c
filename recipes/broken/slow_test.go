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
	for _, acquire := range []func(context.Context) (*recipes.Hold, error){slow.Acquire, slow.TryAcquire} {
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
