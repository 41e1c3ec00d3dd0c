package recipes

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"locklab/recipes/zktest"
)

// replaced deletes a count and creates it again, with a value and as many settings of it, in one go as an administrator
// can. It reports whether the service let it.
func (f *fakeService) replaced(p string, value, settings int32) bool {
	ops := []zktest.AdminOp{{Path: p, Delete: true}}
	for range settings + 1 {
		ops = append(ops, zktest.AdminOp{Path: p, Data: encodeCount(value)})
	}
	_, err := f.Transact(ops...)
	return err == nil
}

// TrySetCount does not set a count that was deleted and created again since it was read, although the versions are the
// same: neither if that happens before the call nor at any of its requests, whatever is lost of the last one.
func TestTrySetCountReplaced(t *testing.T) {
	for _, lost := range []fault{pass, loseBefore, loseAfter} {
		// At -1 the count is replaced before the call, and otherwise before the at-th request of the call, until there is
		// none.
		for at, done := -1, false; !done; at++ {
			svc := newFakeService()
			n, calling, replaced := 0, false, false
			s, _ := svc.session(t, func(op, p string) fault {
				if !calling {
					return pass
				}
				if n == at {
					replaced = svc.replaced(countPath, 9, 1)
				}
				n++
				if op == "multi" && strings.Contains(p, pinMark) {
					what := lost
					lost = pass
					return what
				}
				return pass
			})
			losing := lost
			c := newCountOf(t, s, countPath, 1)
			if err := c.SetCount(within(t), 3); err != nil {
				t.Fatal(err)
			}
			previous, err := c.Get(within(t))
			if err != nil || previous.Version != 1 {
				t.Fatalf("%+v, %v", previous, err)
			}
			if at < 0 && !svc.replaced(countPath, 9, 1) {
				t.Fatal("the count was not replaced")
			}
			calling = true
			set, err := c.TrySetCount(within(t), previous, 5)
			calling = false
			// When the reply was lost and the count was replaced, nothing is left that tells a transaction that was carried out
			// before from a pin that was deleted with the count.
			if err != nil && !(losing == loseAfter && replaced && errors.Is(err, errSetUnknown)) {
				t.Errorf("%v, at %d: %v", losing, at, err)
			}
			now, err := c.Latest(within(t))
			if err != nil {
				t.Fatal(err)
			}
			// A replacement after the transaction, which TrySetCount hears of when the reply was lost, changes nothing.
			want := map[bool]int32{true: 5, false: 9}[set]
			if replaced && set {
				want = 9
			}
			if at < 0 && set || now.Value != want || replaced && set && losing != loseAfter {
				t.Errorf("%v, at %d: set %t, replaced %t, and it is %+v", losing, at, set, replaced, now)
			}
			eventually(t, "no pin is left", func() bool { return len(svc.children(countPath)) == 0 })
			done, lost = at >= n, losing
		}
	}
}

// unpin deletes the pins of a count, and returns how many there were.
func (f *fakeService) unpin() int {
	pins := f.children(countPath)
	for _, pin := range pins {
		f.remove(countPath + "/" + pin)
	}
	return len(pins)
}

// Whoever deletes a pin does not make TrySetCount lie.
func TestTrySetCountUnpinned(t *testing.T) {
	svc := newFakeService()
	calling, removed := false, false
	s, _ := svc.session(t, func(op, p string) fault {
		if calling && !removed && op == "multi" {
			removed = svc.unpin() > 0
			return loseBefore
		}
		return pass
	})
	c := newCountOf(t, s, countPath, 1)
	previous, err := c.Get(within(t))
	if err != nil {
		t.Fatal(err)
	}
	calling = true
	set, err := c.TrySetCount(within(t), previous, 5)
	if !removed || !set || err != nil {
		t.Errorf("removed %t, set %t, %v", removed, set, err)
	}
	if now, err := c.Get(within(t)); err != nil || now.Value != 5 || now.Version != 1 {
		t.Errorf("%+v, %v", now, err)
	}
}

// Whoever deletes a count with all that is below it does not make TrySetCount say that it has set the value, whether or
// not somebody creates the count again.
func TestTrySetCountDeletedWithAll(t *testing.T) {
	for _, again := range []bool{false, true} {
		testTrySetCountDeletedWithAll(t, again)
	}
}

func testTrySetCountDeletedWithAll(t *testing.T, again bool) {
	for _, lost := range []fault{loseBefore, loseAfter} {
		svc := newFakeService()
		calling := false
		s, _ := svc.session(t, func(op, _ string) fault {
			switch {
			case calling && op == "multi":
				return lost
			case calling && op == "sync": // the client asks what became of its transaction
				calling = false
				svc.unpin()
				svc.remove(countPath)
				if again {
					svc.set(countPath, encodeCount(9), 0)
				}
			}
			return pass
		})
		c := newCountOf(t, s, countPath, 1)
		previous, err := c.Get(within(t))
		if err != nil {
			t.Fatal(err)
		}
		calling = true
		if set, err := c.TrySetCount(within(t), previous, 5); set || !errors.Is(err, errSetUnknown) {
			t.Errorf("%v, created again %t: set %t, %v", lost, again, set, err)
		}
	}
}

