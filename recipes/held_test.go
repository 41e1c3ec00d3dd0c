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
	naive, err := NewNaiveMutex(NaiveConfig{Session: s, Path: "/naive"})
	if err != nil {
		t.Fatal(err)
	}
	one, err := NewSemaphoreMutex(SemaphoreMutexConfig{Session: s, Path: "/one"})
	if err != nil {
		t.Fatal(err)
	}
	most := newSemaphore(t, SemaphoreConfig{Session: s, Path: "/most", Max: 3}).Of(2)
	for name, l := range map[string]TryLock{
		"mutex": mutex, "leader": leader, "naive": naive, "semaphore mutex": one, "two of three permits": most,
	} {
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

// A semaphore counts the permits of all holds that the context is of. It refuses an acquire only if those that are left
// can never suffice.
func TestAcquirePermitsUnderOwnHolds(t *testing.T) {
	f := newFakeService()
	s, _ := f.session(t, nil)
	sem := newSemaphore(t, SemaphoreConfig{Session: s, Max: 3})
	take := func(ctx context.Context, n int) *Hold {
		t.Helper()
		h, err := sem.Acquire(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := take(within(t), 1)
	twice, cancel := first.Within(first.Context()) // the same hold, said twice
	defer cancel()
	if err := take(twice, 2).Release(within(t)); err != nil {
		t.Error(err)
	}
	second := take(first.Context(), 1) // its context is of both
	both, cancel := second.Within(within(t))
	defer cancel()
	for name, ctx := range map[string]context.Context{"Context": second.Context(), "Within": both} {
		if _, err := sem.Acquire(ctx, 2); !errors.Is(err, ErrHeld) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := sem.TryAcquire(ctx, 2); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("%s, tried: %v", name, err)
		}
		if err := take(ctx, 1).Release(within(t)); err != nil {
			t.Error(err)
		}
	}
	if err := first.Release(within(t)); err != nil { // its permit is free again
		t.Fatal(err)
	}
	if err := take(second.Context(), 2).Release(within(t)); err != nil {
		t.Error(err)
	}
	if err := second.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// A shared number of permits may be raised, so an acquire under an own hold waits for that.
func TestAcquireSharedPermitsUnderTheOwnHold(t *testing.T) {
	f := newFakeService()
	s, _ := f.session(t, nil)
	count := newCountOf(t, s, countPath, 1)
	sem := newSemaphore(t, SemaphoreConfig{Session: s, Count: count})
	h, err := sem.Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := acquiring(t, contextual{sem.Of(1), h.Context()})
	eventually(t, "it waits", func() bool { return waiting(s, countPath) })
	if err := count.SetCount(within(t), 2); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*Hold{<-got, h} {
		if h == nil {
			continue // reported
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
	}
}

// A contextual lock is acquired with a context of its own.
type contextual struct {
	Lock
	ctx context.Context
}

func (l contextual) Acquire(context.Context) (*Hold, error) { return l.Lock.Acquire(l.ctx) }

// A lock of several is refused with the context of the whole, if one of its members would wait for itself.
func TestAcquireSeveralUnderTheOwnHold(t *testing.T) {
	f := newFakeService()
	s, _ := f.session(t, nil)
	mutex, err := NewMutex(MutexConfig{Session: s, Path: "/a"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMulti(MultiConfig{Members: []Member{
		{"permit", newSemaphore(t, SemaphoreConfig{Session: s, Path: "/b", Max: 2}).Of(1)}, {"mutex", mutex},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := m.Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	inside, cancel := h.Within(within(t))
	defer cancel()
	for name, ctx := range map[string]context.Context{"Context": h.Context(), "Within": inside} {
		if _, err := m.Acquire(ctx); !errors.Is(err, ErrHeld) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
}
