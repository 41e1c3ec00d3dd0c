package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"locklab/recipes/zksession"
)

// revocables are the recipes whose holds can be revoked, with a function that makes each. The readers are among them.
var revocables = func() map[string]func(*Session, func(int)) (Lock, error) {
	all := map[string]func(*Session, func(int)) (Lock, error){}
	for name, make := range makers {
		if name != "naive" {
			all[name] = make
		}
	}
	for name := range rwMakers {
		all[name+"/read"] = func(s *Session, queued func(int)) (Lock, error) {
			rw, err := rwMakers[name](RWConfig{Session: s, Path: "/locks/a", OnQueued: queued})
			if err != nil {
				return nil, err
			}
			return rw.Read(), nil
		}
	}
	return all
}()

// lockOf makes a lock.
func lockOf(t *testing.T, maker func(*Session, func(int)) (Lock, error), s *Session, queued func(int)) Lock {
	t.Helper()
	l, err := maker(s, queued)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// revoked waits until the hold is asked to leave.
func revoked(t *testing.T, name string, h *Hold) {
	t.Helper()
	select {
	case <-h.Revoked():
	case <-within(t).Done():
		t.Fatalf("%s: the revocation does not come", name)
	}
}

// isRevoked reports whether the hold has been asked to leave.
func isRevoked(h *Hold) bool {
	select {
	case <-h.Revoked():
		return true
	default:
		return false
	}
}

// Every hold sees a revocation, whatever else is written before or after it. A revocation ends no hold.
func TestRevokeWhileHolding(t *testing.T) {
	for name, maker := range revocables {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		admin, _ := svc.session(t, nil)
		l := lockOf(t, maker, s, nil)
		for round := range 3 {
			h, err := l.Acquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if isRevoked(h) {
				t.Errorf("%s: round %d begins revoked", name, round)
			}
			nodes := svc.ephemerals()
			node := nodes[len(nodes)-1]
			for i := range round {
				svc.set(node, fmt.Appendf(nil, "__REVOKE__%d", i), 0) // not the bytes of a revocation
				eventually(t, name+": watched again", func() bool {
					v, ok := watchOn(s, target{path: node})
					return ok && string(v.data) == fmt.Sprintf("__REVOKE__%d", i)
				})
			}
			if isRevoked(h) {
				t.Errorf("%s: revoked by other data", name)
			}
			for range 2 { // asking twice is the same as asking once
				if err := admin.Revoke(within(t), node); err != nil {
					t.Fatal(err)
				}
			}
			revoked(t, name, h)
			eventually(t, name+": watched again, once", func() bool { return svc.watching(node) == 1 })
			if h.Context().Err() != nil {
				t.Errorf("%s: %v", name, context.Cause(h.Context()))
			}
			if err := h.Release(within(t)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := admin.Revoke(within(t), node); err != nil {
				t.Errorf("%s: revoking a hold that has ended: %v", name, err)
			}
		}
	}
}

// The revocation comes at every point of an acquisition, between any two requests. The hold is revoked from the
// start, or soon after.
func TestRevokeAtEveryRequest(t *testing.T) {
	for name, maker := range revocables {
		for n := int32(1); ; n++ {
			svc := newFakeService()
			admin, _ := svc.session(t, nil)
			var requests atomic.Int32
			var asked string
			s, _ := svc.session(t, func(string, string) fault {
				if requests.Add(1) == n {
					for _, node := range svc.ephemerals() {
						asked = node // the only znode, or one of a hold's leases
						if err := admin.Revoke(context.Background(), node); err != nil {
							t.Error(err)
						}
					}
				}
				return pass
			})
			h, err := lockOf(t, maker, s, nil).Acquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, name+": the hold is watched", func() bool {
				return !slices.ContainsFunc(h.nodes, func(node string) bool {
					_, ok := watchOn(s, target{path: node})
					return !ok
				})
			})
			made := requests.Load()
			if _, _, err := admin.zk.Get(within(t), asked); asked != "" && err == nil {
				revoked(t, fmt.Sprintf("%s at request %d", name, n), h)
			} else if isRevoked(h) {
				t.Errorf("%s at request %d: revoked, although no client has asked", name, n)
			}
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
			if n > made {
				break
			}
		}
	}
}

// A client that is asked to leave while it waits finds its hold revoked, if the place in the queue becomes the hold.
// Its next hold is not revoked.
func TestRevokeWhileWaiting(t *testing.T) {
	for name, maker := range revocables {
		if name == "semaphore" || name == "semaphore-mutex" || name == "shared-semaphore" {
			continue // here the place in the queue does not become the hold
		}
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		other, _ := svc.session(t, nil)
		recipe, _ := strings.CutSuffix(name, "/read") // the blocker takes that recipe's write lock
		blocker, err := newLock(t, recipe, other, nil).Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		first := svc.ephemerals()
		queued := make(chan int, 10)
		l := lockOf(t, maker, s, func(ahead int) { queued <- ahead })
		got := acquiring(t, l)
		<-queued
		var node string
		for _, n := range svc.ephemerals() {
			if n != first[0] {
				node = n
			}
		}
		if err := other.Revoke(within(t), node); err != nil {
			t.Fatal(err)
		}
		// The client reads its znode and goes on waiting, whatever is now written over the revocation.
		eventually(t, name+": the client has read its znode", func() bool {
			v, ok := watchOn(s, target{path: node})
			return ok && isRevocation(v.data)
		})
		svc.set(node, []byte("else"), 0)
		if err := blocker.Release(within(t)); err != nil {
			t.Fatal(err)
		}
		h := <-got
		if !isRevoked(h) {
			t.Errorf("%s: not revoked from the start", name)
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
		if h, err = l.Acquire(within(t)); err != nil {
			t.Fatal(err)
		}
		if isRevoked(h) {
			t.Errorf("%s: the next hold is revoked", name)
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
	}
}

// Requests of the revoking client are lost. A znode that is not a participant is refused.
func TestRevokeUnderLossAndRefused(t *testing.T) {
	for _, what := range []fault{loseBefore, loseAfter, expire} {
		svc := newFakeService()
		holder, _ := svc.session(t, nil)
		h, err := newLock(t, "mutex", holder, nil).Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		s, _ := svc.session(t, count("multi", 1, what))
		err = s.Revoke(within(t), svc.ephemerals()[0])
		if what == expire {
			if !errors.Is(err, zksession.ErrSessionExpired) || isRevoked(h) {
				t.Errorf("expired: %v", err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
		}
		revoked(t, "after a loss", h)
		for _, node := range []string{"/locks", "/locks/a", "/", "", "/locks/a/lock-1"} {
			if err := s.Revoke(within(t), node); !errors.Is(err, ErrInvalidPath) {
				t.Errorf("%q: %v", node, err)
			}
		}
	}
	s, _ := newFakeService().session(t, nil)
	data := []byte(revokeData)
	if _, err := NewMutex(MutexConfig{Session: s, Path: "/a", Data: data}); err == nil {
		t.Error("a mutex with such data")
	}
	if _, err := NewRW(RWConfig{Session: s, Path: "/a", Data: data}); err == nil {
		t.Error("a read/write lock with such data")
	}
	if _, err := NewSemaphore(SemaphoreConfig{Session: s, Path: "/a", Max: 1, Data: data}); err == nil {
		t.Error("a semaphore with such data")
	}
	if _, err := NewSemaphoreMutex(SemaphoreMutexConfig{Session: s, Path: "/a", Data: data}); err == nil {
		t.Error("a semaphore mutex with such data")
	}
}

// A writer that was asked to leave and becomes a reader is still asked to leave.
func TestRevokedWriterDowngrades(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	rw := testRW(t, s, nil)
	w, err := rw.Write().Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(within(t), svc.ephemerals()[0]); err != nil {
		t.Fatal(err)
	}
	revoked(t, "writer", w)
	r, err := rw.Downgrade(within(t), w)
	if err != nil {
		t.Fatal(err)
	}
	if !isRevoked(r) {
		t.Error("the reader was not asked")
	}
	if err := r.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// When one of several locks held as one is revoked, the whole is revoked.
func TestRevokeMulti(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	a, _ := NewMutex(MutexConfig{Session: s, Path: "/a"})
	b, _ := NewMutex(MutexConfig{Session: s, Path: "/b"})
	m, err := NewMulti(MultiConfig{Members: []Member{{"a", a}, {"b", b}}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := m.Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Revoked():
		t.Error("revoked, although no client has asked")
	default:
	}
	all, err := b.Participants(within(t))
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if err := s.Revoke(within(t), all[0].Path); err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.Revoked():
	case <-within(t).Done():
		t.Error("not revoked")
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// A client that does not leave is forced out, and a client that leaves is not.
func TestEvict(t *testing.T) {
	for _, obeys := range []bool{false, true} {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		admin, z := svc.session(t, count("delete", 1, loseAfter))
		h, err := newLock(t, "mutex", s, nil).Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		node, left := svc.ephemerals()[0], make(chan error, 1)
		grace := time.Duration(0)
		if obeys {
			grace = testTimeout
			go func() { <-h.Revoked(); left <- h.Release(within(t)) }()
		}
		forced, err := admin.Evict(within(t), node, grace)
		if err != nil || forced == obeys {
			t.Errorf("obeys=%t: forced=%t, %v", obeys, forced, err)
		}
		if obeys {
			if err := <-left; err != nil {
				t.Error(err)
			}
			if n := z.count("delete"); n != 0 {
				t.Errorf("%d deletes", n)
			}
		} else if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) {
			t.Error(cause)
		}
		if nodes := svc.ephemerals(); len(nodes) != 0 {
			t.Error(nodes)
		}
		if forced, err := admin.Evict(within(t), node, testTimeout); err != nil || forced {
			t.Errorf("a client that has left: forced=%t, %v", forced, err)
		}
	}
}

// No client is forced out once the context has ended.
func TestEvictCancelled(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	h, err := newLock(t, "mutex", s, nil).Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(within(t))
	go func() { <-h.Revoked(); cancel() }()
	if _, err := s.Evict(ctx, svc.ephemerals()[0], testTimeout); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if h.Context().Err() != nil {
		t.Error("the client was forced out")
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
}
