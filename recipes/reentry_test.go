package recipes

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"locklab/recipes/zksession"
)

// reentrants are the recipes whose holds can be entered again. The others refuse it.
var reentrants = map[string]bool{
	"mutex":         true,
	"rw":            true,
	"fair-rw":       true,
	"naive-rw":      true,
	"rw/read":       true,
	"fair-rw/read":  true,
	"naive-rw/read": true,
}

func TestReentry(t *testing.T) {
	for name, maker := range revocables {
		svc := newFakeService()
		var requests atomic.Int32
		s, _ := svc.session(t, func(string, string) fault { requests.Add(1); return pass })
		s.unwatched.held = never
		h, err := lockOf(t, maker, s, nil).Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		before := requests.Load()
		entered := 1
		for range 2 {
			err := h.Reenter()
			if err == nil {
				entered++
			}
			if reentrants[name] != (err == nil) || err != nil && !errors.Is(err, ErrNotReentrant) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for ; entered > 1; entered-- {
			if err := h.Release(within(t)); err != nil || h.Context().Err() != nil {
				t.Errorf("%s: undo: %v, %v", name, err, h.Context().Err())
			}
		}
		if n := requests.Load(); n != before {
			t.Errorf("%s: %d requests for re-entry", name, n-before)
		}
		if err := h.Release(within(t)); err != nil || context.Cause(h.Context()) != ErrReleased {
			t.Errorf("%s: the last: %v, %v", name, err, context.Cause(h.Context()))
		}
		if err := h.Release(within(t)); !errors.Is(err, ErrReleased) {
			t.Errorf("%s: one too many: %v", name, err)
		}
		if err := h.Reenter(); reentrants[name] && !errors.Is(err, ErrReleased) {
			t.Errorf("%s: after release: %v", name, err)
		}
		if nodes := svc.ephemerals(); len(nodes) != 0 {
			t.Errorf("%s: %v", name, nodes)
		}
	}
}

// Curator grants re-entry from its own memory, even to a client that has lost the lock. Here re-entry fails after a
// loss, whatever ended the hold.
func TestReentryAfterLoss(t *testing.T) {
	for name := range reentrants {
		for how, lose := range map[string]func(*fakeService, *fakeSession){
			"expired": func(_ *fakeService, z *fakeSession) { z.end(zksession.ErrSessionExpired) },
			"deleted": func(f *fakeService, _ *fakeSession) { f.remove(f.ephemerals()[0]) },
		} {
			svc := newFakeService()
			s, z := svc.session(t, nil)
			h, err := lockOf(t, revocables[name], s, nil).Acquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Reenter(); err != nil {
				t.Fatal(err)
			}
			lose(svc, z)
			causeOf(t, h)
			if err := h.Reenter(); !errors.Is(err, ErrLockLost) {
				t.Errorf("%s %s: %v", name, how, err)
			}
			for range 2 { // each of the two entries has its own release, which reports the loss
				if err := h.Release(within(t)); !errors.Is(err, ErrLockLost) {
					t.Errorf("%s %s: %v", name, how, err)
				}
			}
			if err := h.Release(within(t)); !errors.Is(err, ErrReleased) {
				t.Errorf("%s %s: %v", name, how, err)
			}
		}
	}
}

// A client that enters again while others leave finds the lock held until it leaves itself.
func TestReentryWhileReleasing(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	l := newLock(t, "mutex", s, nil)
	entered := 0
	for range 200 {
		h, err := l.Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		var in atomic.Int32
		for range 3 {
			wg.Go(func() {
				if err := h.Reenter(); err != nil {
					if !errors.Is(err, ErrReleased) {
						t.Error(err)
					}
					return
				}
				in.Add(1)
				if h.Context().Err() != nil || len(svc.ephemerals()) != 1 {
					t.Error("entered a lock that is released")
				}
				if err := h.Release(within(t)); err != nil {
					t.Error(err)
				}
			})
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
		wg.Wait()
		entered += int(in.Load())
		if h.Context().Err() == nil {
			t.Error("still held")
		}
	}
	t.Logf("%d of 600 got in", entered)
}

func TestReentryOfMulti(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	of := func(locks ...string) *MultiHold {
		var members []Member
		for _, name := range locks {
			members = append(members, Member{name, lockOf(t, map[string]func(*Session, func(int)) (Lock, error){
				"a": func(s *Session, _ func(int)) (Lock, error) { return NewMutex(MutexConfig{Session: s, Path: "/a"}) },
				"b": func(s *Session, _ func(int)) (Lock, error) { return NewMutex(MutexConfig{Session: s, Path: "/b"}) },
				"c": func(s *Session, _ func(int)) (Lock, error) {
					return NewSemaphoreMutex(SemaphoreMutexConfig{Session: s, Path: "/c"})
				},
			}[name], s, nil)})
		}
		m, err := NewMulti(MultiConfig{Members: members})
		if err != nil {
			t.Fatal(err)
		}
		h, err := m.Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := of("a", "b")
	if err := h.Reenter(); err != nil {
		t.Fatal(err)
	}
	if err := h.Release(within(t)); err != nil || h.Context().Err() != nil || len(svc.ephemerals()) != 2 {
		t.Errorf("%v, %v, %v", err, h.Context().Err(), svc.ephemerals())
	}
	if err := h.Release(within(t)); err != nil || len(svc.ephemerals()) != 0 {
		t.Errorf("%v, %v", err, svc.ephemerals())
	}
	if err := h.Release(within(t)); !errors.Is(err, ErrReleased) {
		t.Error(err)
	}
	if err := h.Reenter(); !errors.Is(err, ErrReleased) {
		t.Error(err)
	}

	h = of("a", "b")
	if err := h.Reenter(); err != nil {
		t.Fatal(err)
	}
	svc.remove(svc.ephemerals()[1])
	<-h.Holds()[1].Context().Done()
	if err := h.Reenter(); !errors.Is(err, ErrLockLost) { // at once, before the whole has heard of it
		t.Error(err)
	}
	<-h.Context().Done()
	for range 2 {
		if err := h.Release(within(t)); !errors.Is(err, ErrLockLost) {
			t.Error(err)
		}
	}
	eventually(t, "the other member is released", func() bool { return len(svc.ephemerals()) == 0 })

	h = of("a", "c")
	if err := h.Reenter(); !errors.Is(err, ErrNotReentrant) {
		t.Error(err)
	}
	if err := h.Release(within(t)); err != nil || len(svc.ephemerals()) != 0 {
		t.Errorf("%v, %v", err, svc.ephemerals())
	}
}
