package recipes

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"locklab/ensembles/labtest/suite"
	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// Connections of several sessions break all the time, and some clients give up early. Still no slot is held twice,
// there are never more leases than permits, and nothing is left behind.
func TestSemaphoreUnderBreaks(t *testing.T) {
	t.Parallel()
	const permits = 4
	lock, other := lockPath(t), connected(t, SessionConfig{})
	var u usage
	underBreaks(t, lock, 2, 20, func(s *Session) func(context.Context, *rand.Rand) error {
		sem := newSemaphore(t, SemaphoreConfig{Session: s, Path: lock, Max: permits})
		return func(ctx context.Context, r *rand.Rand) error {
			n := 1 + r.IntN(permits)
			h, err := sem.Acquire(ctx, n)
			if err != nil {
				return err
			}
			leave := u.enter(t, h, n, permits)
			if leases := listed(t, other, lock+"/leases"); len(leases) > permits {
				t.Errorf("%d leases", len(leases))
			}
			leave()
			return h.Release(ctx)
		}
	})
	if u.most < 2 {
		t.Errorf("at most %d permits were in use", u.most)
	}
}

// Two clients that each want three of four permits get them in turn.
func TestSemaphoreOfHalves(t *testing.T) {
	lock := lockPath(t)
	var wg sync.WaitGroup
	var u usage
	for range 2 {
		sem := newSemaphore(t, SemaphoreConfig{Session: connected(t, SessionConfig{}), Path: lock, Max: 4})
		wg.Go(func() {
			for range 20 {
				h, err := sem.Acquire(within(t), 3)
				if err != nil {
					t.Error(err)
					return
				}
				u.enter(t, h, 3, 4)()
				if err := h.Release(within(t)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	empty(t, connected(t, SessionConfig{}), lock)
}

// The number of permits changes while clients hold permits and wait for them, each in a session of its own.
func TestSemaphoreIsResizedForReal(t *testing.T) {
	lock := lockPath(t)
	a, b := connected(
		t,
		SessionConfig{},
	), connected(
		t,
		SessionConfig{Config: zksession.Config{Servers: rotated(servers(t))}},
	)
	ca, cb := newCountOf(t, a, lock+"-count", 1), newCountOf(t, b, lock+"-count", 7)
	sa := newSemaphore(t, SemaphoreConfig{Session: a, Path: lock, Count: ca})
	queued := make(chan int, 10)
	sb := newSemaphore(
		t,
		SemaphoreConfig{Session: b, Path: lock, Count: cb, OnQueued: func(ahead int) { queued <- ahead }},
	)
	h := acquired(t, sa.Of(1))
	got := make(chan *Hold, 1)
	acquire := func(n int) {
		go func() {
			h, err := sb.Acquire(within(t), n)
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		if ahead := <-queued; ahead != 1 {
			t.Errorf("%d ahead", ahead)
		}
		waitsForLeases(t, b, lock)
	}
	set := func(value int32) {
		if err := ca.SetCount(within(t), value); err != nil {
			t.Fatal(err)
		}
	}
	acquire(2)
	set(3) // raised: the waiter is admitted
	hb := <-got
	if !slices.Equal(hb.Slots(), []int{1, 2}) {
		t.Errorf("slots %v", hb.Slots())
	}
	set(1) // lowered: no hold ends
	acquire(1)
	released(t, h) // three in use, then two: still more than one
	if names := listed(t, a, lock+"/leases"); len(names) != 2 || hb.Context().Err() != nil {
		t.Errorf("leases %v, %v", names, hb.Context().Err())
	}
	released(t, hb)
	released(t, <-got)
	empty(t, a, lock)
}

// The release of the only permit wakes the head of the queue, and the head's departure from the queue wakes the next
// waiter. One watch on the list of leases fires. Three watches fire because of deletions: the holder's on its lease,
// the head's on its place, and that of the next waiter. The number of waiters does not matter.
func TestSemaphoreWatchesFired(t *testing.T) {
	suite.Nightly(t, "waits long for the servers' counters; TestCosts has the watches that one release fires")
	const waiters = 6
	lock := lockPath(t)
	first := connected(t, SessionConfig{})
	h := acquired(t, realLock(t, "semaphore-mutex", first, lock, nil))
	var last *Hold
	got := make(chan *Hold, waiters)
	var sessions []*Session
	for i := range waiters {
		s := connected(t, SessionConfig{})
		sessions = append(sessions, s)
		queued := make(chan int, 1)
		l := realLock(t, "semaphore-mutex", s, lock, func(ahead int) { queued <- ahead })
		go func() {
			h, err := l.Acquire(within(t))
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		if ahead := <-queued; ahead != max(i, 1) {
			t.Errorf("waiter %d: %d ahead", i, ahead)
		}
		if i == 0 {
			waitsForLeases(t, s, lock)
		} else {
			eventually(t, "the predecessor is watched", func() bool {
				s.hub.mu.Lock()
				defer s.hub.mu.Unlock()
				return len(s.hub.watches) == 2
			})
		}
	}
	for i := range waiters - 1 {
		deleted, children, _ := fired(t)
		released(t, h)
		h, last = <-got, h
		if h.Token() <= last.Token() {
			t.Errorf("token %d after %d", h.Token(), last.Token())
		}
		waitsForLeases(t, sessions[i+1], lock) // the next waiter has become the head
		var d, c int
		eventually(t, "the watches have fired", func() bool {
			d, c, _ = fired(t)
			d, c = d-deleted, c-children
			return d >= 3 && c >= 1
		})
		if d != 3 || c != 1 {
			t.Errorf("%d watches fired by deletions, %d on children, want 3 and 1", d, c)
		}
	}
	released(t, h)
	released(t, <-got)
	empty(t, first, lock)
}

// Leases in Curator's form, and a count in Curator's form, are shared with Curator's clients.
func TestSemaphoreSharesCuratorsLayout(t *testing.T) {
	s, other, lock := connected(t, SessionConfig{}), connected(t, SessionConfig{}), lockPath(t)
	ctx := within(t)
	if err := ensureDir(ctx, other.zk, lock+"/leases"); err != nil {
		t.Fatal(err)
	}
	theirs, err := other.zk.Create(
		ctx,
		lock+"/leases/_c_"+uuid.NewString()+"-lease-",
		[]byte("127.0.0.1"),
		zksession.EphemeralSequential,
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.zk.Create(ctx, lock+"/count", binary.BigEndian.AppendUint32(nil, 2),
		zksession.Persistent); err != nil {
		t.Fatal(err)
	}
	queued := make(chan int, 10)
	sem := newSemaphore(
		t,
		SemaphoreConfig{
			Session:  s,
			Path:     lock,
			Count:    newCountOf(t, s, lock+"/count", 9),
			OnQueued: func(ahead int) { queued <- ahead },
		},
	)
	h := acquired(t, sem.Of(1))
	if <-queued != 0 || h.Slots() != nil {
		t.Errorf("slots %v beside a lease without one", h.Slots())
	}
	got := acquiring(t, sem.Of(1))
	<-queued
	waitsForLeases(t, s, lock)
	if err := other.zk.Delete(ctx, theirs); err != nil {
		t.Fatal(err)
	}
	second := <-got
	if !slices.Equal(second.Slots(), []int{1}) {
		t.Errorf("slots %v", second.Slots())
	}
	released(t, second)
	released(t, h)
	if err := other.zk.Delete(ctx, lock+"/count"); err != nil {
		t.Fatal(err)
	}
	empty(t, other, lock)
}

// One transaction takes a hundred permits.
func TestSemaphoreManyAtOnce(t *testing.T) {
	s, other, lock := connected(t, SessionConfig{}), connected(t, SessionConfig{}), lockPath(t)
	h := acquired(t, newSemaphore(t, SemaphoreConfig{Session: s, Path: lock, Max: 100}).Of(100))
	if names := listed(t, other, lock+"/leases"); len(names) != 100 || len(h.Slots()) != 100 {
		t.Errorf("%d leases, %d slots", len(names), len(h.Slots()))
	}
	permits, err := newSemaphore(t, SemaphoreConfig{Session: other, Path: lock, Max: 100}).Participants(within(t))
	if err != nil || len(permits) != 100 || permits[0].Session != s.ID() {
		t.Errorf("%d participants, %v", len(permits), err)
	}
	released(t, h)
	empty(t, other, lock)
}

func TestSharedCountForReal(t *testing.T) {
	skipUnderRace(t)
	path, w := lockPath(t), wire.New()
	a, b := connected(
		t,
		SessionConfig{Config: zksession.Config{Dial: w.Dial}},
	), connected(
		t,
		SessionConfig{Config: zksession.Config{Servers: rotated(servers(t))}},
	)
	ca, cb := newCountOf(t, a, path, 1), newCountOf(t, b, path, 2)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	seen, over := make(chan Count, 100), make(chan error, 1)
	go func() { over <- ca.Watch(ctx, func(v Count) { seen <- v }) }()
	until := func(value int32) {
		t.Helper()
		for {
			select {
			case v := <-seen:
				if v.Value == value {
					return
				}
			case <-ctx.Done():
				t.Fatalf("did not see %d", value)
			}
		}
	}
	until(1)
	for i, op := range []int32{wire.OpGetData, wire.OpMulti} { // the connection breaks at the next request of either kind
		w.Cut(op, 1)
		_, _ = ca.Get(ctx)
		if op == wire.OpMulti {
			_ = a.zk.Sync(ctx, "/")
		}
		if err := cb.SetCount(ctx, int32(10+i)); err != nil {
			t.Fatal(err)
		}
		until(int32(10 + i))
	}
	// A reply is lost although the count was set, and SetCount finds that out.
	w.Lose(wire.OpMulti, 1)
	if err := ca.SetCount(ctx, 20); err != nil {
		t.Error(err)
	}
	if err := b.zk.Sync(ctx, path); err != nil {
		t.Fatal(err)
	}
	v, err := cb.Get(ctx)
	if err != nil || v.Value != 20 {
		t.Errorf("%+v, %v", v, err)
	}
	// A request is lost before the count was set, and TrySetCount tries again.
	w.Cut(wire.OpMulti, 1)
	v, err = ca.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if set, err := ca.TrySetCount(ctx, v, 21); !set || err != nil {
		t.Errorf("%t, %v", set, err)
	}
	if set, err := cb.TrySetCount(ctx, v, 22); set || err != nil {
		t.Errorf("overwrote a value that it had not seen: %t, %v", set, err)
	}
	until(21)
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := b.zk.Delete(within(t), path); err != nil {
		t.Fatal(err)
	}
}
