package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"locklab/recipes/zksession"
)

// triable makes a lock for TryAcquire.
func triable(t *testing.T, recipe string, s *Session) TryLock {
	t.Helper()
	l, ok := newLock(t, recipe, s, nil).(TryLock)
	if !ok {
		t.Fatalf("%s cannot be tried", recipe)
	}
	return l
}

// A free lock is acquired, and a taken one is not. A failed attempt leaves nothing behind when it returns, so the
// next attempt does not find it.
func TestTry(t *testing.T) {
	for recipe := range makers {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		other, _ := svc.session(t, nil)
		mine, theirs := triable(t, recipe, s), triable(t, recipe, other)
		for range 3 {
			h, err := theirs.TryAcquire(within(t))
			if err != nil {
				t.Fatalf("%s: %v", recipe, err)
			}
			held := svc.ephemerals()
			for range 3 {
				if _, err := mine.TryAcquire(within(t)); !errors.Is(err, ErrNotAcquired) {
					t.Errorf("%s: %v", recipe, err)
				}
				if left := svc.ephemerals(); !slices.Equal(left, held) {
					t.Errorf("%s: left %v, held are %v", recipe, left, held)
				}
			}
			if h.Context().Err() != nil || h.Token() == 0 {
				t.Errorf("%s: %v, token %d", recipe, context.Cause(h.Context()), h.Token())
			}
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
			h, err = mine.TryAcquire(within(t))
			if err != nil {
				t.Fatalf("%s: the lock is free, but: %v", recipe, err)
			}
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		}
		if left := svc.ephemerals(); len(left) != 0 {
			t.Errorf("%s: %v", recipe, left)
		}
	}
}

// Readers hold together, and a writer only without them. A write lock acquired by TryAcquire can be downgraded.
func TestTryRW(t *testing.T) {
	for recipe := range rwMakers {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		rw := newRW(t, recipe, s, nil)
		a, err := rw.Read().TryAcquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		b, err := rw.Read().TryAcquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rw.Write().TryAcquire(within(t)); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("%s: a writer beside readers: %v", recipe, err)
		}
		if _, err := rw.Write().TryAcquire(a.Context()); !errors.Is(err, ErrUpgrade) {
			t.Errorf("%s: an upgrade: %v", recipe, err)
		}
		for _, h := range []*Hold{a, b} {
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		}
		w, err := rw.Write().TryAcquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rw.Read().TryAcquire(within(t)); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("%s: a reader beside a writer: %v", recipe, err)
		}
		if rw, ok := rw.(*RW); ok {
			if w, err = rw.Downgrade(within(t), w); err != nil {
				t.Fatal(err)
			}
			if a, err = rw.Read().TryAcquire(within(t)); err != nil {
				t.Errorf("beside a reader that was a writer: %v", err)
			} else if err := a.Release(within(t)); err != nil {
				t.Error(err)
			}
		}
		if err := w.Release(within(t)); err != nil {
			t.Error(err)
		}
		if left := svc.ephemerals(); len(left) != 0 {
			t.Errorf("%s: %v", recipe, left)
		}
	}
}

// Each request of an attempt, on a free lock and on a taken one, fails in every way.
func TestTryEveryRequestLost(t *testing.T) {
	for recipe := range makers {
		for _, taken := range []bool{false, true} {
			for _, what := range []fault{loseBefore, loseAfter, expire, expireThen} {
				for n := 1; ; n++ {
					name := fmt.Sprintf("%s/taken=%t/fault=%d/request=%d", recipe, taken, what, n)
					if !tryWithFault(t, name, recipe, taken, what, n) {
						if n < 3 {
							t.Errorf("%s: the fault was never injected", name)
						}
						break
					}
				}
			}
		}
	}
}

func tryWithFault(t *testing.T, name, recipe string, taken bool, what fault, n int) bool {
	svc := newFakeService()
	faults, injected := nth(n, what)
	s, z := svc.session(t, faults)
	other, _ := svc.session(t, nil)
	theirs := triable(t, recipe, other)
	var holder *Hold
	if taken {
		var err error
		if holder, err = theirs.TryAcquire(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	h, err := triable(t, recipe, s).TryAcquire(within(t))
	wasHit := injected()
	switch {
	case err == nil && taken:
		t.Errorf("%s: two clients hold the lock", name)
	case err == nil:
		if err := h.Release(within(t)); err != nil && z.Err() == nil {
			t.Errorf("%s: %v", name, err)
		}
	case taken && errors.Is(err, ErrNotAcquired):
	case wasHit && z.Err() != nil && errors.Is(err, zksession.ErrSessionExpired):
	default:
		t.Errorf("%s: %v", name, err)
	}
	if taken {
		if holder.Context().Err() != nil {
			t.Errorf("%s: %v", name, context.Cause(holder.Context()))
		}
		if err := holder.Release(within(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// An attempt has removed its znode when it returns, unless the end of its session cut it short.
	eventually(t, name+": nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
	h, err = theirs.TryAcquire(within(t))
	if err != nil {
		t.Errorf("%s: next: %v", name, err)
	} else if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
	return injected()
}

// The context ends at each request of an attempt that finds the lock taken. The attempt returns although the service
// does not answer, and leaves nothing behind.
func TestTryCancelledAtEveryRequest(t *testing.T) {
	for recipe := range makers {
		for n := int32(1); ; n++ {
			name := fmt.Sprintf("%s/request=%d", recipe, n)
			svc := newFakeService()
			other, _ := svc.session(t, nil)
			holder, err := triable(t, recipe, other).TryAcquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			held := svc.ephemerals()
			ctx, cancel := context.WithCancel(within(t))
			var requests atomic.Int32
			proceed := make(chan struct{})
			s, _ := svc.session(t, func(string, string) fault {
				if requests.Add(1) == n {
					cancel()
					<-proceed
				}
				return pass
			})
			_, err = triable(t, recipe, s).TryAcquire(ctx)
			over := ctx.Err() == nil
			close(proceed)
			cancel()
			if over && !errors.Is(err, ErrNotAcquired) ||
				!errors.Is(err, ErrNotAcquired) && !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
			eventually(t, name+": only the holder is left", func() bool { return slices.Equal(svc.ephemerals(), held) })
			if err := holder.Release(within(t)); err != nil {
				t.Error(err)
			}
			if over {
				break
			}
		}
	}
}

// TryAcquire gets all members or none.
func TestTryMulti(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	members := []Member{{"none", NewNoLock(s.ID())}}
	for _, path := range []string{"/a", "/b"} {
		m, err := NewMutex(MutexConfig{Session: s, Path: path})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, Member{path, m})
	}
	m, err := NewMulti(MultiConfig{Members: members})
	if err != nil {
		t.Fatal(err)
	}
	b, err := members[2].Lock.Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.TryAcquire(within(t)); !errors.Is(err, ErrNotAcquired) || len(svc.ephemerals()) != 1 {
		t.Errorf("%v, %v", err, svc.ephemerals())
	}
	if err := b.Release(within(t)); err != nil {
		t.Error(err)
	}
	h, err := m.TryAcquire(within(t))
	if err != nil || len(h.Holds()) != 3 {
		t.Fatal(err)
	}
	if err := h.Release(within(t)); err != nil || len(svc.ephemerals()) != 0 {
		t.Errorf("%v, %v", err, svc.ephemerals())
	}
	plain, diary := multiOf(t, false, &scripted{name: "plain"})
	if _, err := plain.TryAcquire(within(t)); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	expectDiary(t, diary)
}
