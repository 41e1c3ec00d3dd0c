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
)

// zkLock returns a zk.Lock at that path on a connection of its own.
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := l.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func TestZKLock(t *testing.T) {
	lock, other := lockPath(t), connected(t, SessionConfig{})
	states := make(chan StateChange, 10)
	l := zkLock(t, ZKLockConfig{Path: lock, OnState: func(c StateChange) { states <- c }})
	if c := <-states; c.State != Connected || c.Session != l.Session() || c.Session == 0 || c.Server != servers(t)[0] || c.Negotiated != 4*time.Second {
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
	if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLockLost) || !errors.Is(cause, ErrSessionClosed) {
		t.Errorf("cause: %v", cause)
	}
	empty(t, other, lock)
	if c := <-states; c.State != Closed {
		t.Errorf("%+v", c)
	}
	if _, err := l.Acquire(within(t)); !errors.Is(err, ErrSessionClosed) {
		t.Errorf("acquire after close: %v", err)
	}
}

// Many clients, of zk.Lock and of Mutex, take turns in the order in which they came, never two at once.
func TestZKLockContention(t *testing.T) {
	lock := lockPath(t)
	theirs, ours := zkLock(t, ZKLockConfig{Path: lock}), connected(t, SessionConfig{Servers: rotated(servers(t))})
	const clients = 10
	h := acquired(t, theirs)
	var mu sync.Mutex
	var order []int
	var holding atomic.Int32 // tokens, which others' tests look at, there are none
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

// zk.Lock knows no contexts: an attempt that was given up keeps its place, gets the lock at its turn, and gives it back.
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
		t.Errorf("it has given up its place: %v", names)
	}
	released(t, h)
	empty(t, other, lock)
	if _, err := l.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	empty(t, other, lock)
	released(t, acquired(t, l))
}

// When the session ends the holds end with it, as zk.Conn tells, and the next are of the next session.
func TestZKLockSessionKilled(t *testing.T) {
	skipUnderRace(t)
	lock, w, other := lockPath(t), wire.New(), connected(t, SessionConfig{})
	states := make(chan StateChange, 20)
	l := zkLock(t, ZKLockConfig{Path: lock, Dial: w.Dial, OnState: func(c StateChange) { states <- c }})
	h := acquired(t, l)
	old := l.Session()
	kill(t, w, servers(t)[0])
	if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) || !errors.Is(cause, ErrSessionExpired) {
		t.Errorf("cause: %v", cause)
	}
	if err := h.Release(within(t)); !errors.Is(err, ErrLockLost) {
		t.Errorf("release: %v", err)
	}
	var seen []State
	for c := range states {
		seen = append(seen, c.State)
		if c.State == Connected && c.Session != old {
			break
		}
	}
	if i := len(seen) - 2; i < 1 || seen[i] != Expired || seen[i-1] != Disconnected {
		t.Errorf("states %v", seen)
	}
	h = acquired(t, l)
	if h.Session() == old || h.Session() != l.Session() {
		t.Errorf("session %x, was %x", h.Session(), old)
	}
	released(t, h)
	empty(t, other, lock)
}

// A lost reply to the delete is told, and zk.Lock does nothing about it; here it was executed. A lost
// request leaves the znode, which keeps everybody waiting until the session ends.
func TestZKLockUnlockUnanswered(t *testing.T) {
	skipUnderRace(t)
	for name, arm := range map[string]func(*wire.Wire){"reply": func(w *wire.Wire) { w.Lose(wire.OpDelete, 1) }, "request": func(w *wire.Wire) { w.Cut(wire.OpDelete, 1) }} {
		t.Run(name, func(t *testing.T) {
			lock, w, other := lockPath(t), wire.New(), connected(t, SessionConfig{})
			l := zkLock(t, ZKLockConfig{Path: lock, Dial: w.Dial})
			h := acquired(t, l)
			arm(w)
			if err := h.Release(within(t)); !errors.Is(err, ErrConnectionLoss) || errors.Is(err, ErrLockLost) {
				t.Errorf("release: %v", err)
			}
			if cause := context.Cause(h.Context()); cause != ErrReleased {
				t.Errorf("cause: %v", cause)
			}
			if left := len(listed(t, other, lock)); left != map[string]int{"reply": 0, "request": 1}[name] {
				t.Errorf("%d znodes left", left)
			}
			eventually(t, "it is connected again", func() bool { l.conn.mu.Lock(); defer l.conn.mu.Unlock(); return l.conn.connected })
		})
	}
}

func TestZKLockConfiguration(t *testing.T) {
	if _, err := ConnectZKLock(t.Context(), ZKLockConfig{Path: "/a"}); err == nil {
		t.Error("no servers")
	}
	if _, err := ConnectZKLock(t.Context(), ZKLockConfig{Servers: []string{"127.0.0.1"}, Path: "a"}); !errors.Is(err, ErrInvalidPath) {
		t.Error(err)
	}
	w := wire.New()
	w.Refuse(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := ConnectZKLock(ctx, ZKLockConfig{Servers: []string{"127.0.0.1"}, Path: "/a", Dial: w.Dial}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// What it asks of the service, and the watches that a release fires, by the servers' own counters.
func TestZKLockRequests(t *testing.T) {
	lock, w := lockPath(t), wire.New()
	l, other := zkLock(t, ZKLockConfig{Path: lock, Dial: w.Dial}), connected(t, SessionConfig{})
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
	if after-before != waiters*5+1 { // and the release of the first holder
		t.Errorf("%d requests of %d waiters: %v", after-before, waiters, by)
	}
}
