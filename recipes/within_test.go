package recipes

import (
	"context"
	"errors"
	"testing"
)

// A context that is unrelated to the hold ends with the hold, and carries it, once Within has combined them.
func TestWithin(t *testing.T) {
	type key struct{}
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	for _, lost := range []bool{false, true} {
		h, err := newLock(t, "mutex", s, nil).Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		request, end := context.WithCancelCause(context.WithValue(within(t), key{}, "value"))
		first, cancel := h.Within(request)
		if first.Value(key{}) != "value" || first.Err() != nil {
			t.Errorf("value %v, %v", first.Value(key{}), first.Err())
		}
		cancel()
		if h.Context().Err() != nil || !errors.Is(first.Err(), context.Canceled) {
			t.Errorf("after cancel: the hold %v, inside %v", h.Context().Err(), first.Err())
		}
		second, cancel := h.Within(request)
		defer cancel()
		want := ErrReleased
		if lost {
			svc.remove(svc.ephemerals()[0])
			causeOf(t, h)
			want = ErrLockLost
		} else if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
		<-second.Done()
		if cause := context.Cause(second); !errors.Is(cause, want) {
			t.Errorf("cause %v, want %v", cause, want)
		}
		third, cancel := h.Within(request)
		defer cancel()
		if cause := context.Cause(third); !errors.Is(cause, want) { // at once
			t.Errorf("the context of a hold that has ended: cause %v", cause)
		}
		end(nil)
	}
}

// The end of a request ends the context made from it, and not the hold.
func TestWithinEndsWithTheRequest(t *testing.T) {
	h, err := NewNoLock(1).Acquire(within(t)) // NoLock has no queue
	if err != nil {
		t.Fatal(err)
	}
	over := errors.New("over")
	request, end := context.WithCancelCause(within(t))
	inside, cancel := h.Within(request)
	defer cancel()
	end(over)
	if <-inside.Done(); context.Cause(inside) != over || h.Context().Err() != nil {
		t.Errorf("%v, %v", context.Cause(inside), h.Context().Err())
	}
}

// A reader's request for the write lock is refused under every context that says that it reads.
func TestUpgradeIsRefusedWithin(t *testing.T) {
	for recipe := range rwMakers {
		svc := newFakeService()
		s, z := svc.session(t, nil)
		rw := newRW(t, recipe, s, nil)
		h, err := rw.Read().Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		inside, cancel := h.Within(within(t))
		defer cancel()
		before := z.count("create")
		if _, err := rw.Write().Acquire(inside); !errors.Is(err, ErrUpgrade) {
			t.Errorf("%s: %v", recipe, err)
		}
		if n := z.count("create"); n != before {
			t.Errorf("%s: %d creates for a request that was refused", recipe, n-before)
		}
		// A request whose context says nothing counts as another client's.
		stopped, stop := context.WithCancel(within(t))
		theirs := newRW(t, recipe, s, func(int) { stop() })
		if _, err := theirs.Write().Acquire(stopped); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", recipe, err)
		}
		m, err := NewMulti(MultiConfig{Members: []Member{{"read", rw.Read()}, {"none", NewNoLock(0)}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
		eventually(t, recipe+": free", func() bool { return len(svc.ephemerals()) == 0 })
		both, err := m.Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rw.Write().Acquire(both.Context()); !errors.Is(err, ErrUpgrade) {
			t.Errorf("%s: in a multi-lock: %v", recipe, err)
		}
		if err := both.Release(within(t)); err != nil {
			t.Error(err)
		}
	}
}
