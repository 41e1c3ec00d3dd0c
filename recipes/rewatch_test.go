package recipes

import (
	"context"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// A watch fires although its change came while the client was disconnected, and although the next connection answered
// another request, told of the change with that answer, and broke before the watches were set again.
func TestChangeBetweenReconnects(t *testing.T) {
	for name, watch := range map[string]func(t *testing.T, a, b *Session, path string) (change func(), told <-chan error){
		"a returned permit": returnedPermit, "a raised count": raisedCount, "a revocation": revocation,
		"a first candidate": firstCandidate,
	} {
		for how, twice := range map[string]bool{"one reconnect": false, "two reconnects": true} {
			t.Run(name+", "+how, func(t *testing.T) { testChangeBetweenReconnects(t, twice, watch) })
		}
	}
}

func testChangeBetweenReconnects(t *testing.T, twice bool,
	watch func(t *testing.T, a, b *Session, path string) (change func(), told <-chan error)) {
	skipUnderRace(t)
	w := wire.New()
	a := connected(t, SessionConfig{Config: zksession.Config{Timeout: 20 * time.Second}})
	b := connected(t, SessionConfig{Config: zksession.Config{Timeout: 20 * time.Second, Dial: w.Dial}})
	path := lockPath(t)
	change, told := watch(t, a, b, path)
	w.Refuse(true)
	w.Cut(wire.OpGetData, 1)
	down, answered := b.zk.Disconnected(), make(chan struct{})
	go func() {
		defer close(answered)
		_, _, _ = b.zk.Get(within(t), "/") // breaks the connection
		_ = b.zk.Await(within(t))
		if _, _, err := b.zk.Get(within(t), "/"); err != nil {
			t.Error(err)
		}
	}()
	<-down
	change()
	if twice {
		w.Strike(wire.OpSetWatches, 1, wire.RequestLost, func() {
			select {
			case <-answered: // by a server that has the change
			case <-within(t).Done():
				t.Error("the other request was not answered before the watches were set again")
			}
		})
	}
	w.Refuse(false)
	select {
	case err := <-told:
		if err != nil {
			t.Error(err)
		}
	case <-within(t).Done():
		t.Errorf("nobody was told; ephemerals %v", ephemerals(t, a, path))
	}
	<-answered
}

// returnedPermit lets b wait for a permit that a has.
func returnedPermit(t *testing.T, a, b *Session, path string) (change func(), told <-chan error) {
	held, err := newSemaphore(t, SemaphoreConfig{Session: a, Path: path, Max: 1}).Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := held.Release(within(t)); err != nil {
			t.Error(err)
		}
	}, permitFor(t, b, SemaphoreConfig{Session: b, Path: path, Max: 1})
}

// raisedCount lets b wait for a permit of a semaphore whose count a will raise.
func raisedCount(t *testing.T, a, b *Session, path string) (change func(), told <-chan error) {
	counts := map[*Session]*SharedCount{}
	for _, s := range []*Session{a, b} {
		c, err := NewSharedCount(SharedCountConfig{Session: s, Path: path + "-count"})
		if err != nil {
			t.Fatal(err)
		}
		counts[s] = c
	}
	if err := counts[a].SetCount(within(t), 1); err != nil {
		t.Fatal(err)
	}
	sem := newSemaphore(t, SemaphoreConfig{Session: a, Path: path, Count: counts[a]})
	if _, err := sem.Acquire(within(t), 1); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := counts[a].SetCount(within(t), 2); err != nil {
			t.Error(err)
		}
	}, permitFor(t, b, SemaphoreConfig{Session: b, Path: path, Count: counts[b]})
}

// permitFor acquires a permit, once another client has it.
func permitFor(t *testing.T, s *Session, cfg SemaphoreConfig) <-chan error {
	got := make(chan error, 1)
	sem := newSemaphore(t, cfg)
	ctx, cancel := context.WithCancel(within(t))
	t.Cleanup(func() { cancel() })
	go func() {
		h, err := sem.Acquire(ctx, 1)
		if err == nil {
			err = h.Release(context.WithoutCancel(ctx))
		}
		got <- err
	}()
	count := ""
	if cfg.Count != nil {
		count = cfg.Count.cfg.Path
	}
	eventually(t, "the head waits", func() bool { return waiting(s, count) })
	return got
}

// revocation lets b hold a lock that a will revoke.
func revocation(t *testing.T, a, b *Session, path string) (change func(), told <-chan error) {
	h := acquired(t, realLock(t, "mutex", b, path, nil))
	revoked, watches := make(chan error, 1), h.Revoked()
	go func() {
		<-watches
		revoked <- h.Release(context.WithoutCancel(t.Context()))
	}()
	eventually(t, "the hold's znode is watched", func() bool {
		b.hub.mu.Lock()
		defer b.hub.mu.Unlock()
		for _, w := range b.hub.watches {
			select {
			case <-w.armed:
				return true
			default:
			}
		}
		return false
	})
	return func() {
		if err := a.Revoke(within(t), h.Path()); err != nil {
			t.Error(err)
		}
	}, revoked
}

// firstCandidate lets b observe an election that has no candidate until a becomes one.
func firstCandidate(t *testing.T, a, b *Session, path string) (change func(), told <-chan error) {
	observer, err := NewLeader(LeaderConfig{Session: b, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	elected, leaders := make(chan error, 1), observer.Observe(within(t))
	go func() {
		for l := range leaders {
			if l.Token != 0 || l.Err != nil {
				elected <- l.Err
				return
			}
		}
	}()
	eventually(t, "the election is observed", func() bool { return waiting(b, "") })
	return func() {
		candidate, err := NewLeader(LeaderConfig{Session: a, Path: path, ID: "a"})
		if err != nil {
			t.Error(err)
			return
		}
		acquired(t, candidate)
	}, elected
}
