package recipes

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// skipUnderRace skips a test that reconnects: go-zookeeper itself has a data race there.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("reconnects; go-zookeeper has a data race of its own there")
	}
}

// connected returns a session on the real ensemble, closed after the test.
func connected(t *testing.T, cfg SessionConfig) *Session {
	t.Helper()
	if cfg.Servers == nil {
		cfg.Servers = servers(t)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 4 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s, err := Connect(within(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// lockPath returns a path that no other test, and no earlier run, uses.
func lockPath(t *testing.T) string {
	return "/recipes-test/" + strings.ReplaceAll(t.Name(), "/", "-") + "-" + uuid.NewString()
}

// listed returns the present children of a directory, and none if it does not exist.
func listed(t *testing.T, s *Session, dir string) []string {
	t.Helper()
	ctx := within(t)
	if err := s.zk.Sync(ctx, dir); err != nil {
		t.Fatal(err)
	}
	names, err := s.zk.Children(ctx, dir)
	if err != nil && !errors.Is(err, zksession.ErrNoNode) {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// empty waits until no client has an ephemeral znode at a lock, whatever its recipe.
func empty(t *testing.T, s *Session, lock string) {
	t.Helper()
	eventually(t, "nothing left behind", func() bool { return len(ephemerals(t, s, lock)) == 0 })
}

// containerOwner is the owner that a service may report of a container.
const containerOwner = math.MinInt64

// ephemerals returns the present ephemeral znodes at and below a path.
func ephemerals(t *testing.T, s *Session, node string) (nodes []string) {
	t.Helper()
	if err := s.zk.Sync(within(t), node); err != nil {
		t.Fatal(err)
	}
	_, stat, err := s.zk.Get(within(t), node)
	switch {
	case errors.Is(err, zksession.ErrNoNode):
		return nil
	case err != nil:
		t.Fatal(err)
	case stat.Owner != 0 && stat.Owner != containerOwner:
		return []string{node}
	}
	for _, name := range listed(t, s, node) {
		nodes = append(nodes, ephemerals(t, s, path.Join(node, name))...)
	}
	return nodes
}

// realLock makes a lock of the named recipe.
func realLock(t *testing.T, recipe string, s *Session, path string, queued func(int)) Lock {
	t.Helper()
	var l Lock
	var err error
	switch recipe {
	case "mutex":
		l, err = NewMutex(MutexConfig{Session: s, Path: path, Data: []byte(t.Name()), OnQueued: queued})
	case "semaphore-mutex":
		l, err = NewSemaphoreMutex(SemaphoreMutexConfig{Session: s, Path: path, Data: []byte(t.Name()), OnQueued: queued})
	case "semaphore": // two clients cannot both have their permits at once
		l = newSemaphore(t, SemaphoreConfig{Session: s, Path: path, Max: 3, OnQueued: queued}).Of(2)
	case "shared-semaphore":
		c := newCountOf(t, s, path+"-count", 3)
		l = newSemaphore(t, SemaphoreConfig{Session: s, Path: path, Count: c, OnQueued: queued}).Of(3)
	case "naive":
		l, err = NewNaiveMutex(NaiveConfig{Session: s, Path: path, OnQueued: queued})
	default:
		l, err = realRW(t, recipe, s, path, queued).Write(), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// realRW makes a read/write lock.
func realRW(t *testing.T, recipe string, s *Session, path string, queued func(int)) readWriter {
	t.Helper()
	rw, err := rwMakers[recipe](RWConfig{Session: s, Path: path, Data: []byte(t.Name()), OnQueued: queued})
	if err != nil {
		t.Fatal(err)
	}
	return rw
}

func acquired(t *testing.T, l Lock) *Hold {
	t.Helper()
	h, err := l.Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func released(t *testing.T, h *Hold) {
	t.Helper()
	if err := h.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	if cause := context.Cause(h.Context()); cause != ErrReleased {
		t.Errorf("cause after release: %v", cause)
	}
	if err := h.Release(within(t)); !errors.Is(err, ErrReleased) {
		t.Errorf("second release: %v", err)
	}
}

// releasedLost releases a hold that was lost.
func releasedLost(t *testing.T, h *Hold) {
	t.Helper()
	if err := h.Release(within(t)); !errors.Is(err, ErrLockLost) {
		t.Errorf("the release of a hold that was lost: %v", err)
	}
}

// causeOf waits for the hold's end.
func causeOf(t *testing.T, h *Hold) error {
	t.Helper()
	select {
	case <-h.Context().Done():
		return context.Cause(h.Context())
	case <-within(t).Done():
		t.Fatal("the hold does not end")
		return nil
	}
}

// recipeNames are the exclusive locks. A read/write lock contributes its writers, and a semaphore more than half of
// its permits.
var recipeNames = []string{
	"mutex",
	"naive",
	"rw",
	"fair-rw",
	"naive-rw",
	"semaphore-mutex",
	"semaphore",
	"shared-semaphore",
}

// watchOn reports whether a session has a watch on a target at the service, and what the client read when it set that
// watch.
func watchOn(s *Session, t target) (view, bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	w := s.hub.watches[t]
	if w == nil {
		return view{}, false
	}
	select {
	case <-w.armed:
		return w.seen, true
	default:
		return view{}, false
	}
}

// waitsForLeases waits until the head of a semaphore's queue watches the leases.
func waitsForLeases(t *testing.T, s *Session, lock string) {
	t.Helper()
	eventually(t, "the leases are watched", func() bool {
		_, ok := watchOn(s, target{lock + "/leases", true})
		return ok
	})
}

func TestTokensRiseAndHoldsDiffer(t *testing.T) {
	for _, recipe := range recipeNames {
		t.Run(recipe, func(t *testing.T) {
			s, lock := connected(t, SessionConfig{}), lockPath(t)
			l := realLock(t, recipe, s, lock, nil)
			var last int64
			for range 5 {
				h := acquired(t, l)
				if h.Token() <= last || h.Session() != s.ID() {
					t.Errorf("token %d after %d, session %x", h.Token(), last, h.Session())
				}
				last = h.Token()
				released(t, h)
			}
			empty(t, s, lock)
		})
	}
}

// Waiters of several sessions get the mutex in the order in which they queued.
func TestMutexIsFirstComeFirstServed(t *testing.T) {
	const waiters = 6
	lock := lockPath(t)
	ss := []*Session{
		connected(t, SessionConfig{}),
		connected(t, SessionConfig{Config: zksession.Config{Servers: rotated(servers(t))}}),
	}
	h := acquired(t, realLock(t, "mutex", ss[0], lock, nil))
	var mu sync.Mutex
	var order []int
	var wg sync.WaitGroup
	for i := range waiters {
		queued := make(chan int, 1)
		l := realLock(t, "mutex", ss[i%2], lock, func(ahead int) { queued <- ahead })
		wg.Go(func() {
			h, err := l.Acquire(within(t))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		})
		if ahead := <-queued; ahead != i+1 {
			t.Errorf("waiter %d has %d ahead", i, ahead)
		}
	}
	released(t, h)
	wg.Wait()
	if !slices.IsSorted(order) || len(order) != waiters {
		t.Errorf("order %v", order)
	}
	empty(t, ss[0], lock)
}

func rotated(s []string) []string { return append(slices.Clone(s[1:]), s[0]) }

// Many goroutines, which share few sessions and one lock value per session, never hold together.
func TestExclusion(t *testing.T) {
	for _, recipe := range append(recipeNames, "none") {
		t.Run(recipe, func(t *testing.T) {
			lock := lockPath(t)
			var wg sync.WaitGroup
			var h holders
			var mu sync.Mutex
			inside, overlaps := 0, 0
			all := servers(t)
			for range 3 {
				all = rotated(all)
				s := connected(t, SessionConfig{Config: zksession.Config{Servers: all}})
				var l Lock = NewNoLock(s.ID())
				if recipe != "none" {
					l = realLock(t, recipe, s, lock, nil)
				}
				for range 3 {
					wg.Go(func() {
						for range 10 {
							hold, err := l.Acquire(within(t))
							if err != nil {
								t.Error(err)
								return
							}
							leave := func() {}
							if recipe != "none" {
								leave = h.enter(t, recipe, hold)
							}
							mu.Lock()
							inside++
							if inside > 1 {
								overlaps++
							}
							mu.Unlock()
							if recipe == "none" { // stay until another client is in as well
								ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
								<-ctx.Done()
								cancel()
							}
							mu.Lock()
							inside--
							mu.Unlock()
							leave()
							if err := hold.Release(within(t)); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			wg.Wait()
			if (overlaps > 0) != (recipe == "none") {
				t.Errorf("%d overlaps", overlaps)
			}
		})
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	for _, recipe := range recipeNames {
		t.Run(recipe, func(t *testing.T) {
			s, lock := connected(t, SessionConfig{}), lockPath(t)
			h := acquired(t, realLock(t, recipe, s, lock, nil))
			held := len(ephemerals(t, s, lock))
			for range 20 {
				ctx, cancel := context.WithCancel(within(t))
				l := realLock(t, recipe, s, lock, func(int) { cancel() })
				if _, err := l.Acquire(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v", err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := realLock(t, recipe, s, lock, nil).Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("timed out: %v", err)
			}
			eventually(t, "only the holder is left", func() bool { return len(ephemerals(t, s, lock)) == held })
			released(t, h)
			empty(t, s, lock)
			eventually(t, "no watch is left", func() bool {
				s.hub.mu.Lock()
				defer s.hub.mu.Unlock()
				delete(s.hub.watches, target{path: lock + "-count"}) // this watch may stay
				return len(s.hub.watches) == 0
			})
		})
	}
}

// Children that are not contenders do not block the lock; contenders of other clients do.
func TestForeignChildren(t *testing.T) {
	s, other, lock := connected(t, SessionConfig{}), connected(t, SessionConfig{}), lockPath(t)
	ctx := within(t)
	if err := ensureDir(ctx, s.zk, lock); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"0", "lock-", "lock-1", "_c_", "_c_short-lock-x", "zzz", "x__lock__0000000000",
		"lock-00000000001"} {
		if _, err := other.zk.Create(ctx, path.Join(lock, name), nil, zksession.Ephemeral); err != nil {
			t.Fatal(err)
		}
	}
	l := realLock(t, "mutex", s, lock, nil)
	released(t, acquired(t, l))
	// go-zookeeper's own lock uses other GUIDs before the same mark.
	theirs, err := other.zk.Create(
		ctx,
		lock+"/_c_0123456789abcdef0123456789abcdef-lock-",
		nil,
		zksession.EphemeralSequential,
	)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(ctx)
	l = realLock(t, "mutex", s, lock, func(ahead int) {
		if ahead != 1 {
			t.Errorf("%d ahead", ahead)
		}
		cancel()
	})
	if _, err := l.Acquire(short); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := other.zk.Delete(ctx, theirs); err != nil {
		t.Fatal(err)
	}
	released(t, acquired(t, realLock(t, "mutex", s, lock, nil)))
}

// An administrator deletes the holder's znode.
func TestOwnNodeDeletedWhileHolding(t *testing.T) {
	for _, recipe := range recipeNames {
		t.Run(recipe, func(t *testing.T) {
			s, admin, lock := connected(t, SessionConfig{}), connected(t, SessionConfig{}), lockPath(t)
			h := acquired(t, realLock(t, recipe, s, lock, nil))
			node := ephemerals(t, admin, lock)[0]
			// A change of data does not end the hold, but it fires the watch.
			set := zksession.Op{Kind: zksession.OpSet, Path: node, Data: []byte("changed"), Version: zksession.AnyVersion}
			if _, err := admin.zk.Multi(within(t), set); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the watch is set again", func() bool {
				v, ok := watchOn(s, target{path: node})
				return ok && string(v.data) == "changed"
			})
			if err := h.Context().Err(); err != nil {
				t.Errorf("lost by a change of data: %v", context.Cause(h.Context()))
			}
			if err := admin.zk.Delete(within(t), node); err != nil {
				t.Fatal(err)
			}
			if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) || errors.Is(cause, zksession.ErrSessionExpired) {
				t.Errorf("cause: %v", cause)
			}
			if err := h.Release(within(t)); !errors.Is(err, ErrLockLost) {
				t.Errorf("release: %v", err)
			}
			released(t, acquired(t, realLock(t, recipe, s, lock, nil)))
			empty(t, s, lock)
		})
	}
}

// An administrator deletes a waiter's znode, and the waiter queues again.
func TestOwnNodeDeletedWhileWaiting(t *testing.T) {
	t.Parallel()
	s, lock := connected(t, SessionConfig{}), lockPath(t)
	h := acquired(t, realLock(t, "mutex", s, lock, nil))
	queued := make(chan int, 10)
	l := realLock(t, "mutex", s, lock, func(ahead int) { queued <- ahead })
	got := make(chan *Hold)
	go func() {
		h, err := l.Acquire(within(t))
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	<-queued
	nodes := mutexLayout.queue(listed(t, s, lock))
	if err := s.zk.Delete(within(t), path.Join(lock, nodes[1].name)); err != nil {
		t.Fatal(err)
	}
	if ahead := <-queued; ahead != 1 {
		t.Errorf("%d ahead", ahead)
	}
	released(t, h)
	released(t, <-got)
	empty(t, s, lock)
}

// The service removes the directory between acquisitions, as it does with an unused container.
func TestDirectoryReaped(t *testing.T) {
	onRealServers(t)
	for _, recipe := range recipeNames {
		s, lock := connected(t, SessionConfig{}), lockPath(t)+"/deep/down"
		l := realLock(t, recipe, s, lock, nil)
		var last int64
		for range 3 {
			h := acquired(t, l)
			if h.Token() <= last {
				t.Errorf("token %d after %d", h.Token(), last)
			}
			last = h.Token()
			released(t, h)
			empty(t, s, lock)
			for _, name := range listed(t, s, lock) {
				if err := s.zk.Delete(within(t), path.Join(lock, name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.zk.Delete(within(t), lock+"-count"); err != nil && !errors.Is(err, zksession.ErrNoNode) {
				t.Fatal(err)
			}
			for dir := lock; dir != "/recipes-test"; dir = path.Dir(dir) {
				if err := s.zk.Delete(within(t), dir); err != nil && !errors.Is(err, zksession.ErrNoNode) {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestReleaseOnClosedSession(t *testing.T) {
	for _, recipe := range recipeNames {
		lock := lockPath(t)
		s, other := connected(t, SessionConfig{}), connected(t, SessionConfig{})
		h := acquired(t, realLock(t, recipe, s, lock, nil))
		waiting := make(chan error, 1)
		queued := make(chan struct{}, 1)
		l := realLock(t, recipe, s, lock, func(int) { queued <- struct{}{} })
		go func() { _, err := l.Acquire(within(t)); waiting <- err }()
		<-queued
		if err := s.Close(within(t)); err != nil {
			t.Fatal(err)
		}
		if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) || !errors.Is(cause, zksession.ErrSessionClosed) {
			t.Errorf("cause: %v", cause)
		}
		if err := <-waiting; !errors.Is(err, zksession.ErrSessionClosed) {
			t.Errorf("the waiter: %v", err)
		}
		if err := h.Release(within(t)); !errors.Is(err, ErrLockLost) {
			t.Errorf("release: %v", err)
		}
		if _, err := realLock(t, recipe, s, lock, nil).Acquire(within(t)); !errors.Is(err, zksession.ErrSessionClosed) {
			t.Errorf("acquire: %v", err)
		}
		empty(t, other, lock) // not by expiry: the server was told
	}
}

// kill ends w's session at the service.
func kill(t *testing.T, w *wire.Wire, server string) {
	t.Helper()
	eventually(t, "the session is killed", func() bool { return w.Kill(server) })
}
