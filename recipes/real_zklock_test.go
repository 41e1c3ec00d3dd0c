package recipes

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// zkLock returns a zk.Lock at a path, on a connection of its own.
func zkLock(t *testing.T, cfg ZKLockConfig) *ZKLock {
	t.Helper()
	if cfg.Servers == nil {
		cfg.Servers = servers(t)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 4 * time.Second
	}
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	l, err := ConnectZKLock(within(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func TestZKLock(t *testing.T) {
	lock, other := lockPath(t), connected(t, SessionConfig{})
	states := make(chan zksession.StateChange, 10)
	l := zkLock(
		t,
		ZKLockConfig{Config: zksession.Config{OnState: func(c zksession.StateChange) { states <- c }}, Path: lock},
	)
	if c := <-states; c.State != zksession.Connected || c.Session != l.Session() || c.Session == 0 ||
		c.Server != servers(t)[0] ||
		c.Negotiated != 4*time.Second {
		t.Errorf("%+v", c)
	}
	for range 3 {
		h := acquired(t, l)
		if h.Token() != 0 || h.Session() != l.Session() || !h.Valid() {
			t.Errorf("token %d, session %x, want %x", h.Token(), h.Session(), l.Session())
		}
		if names := ephemerals(t, other, lock); len(names) != 1 {
			t.Errorf("znodes %v", names)
		}
		if _, err := h.Multi(within(t)); !errors.Is(err, ErrUnguarded) {
			t.Error(err)
		}
		released(t, h)
		empty(t, other, lock)
	}
	h := acquired(t, l)
	if err := l.Close(within(t)); err != nil {
		t.Fatal(err)
	}
	if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLockLost) ||
		!errors.Is(cause, zksession.ErrSessionClosed) {
		t.Errorf("cause: %v", cause)
	}
	empty(t, other, lock)
	if c := <-states; c.State != zksession.Closed {
		t.Errorf("%+v", c)
	}
	if _, err := l.Acquire(within(t)); !errors.Is(err, zksession.ErrSessionClosed) {
		t.Errorf("acquire after close: %v", err)
	}
}

// Many clients, some of zk.Lock and some of Mutex, take turns in the order in which they came, and no two hold the
// lock at once.
func TestZKLockContention(t *testing.T) {
	lock := lockPath(t)
	theirs, ours := zkLock(
		t,
		ZKLockConfig{Path: lock},
	), connected(
		t,
		SessionConfig{Config: zksession.Config{Servers: rotated(servers(t))}},
	)
	const clients = 10
	h := acquired(t, theirs)
	var mu sync.Mutex
	var order []int
	var holding atomic.Int32 // zk.Lock has no tokens that the test could compare
	var wg sync.WaitGroup
	for i := range clients {
		l := Lock(theirs)
		if i%3 == 2 {
			l = realLock(t, "mutex", ours, lock, nil)
		}
		wg.Go(func() {
			h, err := l.Acquire(within(t))
			if err != nil {
				t.Error(err)
				return
			}
			if n := holding.Add(1); n != 1 {
				t.Errorf("%d holders", n)
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			_ = ours.zk.Sync(within(t), lock) // takes a round trip
			holding.Add(-1)
			if err := h.Release(within(t)); err != nil {
				t.Error(err)
			}
		})
		eventually(t, "it queues", func() bool { return len(listed(t, ours, lock)) == i+2 })
	}
	released(t, h)
	wg.Wait()
	for i, got := range order {
		if got != i {
			t.Fatalf("order %v", order)
		}
	}
	if len(order) != clients {
		t.Errorf("order %v", order)
	}
	empty(t, ours, lock)
}

// The locks of one connection are independent of each other.
func TestZKLockAt(t *testing.T) {
	one, two, other := lockPath(t), lockPath(t), connected(t, SessionConfig{})
	l := zkLock(t, ZKLockConfig{Path: one})
	at, err := l.At(two)
	if err != nil {
		t.Fatal(err)
	}
	first, second := acquired(t, l), acquired(t, at)
	for _, path := range []string{one, two} {
		if names := listed(t, other, path); len(names) != 1 {
			t.Errorf("the queue of %s: %v", path, names)
		}
	}
	released(t, first)
	empty(t, other, one)
	released(t, second)
	empty(t, other, two)
	if _, err := l.At("no-path"); !errors.Is(err, ErrInvalidPath) {
		t.Error(err)
	}
}

// zk.Lock takes no context, so an attempt that was given up keeps its place, gets the lock at its turn, and releases
// it.
func TestZKLockCancelled(t *testing.T) {
	lock, other := lockPath(t), connected(t, SessionConfig{})
	l := zkLock(t, ZKLockConfig{Path: lock})
	h := acquired(t, realLock(t, "mutex", other, lock, nil))
	ctx, cancel := context.WithCancel(within(t))
	failed := make(chan error, 1)
	go func() { _, err := l.Acquire(ctx); failed <- err }()
	eventually(t, "it queues", func() bool { return len(listed(t, other, lock)) == 2 })
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if names := listed(t, other, lock); len(names) != 2 {
		t.Errorf("the attempt has given up its place: %v", names)
	}
	released(t, h)
	empty(t, other, lock)
	if _, err := l.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	empty(t, other, lock)
	released(t, acquired(t, l))
}

// When the session ends, its holds end, because zk.Conn reports it. The next holds belong to the next session.
func TestZKLockSessionKilled(t *testing.T) {
	skipUnderRace(t)
	lock, w, other := lockPath(t), wire.New(), connected(t, SessionConfig{})
	states := make(chan zksession.StateChange, 20)
	l := zkLock(
		t,
		ZKLockConfig{
			Config: zksession.Config{Dial: w.Dial, OnState: func(c zksession.StateChange) { states <- c }},
			Path:   lock,
		},
	)
	h := acquired(t, l)
	old := l.Session()
	kill(t, w, servers(t)[0])
	if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) || !errors.Is(cause, zksession.ErrSessionExpired) {
		t.Errorf("cause: %v", cause)
	}
	if err := h.Release(within(t)); !errors.Is(err, ErrLockLost) {
		t.Errorf("release: %v", err)
	}
	var seen []zksession.State
	for c := range states {
		seen = append(seen, c.State)
		if c.State == zksession.Connected && c.Session != old {
			break
		}
	}
	if i := len(seen) - 2; i < 1 || seen[i] != zksession.Expired || seen[i-1] != zksession.Disconnected {
		t.Errorf("states %v", seen)
	}
	h = acquired(t, l)
	if h.Session() == old || h.Session() != l.Session() {
		t.Errorf("session %x, was %x", h.Session(), old)
	}
	released(t, h)
	empty(t, other, lock)
}

// The caller is told that the reply to the delete was lost, and zk.Lock does nothing about it. Here the delete was
// executed. A lost request leaves the znode, which blocks the lock until the session ends.
func TestZKLockUnlockUnanswered(t *testing.T) {
	skipUnderRace(t)
	for name, arm := range map[string]func(*wire.Wire){"reply": func(w *wire.Wire) { w.Lose(wire.OpDelete, 1) },
		"request": func(w *wire.Wire) { w.Cut(wire.OpDelete, 1) }} {
		t.Run(name, func(t *testing.T) {
			lock, w, other := lockPath(t), wire.New(), connected(t, SessionConfig{})
			l := zkLock(t, ZKLockConfig{Config: zksession.Config{Dial: w.Dial}, Path: lock})
			h := acquired(t, l)
			arm(w)
			if err := h.Release(within(t)); !errors.Is(err, zksession.ErrConnectionLoss) || errors.Is(err, ErrLockLost) {
				t.Errorf("release: %v", err)
			}
			if cause := context.Cause(h.Context()); cause != ErrReleased {
				t.Errorf("cause: %v", cause)
			}
			if left := len(listed(t, other, lock)); left != map[string]int{"reply": 0, "request": 1}[name] {
				t.Errorf("%d znodes left", left)
			}
			eventually(t, "the client is connected again", func() bool {
				ctx, cancel := context.WithCancel(within(t))
				cancel()
				_, err := l.client.Session(ctx)
				return err == nil
			})
		})
	}
}

func TestZKLockConfiguration(t *testing.T) {
	if _, err := ConnectZKLock(t.Context(), ZKLockConfig{Path: "/a"}); err == nil {
		t.Error("no servers")
	}
	if _, err := ConnectZKLock(t.Context(), ZKLockConfig{Config: zksession.Config{Servers: []string{"127.0.0.1"}},
		Path: "a"}); !errors.Is(
		err,
		ErrInvalidPath,
	) {
		t.Error(err)
	}
	w := wire.New()
	w.Refuse(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := ConnectZKLock(ctx, ZKLockConfig{Config: zksession.Config{Servers: []string{"127.0.0.1"}, Dial: w.Dial},
		Path: "/a"}); !errors.Is(
		err,
		context.DeadlineExceeded,
	) {
		t.Error(err)
	}
}

// An acquisition costs these requests, and a release fires this many watches, by the servers' own counters.
func TestZKLockRequests(t *testing.T) {
	onRealServers(t)
	lock, w := lockPath(t), wire.New()
	l, other := zkLock(
		t,
		ZKLockConfig{Config: zksession.Config{Dial: w.Dial}, Path: lock},
	), connected(
		t,
		SessionConfig{},
	)
	released(t, acquired(t, l)) // makes the directory
	before, _ := w.Requests()
	released(t, acquired(t, l))
	after, by := w.Requests()
	if after-before != 3 {
		t.Errorf("%d requests without contention: %v", after-before, by)
	}
	const waiters = 5
	h := acquired(t, l)
	before, _ = w.Requests()
	var waiting []<-chan *Hold
	for i := range waiters {
		waiting = append(waiting, acquiring(t, l))
		eventually(t, "it queues", func() bool { return len(listed(t, other, lock)) == i+2 })
	}
	eventually(t, "all watch", func() bool { n, _ := w.Requests(); return n == before+3*waiters })
	for _, next := range waiting {
		_, _, fires := fired(t)
		released(t, h)
		h = <-next
		if _, _, now := fired(t); now-fires != 1 {
			t.Errorf("a release fired %d watches", now-fires)
		}
	}
	released(t, h)
	after, by = w.Requests()
	if after-before != waiters*5+1 { // plus the release of the first holder
		t.Errorf("%d requests of %d waiters: %v", after-before, waiters, by)
	}
}
