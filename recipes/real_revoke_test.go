package recipes

import (
	"context"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// firstOf returns the first znode in a lock's queue, or one of its permits.
func firstOf(t *testing.T, s *Session, lock string) string {
	t.Helper()
	return ephemerals(t, s, lock)[0]
}

// A revocation costs one request of the client that asks, one request of the client that is asked, and one watch. It
// costs two requests and one watch more if a client waits behind the one that is asked. A second hold costs the same.
func TestRevokeRequestsAndWatches(t *testing.T) {
	onRealServers(t)
	for _, recipe := range []string{"mutex", "rw", "fair-rw", "naive-rw", "semaphore-mutex", "semaphore"} {
		t.Run(recipe, func(t *testing.T) {
			lock := lockPath(t)
			holding, asking := wire.New(), wire.New()
			s, admin := connected(
				t,
				SessionConfig{Config: zksession.Config{Dial: holding.Dial}},
			), connected(
				t,
				SessionConfig{Config: zksession.Config{Dial: asking.Dial}},
			)
			l := realLock(t, recipe, s, lock, nil)
			for range 2 {
				h := acquired(t, l)
				node := firstOf(t, admin, lock)
				eventually(t, "the hold watches its znode", func() bool {
					_, ok := watchOn(s, target{path: node})
					return ok
				})
				if isRevoked(h) {
					t.Error("revoked from the start")
				}
				_, _, watchesBefore := fired(t)
				heldBefore, _ := holding.Requests()
				askedBefore, _ := asking.Requests()
				if err := admin.Revoke(within(t), node); err != nil {
					t.Fatal(err)
				}
				revoked(t, recipe, h)
				held, _ := holding.Requests()
				asked, _ := asking.Requests()
				if held-heldBefore != 1 || asked-askedBefore != 1 {
					t.Errorf("%d requests of the holder, %d of the client that asks; want 1 and 1", held-heldBefore, asked-askedBefore)
				}
				if _, _, watches := fired(t); watches-watchesBefore != 1 {
					t.Errorf("%d watches fired, want 1", watches-watchesBefore)
				}
				if h.Context().Err() != nil {
					t.Error(context.Cause(h.Context()))
				}
				released(t, h)
			}
			empty(t, admin, lock)
		})
	}
}

// When the client ahead of it is asked to leave, a waiter does not wake.
func TestRevokeWithAWaiter(t *testing.T) {
	onRealServers(t)
	lock, w := lockPath(t), wire.New()
	s, other := connected(t, SessionConfig{}), connected(t, SessionConfig{Config: zksession.Config{Dial: w.Dial}})
	other.unwatched = unwatched{never, never} // a look at its own znode would be a request more
	h := acquired(t, realLock(t, "mutex", s, lock, nil))
	node := firstOf(t, s, lock)
	got := acquiring(t, realLock(t, "mutex", other, lock, nil))
	watched := func(who *Session, on target, data string) {
		eventually(t, "the holder's znode is watched", func() bool {
			v, ok := watchOn(who, on)
			return ok && string(v.data) == data
		})
	}
	watched(s, target{path: node}, t.Name())
	watched(other, target{node, true}, "")
	_, _, before := fired(t)
	requests, _ := w.Requests()
	if err := s.Revoke(within(t), node); err != nil {
		t.Fatal(err)
	}
	revoked(t, "the holder", h)
	watched(s, target{path: node}, revokeData)
	if _, _, after := fired(t); after-before != 2 {
		t.Errorf("%d watches fired, want 2", after-before)
	}
	if n, _ := w.Requests(); n != requests {
		t.Errorf("%d requests of the waiter, want none", n-requests)
	}
	released(t, h)
	h = <-got
	if isRevoked(h) {
		t.Error("the waiter behind was asked to leave")
	}
	released(t, h)
}

// A client that is asked to leave while it is cut off from the service hears of it when it is back.
func TestRevokeWhileCutOff(t *testing.T) {
	skipUnderRace(t)
	for _, recipe := range []string{"mutex", "rw", "semaphore"} {
		t.Run(recipe, func(t *testing.T) {
			lock, w := lockPath(t), wire.New()
			states := make(chan zksession.StateChange, 10)
			s, admin := connected(
				t,
				SessionConfig{Config: zksession.Config{Dial: w.Dial, OnState: func(c zksession.StateChange) { states <- c }}},
			), connected(
				t,
				SessionConfig{},
			)
			h := acquired(t, realLock(t, recipe, s, lock, nil))
			cutOff(t, s, w, states)
			if err := admin.Revoke(within(t), firstOf(t, admin, lock)); err != nil {
				t.Fatal(err)
			}
			if isRevoked(h) {
				t.Error("a client that is cut off heard of the revocation")
			}
			w.Refuse(false)
			revoked(t, recipe, h)
			released(t, h)
			empty(t, admin, lock)
		})
	}
}

// The request or the reply of the revocation is lost, or the reply to the read by which the holder would see it.
func TestRevokeBreaks(t *testing.T) {
	skipUnderRace(t)
	for _, holders := range []bool{false, true} {
		for _, cut := range []bool{false, true} {
			lock, w := lockPath(t), wire.New()
			broken, sound := connected(t, SessionConfig{Config: zksession.Config{Dial: w.Dial}}), connected(t, SessionConfig{})
			holder, admin, op := sound, broken, wire.OpMulti
			if holders {
				holder, admin, op = broken, sound, wire.OpGetData
			}
			h := acquired(t, realLock(t, "mutex", holder, lock, nil))
			node := firstOf(t, sound, lock)
			if cut {
				w.Cut(op, 1)
			} else {
				w.Lose(op, 1)
			}
			if err := admin.Revoke(within(t), node); err != nil {
				t.Error(err)
			}
			revoked(t, t.Name(), h)
			if w.Losses() != 1 {
				t.Errorf("holder's=%t cut=%t: %d losses", holders, cut, w.Losses())
			}
			released(t, h)
		}
	}
}

// Of two clients, the one that obeys the revocation leaves, and the one that does not is forced out.
func TestEvictForReal(t *testing.T) {
	lock := lockPath(t)
	s, admin := connected(t, SessionConfig{}), connected(t, SessionConfig{})
	l := realLock(t, "mutex", s, lock, nil)
	h := acquired(t, l)
	left := make(chan error, 1)
	go func() { <-h.Revoked(); left <- h.Release(within(t)) }()
	if forced, err := admin.Evict(within(t), firstOf(t, admin, lock), testTimeout); err != nil || forced {
		t.Errorf("forced=%t, %v", forced, err)
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
	h = acquired(t, l)
	if forced, err := admin.Evict(within(t), firstOf(t, admin, lock), time.Millisecond); err != nil || !forced {
		t.Errorf("forced=%t, %v", forced, err)
	}
	if cause := causeOf(t, h); cause == nil {
		t.Error("the evicted client still holds the lock")
	}
	empty(t, admin, lock)
}
