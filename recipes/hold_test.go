package recipes

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

func TestHoldCauses(t *testing.T) {
	for recipe := range makers {
		for name, c := range map[string]struct {
			end  func(*fakeService, *Session, *fakeSession)
			want []error
		}{
			"expired": {func(_ *fakeService, _ *Session, z *fakeSession) { z.end(zksession.ErrSessionExpired) },
				[]error{ErrLockLost, zksession.ErrSessionExpired}},
			"closed": {func(_ *fakeService, s *Session, _ *fakeSession) { _ = s.Close(context.Background()) },
				[]error{ErrLockLost, zksession.ErrSessionClosed}},
			"deleted": {func(f *fakeService, _ *Session, _ *fakeSession) { f.remove(f.ephemerals()[0]) }, []error{ErrLockLost}},
			"changed, then deleted": {func(f *fakeService, _ *Session, _ *fakeSession) {
				node := f.ephemerals()[0]
				f.set(node, []byte("changed"), 0)
				f.remove(node)
			}, []error{ErrLockLost}},
			"changed, then another's": {func(f *fakeService, _ *Session, _ *fakeSession) {
				node := f.ephemerals()[0]
				if _, err := f.Transact( // so that the client sees all of it at once
					zktest.AdminOp{Path: node, Data: []byte("changed")},
					zktest.AdminOp{Path: node, Delete: true},
					zktest.AdminOp{Path: node},
				); err != nil {
					panic(err)
				}
			}, []error{ErrLockLost}},
		} {
			svc := newFakeService()
			s, z := svc.session(t, nil)
			h, err := newLock(t, recipe, s, nil).Acquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if h.Token() == 0 || h.Session() != s.ID() || h.Context().Err() != nil {
				t.Errorf("%s: token %d, session %d, %v", recipe, h.Token(), h.Session(), h.Context().Err())
			}
			c.end(svc, s, z)
			cause := causeOf(t, h)
			err = h.Release(within(t))
			for _, want := range c.want {
				if !errors.Is(cause, want) || !errors.Is(err, want) {
					t.Errorf("%s %s: cause %v, release %v, want %v", recipe, name, cause, err, want)
				}
			}
			if err := h.Release(within(t)); !errors.Is(err, ErrReleased) {
				t.Errorf("%s %s: second release %v", recipe, name, err)
			}
		}
	}
}

// By the time the service is asked to delete the znode, the client has stopped believing that it holds the lock.
func TestReleaseIsLocalFirst(t *testing.T) {
	for recipe := range makers {
		svc := newFakeService()
		var h *Hold
		s, _ := svc.session(t, func(op, _ string) fault {
			if op == "delete" && context.Cause(h.Context()) != ErrReleased {
				t.Errorf("%s: cause at the delete: %v", recipe, context.Cause(h.Context()))
			}
			return pass
		})
		var err error
		if h, err = newLock(t, recipe, s, nil).Acquire(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
	}
}

func TestNoLock(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t))
	l := NewNoLock(7)
	a, err := l.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if a.Token() != 0 || a.Session() != 7 || a.Context().Err() != nil || b.Context().Err() != nil {
		t.Errorf("token %d, session %d", a.Token(), a.Session())
	}
	if err := a.Release(ctx); err != nil {
		t.Error(err)
	}
	if err := a.Release(ctx); !errors.Is(err, ErrReleased) {
		t.Error(err)
	}
	if cause := context.Cause(a.Context()); cause != ErrReleased || b.Context().Err() != nil {
		t.Errorf("cause %v", cause)
	}
	if _, err := l.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestParentsAreContainers(t *testing.T) {
	for recipe := range makers {
		for _, old := range []bool{false, true} {
			svc := &fakeService{zktest.New(zktest.Config{NoContainers: old})}
			s, _ := svc.session(t, nil)
			h, err := newLock(t, recipe, s, nil).Acquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			want := zksession.Container
			if old {
				want = zksession.Persistent
			}
			if parent, _ := svc.Node("/locks"); parent.Mode != want {
				t.Errorf("%s, old=%t: mode %d, want %d", recipe, old, parent.Mode, want)
			}
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		}
	}
}