// SetCount sets a count once, also if the count was deleted and created again, and another client has set it, before
// the client hears what became of its request.
func TestSetCountReplaced(t *testing.T) {
	svc := newFakeService()
	lose := count("multi", 1, loseAfter)
	s, z := svc.session(t, func(op, p string) fault {
		if op == "sync" {
			svc.replaced(countPath, 9, 1)
		}
		return lose(op, p)
	})
	c := newCountOf(t, s, countPath, 1)
	if err := c.SetCount(within(t), 5); err != nil {
		t.Fatal(err)
	}
	if now, err := c.Get(within(t)); err != nil || now.Value != 9 || z.count("multi") != 1 {
		t.Errorf("%+v, %v, set %d times", now, err, z.count("multi"))
	}
}

// A contender is not granted a permit by a number of permits that is no longer there, although the znode that took its
// place has the same version.
func TestSemaphoreCountReplaced(t *testing.T) {
	svc := newFakeService()
	holder, _ := svc.session(t, nil)
	replaced := false
	s, _ := svc.session(t, func(op, p string) fault {
		if op == "multi" && !replaced && strings.Contains(p, "/leases/") {
			replaced = svc.replaced(countPath, 1, 0)
		}
		return pass
	})
	held, sem := besideAHolder(t, holder, s)
	if h, err := sem.TryAcquire(within(t), 1); !errors.Is(err, ErrNotAcquired) {
		t.Errorf("granted %v by two permits, where there is one and another client has it: %v", h, err)
	}
	if !replaced {
		t.Error("the count was not replaced")
	}
	if err := held.Release(within(t)); err != nil {
		t.Error(err)
	}
	h, err := sem.Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Release(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// TrySetCount does not create a count that was deleted.
func TestTrySetCountDeleted(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	c := newCountOf(t, s, countPath, 1)
	previous, err := c.Get(within(t))
	if err != nil {
		t.Fatal(err)
	}
	svc.remove(countPath)
	if set, err := c.TrySetCount(within(t), previous, 5); set || err != nil {
		t.Errorf("%t, %v", set, err)
	}
	if _, there := svc.Node(countPath); there {
		t.Error("TrySetCount has created the count")
	}
}

// Clients of several sessions count up by TrySetCount while every tenth request is lost. Whenever it says that it set
// the value it has, once, and otherwise not.
func TestTrySetCountUnderLoss(t *testing.T) {
	const clients, each = 4, 12
	svc := newFakeService()
	lossy := everyTenth()
	var wg sync.WaitGroup
	for range clients {
		s, _ := svc.session(t, lossy)
		c := newCountOf(t, s, countPath, 0)
		wg.Go(func() {
			for n := 0; n < each; {
				previous, err := c.Get(within(t))
				if err != nil {
					t.Error(err)
					return
				}
				set, err := c.TrySetCount(within(t), previous, previous.Value+1)
				if err != nil {
					t.Error(err)
					return
				}
				if set {
					n++
				}
			}
		})
	}
	wg.Wait()
	if want := encodeCount(clients * each); !bytes.Equal(svc.data(countPath), want) {
		t.Errorf("the count is % x, want % x", svc.data(countPath), want)
	}
	eventually(t, "no pin is left", func() bool { return len(svc.children(countPath)) == 0 })
}

// Whenever before the end of an acquisition's transaction the number of permits is replaced by a smaller one of the
// same version, no permit is granted beyond it.
func TestSemaphoreCountReplacedAtEachRequest(t *testing.T) {
	for at, done := 0, false; !done; at++ {
		svc := newFakeService()
		holder, _ := svc.session(t, nil)
		var mu sync.Mutex
		n, acquiring, replaced := 0, false, false
		s, _ := svc.session(t, func(op, p string) fault {
			mu.Lock()
			defer mu.Unlock()
			if acquiring && n == at {
				replaced = svc.replaced(countPath, 1, 0)
			}
			n++
			acquiring = acquiring && !(op == "multi" && strings.Contains(p, "/leases/"))
			return pass
		})
		held, sem := besideAHolder(t, holder, s)
		s.unwatched = unwatched{never, never} // so that the requests are always the same ones
		mu.Lock()
		n, acquiring = 0, true
		mu.Unlock()
		h, err := sem.TryAcquire(within(t), 1)
		mu.Lock()
		acquiring = false
		mu.Unlock()
		switch {
		case !replaced && err != nil, err != nil && !errors.Is(err, ErrNotAcquired):
			t.Errorf("at %d: %v", at, err)
		case err == nil && replaced:
			t.Errorf("at %d: granted the second permit of one", at)
		}
		for _, h := range []*Hold{h, held} {
			if h == nil {
				continue
			}
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		}
		done = !replaced
	}
}

// besideAHolder returns a hold of one of the two permits of a semaphore with a shared count, and the semaphore of
// another session.
func besideAHolder(t *testing.T, holder, other *Session) (*Hold, *Semaphore) {
	t.Helper()
	sem := func(s *Session) *Semaphore {
		return newSemaphore(t, SemaphoreConfig{Session: s, Count: newCountOf(t, s, countPath, 2)})
	}
	held, err := sem(holder).Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	return held, sem(other)
}
