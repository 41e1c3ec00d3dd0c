package recipes

import (
	"context"
	"errors"
	"testing"
)

// A caller that asks for a lock with the context of its own hold is refused, because it would wait for itself. Another
// context waits, a try says that the lock is taken, and once the hold has ended its context is no obstacle.
func TestAcquireUnderTheOwnHold(t *testing.T) {
	f := newFakeService()
	s, _ := f.session(t, nil)
	mutex, err := NewMutex(MutexConfig{Session: s, Path: "/mutex"})
	if err != nil {
		t.Fatal(err)
	}
	leader, err := NewLeader(LeaderConfig{Session: s, Path: "/leader"})
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]TryLock{"mutex": mutex, "leader": leader} {
		h, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		inside, cancel := h.Within(t.Context())
		defer cancel()
		for how, ctx := range map[string]context.Context{"Context": h.Context(), "Within": inside} {
			if _, err := l.Acquire(ctx); !errors.Is(err, ErrHeld) {
				t.Errorf("%s with %s: %v", name, how, err)
			}
			if _, err := l.TryAcquire(ctx); !errors.Is(err, ErrNotAcquired) {
				t.Errorf("%s, tried with %s: %v", name, how, err)
			}
		}
		ended := context.WithoutCancel(h.Context())
		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if h, err = l.Acquire(ended); err != nil {
			t.Errorf("%s after the hold: %v", name, err)
		} else if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
