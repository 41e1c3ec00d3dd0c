package recipes

import (
	"context"
	"path"
	"sync/atomic"
	"testing"
)

// asks counts how often a session lists a semaphore's queue and its leases.
type asks struct{ queue, leases atomic.Int64 }

func (a *asks) count(op, p string) fault {
	switch op + " " + p {
	case "children " + path.Join(semPath, "locks"):
		a.queue.Add(1)
	case "children " + path.Join(semPath, "leases"):
		a.leases.Add(1)
	}
	return pass
}

// watched reports whether a client watches a znode.
func (f *fakeService) watched(p string) bool {
	return f.watching(p) > 0
}

// A waiter that finds a lease acquired from the place before its own knows that it is the queue's head, and does not
// list the queue again.
func TestSemaphoreKnowsItsHeadByALease(t *testing.T) {
	svc := newFakeService()
	first, _ := svc.session(t, nil)
	var second, third asks
	s2, _ := svc.session(t, second.count)
	s3, _ := svc.session(t, third.count)
	queued := make(chan int, 10)
	on := func(s *Session) *Semaphore {
		return newSemaphore(t, SemaphoreConfig{Session: s, Max: 1, OnQueued: func(ahead int) { queued <- ahead }})
	}
	h1, err := on(first).Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	<-queued
	got2, got3 := make(chan *Hold, 1), make(chan *Hold, 1)
	acquire := func(s *Session, got chan<- *Hold) {
		go func() {
			h, err := on(s).Acquire(within(t), 1)
			check(t, err)
			got <- h
		}()
		<-queued
	}
	acquire(s2, got2) // the second client is the head, and waits for the permit
	acquire(s3, got3)
	check(t, h1.Release(within(t)))
	h2 := <-got2
	// The second client's transaction makes the third one the head.
	eventually(t, "the third waits for the permit", func() bool {
		return svc.listing(path.Join(semPath, "leases")) == 1
	})
	check(t, h2.Release(within(t)))
	h3 := <-got3
	if h3.Token() <= h2.Token() {
		t.Errorf("token %d after %d", h3.Token(), h2.Token())
	}
	if q, l := third.queue.Load(), third.leases.Load(); q != 1 || l < 1 {
		t.Errorf("listed the queue %d times, the leases %d times", q, l)
	}
	check(t, h3.Release(within(t)))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// A leftover znode of an attempt that holds a lease was not the head when it was deleted: other contenders may be
// before us.
func TestSemaphoreIsNotMisledByALeftover(t *testing.T) {
	const guid = "0f8fad5b-d9cb-469f-a165-70867728950e"
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	locks, leases := path.Join(semPath, "locks"), path.Join(semPath, "leases")
	for _, p := range []string{"/locks", semPath, locks, leases} {
		svc.set(p, nil, 0)
	}
	const theirs = 1 << 40
	place := "_c_" + guid + "-lock-0000000000"
	svc.set(path.Join(locks, place), nil, theirs)
	other, leftover := path.Join(locks, "_c_1-lock-0000000001"), path.Join(locks, "_c_"+guid+"-lock-0000000002")
	svc.set(other, nil, theirs)
	svc.set(leftover, nil, theirs)
	got := make(chan *Hold, 1)
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	go func() {
		h, err := newSemaphore(t, SemaphoreConfig{Session: s, Max: 2}).Acquire(ctx, 1)
		check(t, err)
		got <- h
	}()
	eventually(t, "a client waits for the leftover", func() bool { return svc.watched(leftover) })
	svc.set(path.Join(leases, leaseName(place, 0)+"0000000000"), nil, theirs)
	svc.remove(path.Join(locks, place))
	svc.remove(leftover)
	eventually(t, "a client waits for the other contender", func() bool { return svc.watched(other) })
	select {
	case h := <-got:
		t.Fatalf("granted %v while another is before us", h.Slots())
	default:
	}
	svc.remove(other)
	if h := <-got; h != nil {
		check(t, h.Release(within(t)))
	}
}
