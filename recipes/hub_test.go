package recipes

import (
	"context"
	"errors"
	"sync"
	"testing"

	"locklab/recipes/zksession"
)

func TestHubSharesOneWatch(t *testing.T) {
	svc := newFakeService()
	svc.set("/a", []byte("1"), 0)
	s, z := svc.session(t, nil)
	var waiters []*waiter
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			data, _, w, err := s.hub.get(within(t), "/a")
			if err != nil || string(data) != "1" {
				t.Errorf("get: %q, %v", data, err)
			}
			mu.Lock()
			defer mu.Unlock()
			waiters = append(waiters, w)
		})
	}
	wg.Wait()
	if z.counts["watch"] != 1 || z.counts["get"] != 19 {
		t.Errorf("%v, want one watch and one request each", z.counts)
	}
	waiters[0].stop()
	svc.set("/a", []byte("2"), 0)
	for _, w := range waiters[1:] {
		if e := <-w.C; e != zksession.Changed {
			t.Errorf("event %d", e)
		}
	}
	select {
	case e := <-waiters[0].C:
		t.Errorf("a client that has left got event %d", e)
	default:
	}
	if len(s.hub.watches) != 0 {
		t.Error("a watch that fired is kept")
	}
}

func TestHubKeepsTheWatchOfWhoLeft(t *testing.T) {
	svc := newFakeService()
	svc.set("/a", nil, 0)
	s, z := svc.session(t, nil)
	for range 100 {
		_, _, w, err := s.hub.get(within(t), "/a")
		if err != nil {
			t.Fatal(err)
		}
		w.stop()
	}
	if n := svc.watching("/a"); n != 1 || z.counts["watch"] != 1 {
		t.Errorf("%d watches, %v", n, z.counts)
	}
}

func TestHubNoNodeLeavesNothing(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	if _, _, _, err := s.hub.get(within(t), "/a"); !errors.Is(err, zksession.ErrNoNode) {
		t.Error(err)
	}
	if len(s.hub.watches)+len(svc.Watched()) != 0 {
		t.Error("a watch was left on a znode that does not exist")
	}
}

// A client that gives up while the watch is being set does not take the watch from the others.
func TestHubGetAbandoned(t *testing.T) {
	svc := newFakeService()
	svc.set("/a", nil, 0)
	reached, proceed := make(chan struct{}), make(chan struct{})
	s, z := svc.session(t, func(op, _ string) fault {
		if op == "watch" {
			close(reached)
			<-proceed
		}
		return pass
	})
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { _, _, _, err := s.hub.get(ctx, "/a"); first <- err }()
	<-reached
	type answer struct {
		w   *waiter
		err error
	}
	second := make(chan answer, 1)
	go func() { _, _, w, err := s.hub.get(within(t), "/a"); second <- answer{w, err} }()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(proceed)
	a := <-second
	if a.err != nil {
		t.Fatal(a.err)
	}
	svc.remove("/a")
	if e := <-a.w.C; e != zksession.Deleted {
		t.Errorf("event %d", e)
	}
	if z.counts["watch"] != 1 {
		t.Error(z.counts)
	}
}

func TestHubEndsWithTheSession(t *testing.T) {
	svc := newFakeService()
	svc.set("/a", nil, 0)
	s, z := svc.session(t, nil)
	_, _, w, err := s.hub.get(within(t), "/a")
	if err != nil {
		t.Fatal(err)
	}
	z.end(zksession.ErrSessionExpired)
	if e := <-w.C; e != zksession.Unwatched {
		t.Errorf("event %d", e)
	}
	if _, _, _, err := s.hub.get(within(t), "/a"); !errors.Is(err, zksession.ErrSessionExpired) {
		t.Error(err)
	}
}