// A second znode of the same attempt is removed, however it was created.
func TestSurplusIsRemoved(t *testing.T) {
	svc := newFakeService()
	var s *Session
	done := false
	s, _ = svc.session(t, func(op, _ string) fault {
		if op == "children" && !done {
			done = true
			own := svc.ephemerals()[0]
			svc.set(own[:len(own)-1]+"9", nil, s.ID())
		}
		return pass
	})
	h, err := newLock(t, "mutex", s, nil).Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the surplus is removed", func() bool { return len(svc.ephemerals()) == 1 })
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// A waiter whose znode is deleted queues again, under another name and behind the others.
func TestMutexQueuesAgain(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	h, err := newLock(t, "mutex", s, nil).Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	queued := make(chan int, 2)
	got := make(chan error, 1)
	go func() {
		got <- useOnce(t, "queues again", within(t), newLock(t, "mutex", s, func(ahead int) { queued <- ahead }),
			new(holders))
	}()
	<-queued
	var old string
	for _, node := range svc.ephemerals() {
		if c, _ := mutexLayout.parse(path.Base(node)); c.seq == 1 {
			old = node
		}
	}
	svc.remove(old)
	if ahead := <-queued; ahead != 1 {
		t.Errorf("%d ahead", ahead)
	}
	for _, node := range svc.ephemerals() {
		if strings.HasPrefix(node, old[:len(old)-len("0000000001")]) {
			t.Error("the UUID is used again")
		}
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	s, _ := newFakeService().session(t, nil)
	if _, err := NewMutex(MutexConfig{Path: "/a"}); err == nil {
		t.Error("mutex without a session")
	}
	if _, err := NewMutex(MutexConfig{Session: s, Path: "/a/"}); !errors.Is(err, ErrInvalidPath) {
		t.Error(err)
	}
	if _, err := NewNaiveMutex(NaiveConfig{Path: "/a"}); err == nil {
		t.Error("naive mutex without a session")
	}
	if _, err := NewNaiveMutex(NaiveConfig{Session: s, Path: "a"}); !errors.Is(err, ErrInvalidPath) {
		t.Error(err)
	}
}

// A release whose context has ended is still confirmed if the service answers. If it does not, the release returns
// after its grace, and goes on in the background.
func TestReleaseHasAGrace(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for recipe := range makers {
		synctest.Test(t, func(t *testing.T) {
			svc := newFakeService()
			blocked := make(chan struct{})
			var block atomic.Bool
			s, _ := svc.session(t, func(op, _ string) fault {
				if block.Load() && (op == "delete" || op == "multi") {
					<-blocked
				}
				return pass
			})
			l := newLock(t, recipe, s, nil)
			if err := acquired(t, l).Release(ended); err != nil || len(svc.ephemerals()) != 0 {
				t.Errorf("%s: %v, left behind: %v", recipe, err, svc.ephemerals())
			}
			h := acquired(t, l)
			block.Store(true)
			begun := time.Now()
			if err := h.Release(ended); !errors.Is(err, context.Canceled) || time.Since(begun) != releaseGrace {
				t.Errorf("%s: the service does not answer: %v after %s", recipe, err, time.Since(begun))
			}
			close(blocked)
			synctest.Wait()
			if left := svc.ephemerals(); len(left) != 0 {
				t.Errorf("%s: left behind: %v", recipe, left)
			}
		})
	}
}

// The members of a lock share one grace.
func TestMultiReleaseHasAGrace(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		blocked := make(chan struct{})
		s, _ := svc.session(t, func(op, _ string) fault {
			if op == "delete" {
				<-blocked
			}
			return pass
		})
		m, err := NewMulti(MultiConfig{Members: []Member{
			{"a", newMutex(MutexConfig{Session: s, Path: "/a"})}, {"b", newMutex(MutexConfig{Session: s, Path: "/b"})},
		}})
		if err != nil {
			t.Fatal(err)
		}
		h, err := m.Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := h.Release(ended); !errors.Is(err, context.Canceled) || time.Since(begun) != releaseGrace {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		close(blocked)
	})
}

// A session that is being closed grants nothing any more, although the service does not know of its end yet.
func TestNothingIsGrantedWhileClosing(t *testing.T) {
	for recipe := range makers {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		l := newLock(t, recipe, s, nil)
		s.end(lost(zksession.ErrSessionClosed)) // as Close begins
		if _, err := l.Acquire(within(t)); !errors.Is(err, zksession.ErrSessionClosed) {
			t.Errorf("%s: %v", recipe, err)
		}
		eventually(t, recipe+" leaves nothing", func() bool { return len(svc.ephemerals()) == 0 })
	}
}
