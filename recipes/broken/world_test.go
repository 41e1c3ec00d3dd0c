package broken_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"locklab/recipes"
	"locklab/recipes/broken"
	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

const testTimeout = 30 * time.Second

// A world is where a trigger runs: a path on an ensemble, and clients that use the broken lock there, or the
// sound one.
type world struct {
	t       *testing.T
	ctx     context.Context
	lock    broken.Lock
	sound   bool
	path    string
	servers []string
	memory  bool     // the servers are in this process and have no transaction logs
	service *zk.Conn // for looking at the service's znodes and watches
	permits int
	shows   func() // called, if it is set, when the lock is as its bug makes it

	findings map[broken.Check]string
	journal  journal
	clients  int
}

// newWorld returns a world on a real ensemble.
func newWorld(t *testing.T, lock broken.Lock, sound bool) *world {
	t.Helper()
	w := &world{lock: lock, sound: sound, servers: servers(t)}
	w.setUp(t)
	return w
}

// newWorldInMemory returns a world on servers in memory.
func newWorldInMemory(t *testing.T, lock broken.Lock, sound bool) *world {
	t.Helper()
	w := &world{lock: lock, sound: sound, servers: zktest.StartWith(t, zktest.Config{Servers: 3}).Addrs(), memory: true}
	w.setUp(t)
	return w
}

func (w *world) setUp(t *testing.T) {
	t.Helper()
	w.t, w.findings, w.permits = t, map[broken.Check]string{}, 1
	lock := w.lock
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	t.Cleanup(cancel)
	conn, events, err := zk.Connect(w.servers, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	w.service = conn
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	w.begin()
	w.path = "/broken-" + uuid.NewString()
	if lock.Sound == "naive-mutex" {
		return
	}
	for _, dir := range []string{w.path, w.path + "/locks", w.path + "/leases"} {
		if lock.Sound != "semaphore" && dir != w.path {
			continue
		}
		if _, err := conn.Create(dir, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
}

// found notes a finding, as a check would report it.
func (w *world) found(check broken.Check, format string, args ...any) {
	w.findings[check] = fmt.Sprintf(format, args...)
	w.t.Logf("%s: %s", check, w.findings[check])
}

func (w *world) show() {
	if w.shows != nil {
		w.shows()
	}
}

// until waits for a condition.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			w.t.Fatalf("timed out before: %s", what)
		}
	}
}

// ends waits until a channel is closed.
func (w *world) ends(what string, done <-chan struct{}) {
	w.t.Helper()
	select {
	case <-done:
	case <-w.ctx.Done():
		w.t.Fatalf("timed out before: %s", what)
	}
}

// A client has a session of its own, and a wire that can break its connection.
type client struct {
	w       *world
	ways    broken.Ways
	wire    *wire.Wire
	session func() int64 // the present session's id

	name     string
	attempts atomic.Int64
}

// options are the settings of one client.
type options struct {
	// only is the number of the one server that the client knows. Its session's id begins with it. 0 = all servers.
	only    int
	timeout time.Duration // of its session; 0 = 4 s
	units   int           // permits that the client acquires from a semaphore
	queued  func(ahead int)
}

func (w *world) client(o options) *client {
	w.t.Helper()
	w.clients++
	c := &client{w: w, wire: wire.New(), name: fmt.Sprintf("c%d/0", w.clients)}
	if o.timeout == 0 {
		o.timeout = 4 * time.Second
	}
	servers := w.servers
	if o.only > 0 {
		servers = servers[o.only-1 : o.only]
	}
	if w.sound {
		s, err := recipes.Connect(
			w.ctx,
			recipes.SessionConfig{
				Config: zksession.Config{Servers: servers, Timeout: o.timeout, Dial: c.wire.Dial, OnState: c.state},
			},
		)
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = s.Close(w.ctx) }) // some of the sessions have ended already
		c.session = s.ID
		ways, err := sound[w.lock.Sound](s, w, o)
		if err != nil {
			w.t.Fatal(err)
		}
		c.ways = c.recorded(ways, o.units)
		return c
	}
	b, err := w.lock.Connect(
		w.ctx,
		zksession.Config{Servers: servers, Timeout: o.timeout, Dial: c.wire.Dial, OnState: c.state},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		// A client that is cut off cannot tell the service.
		if err := b.Close(w.ctx); err != nil && !errors.Is(err, zksession.ErrConnectionLoss) {
			w.t.Error(err)
		}
	})
	c.session = b.Conn.SessionID
	c.ways = c.recorded(
		w.lock.New(broken.Config{Client: b, Path: w.path, Permits: w.permits, Units: o.units, OnQueued: o.queued}),
		o.units,
	)
	return c
}

// sound are the recipes without the bugs, by name.
var sound = map[string]func(*recipes.Session, *world, options) (broken.Ways, error){
	"mutex": func(s *recipes.Session, w *world, o options) (broken.Ways, error) {
		l, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: w.path, OnQueued: o.queued})
		return broken.Ways{Write: l}, err
	},
	"naive-mutex": func(s *recipes.Session, w *world, o options) (broken.Ways, error) {
		l, err := recipes.NewNaiveMutex(recipes.NaiveConfig{Session: s, Path: w.path, OnQueued: o.queued})
		return broken.Ways{Write: l}, err
	},
	"rw": func(s *recipes.Session, w *world, o options) (broken.Ways, error) {
		l, err := recipes.NewRW(recipes.RWConfig{Session: s, Path: w.path, OnQueued: o.queued})
		if err != nil {
			return broken.Ways{}, err
		}
		return broken.Ways{Write: l.Write(), Read: l.Read(), Downgrade: l.Downgrade}, nil
	},
	"semaphore": func(s *recipes.Session, w *world, o options) (broken.Ways, error) {
		l, err := recipes.NewSemaphore(
			recipes.SemaphoreConfig{Session: s, Path: w.path, Max: w.permits, OnQueued: o.queued},
		)
		if err != nil {
			return broken.Ways{}, err
		}
		return broken.Ways{Permits: l.Of(o.units)}, nil
	},
}

// kill ends the client's present session at the service. It may be called from any goroutine.
func (c *client) kill() {
	for session := c.session(); c.w.ctx.Err() == nil; {
		// If the client has another session by the next attempt, it has heard that this one is over.
		if c.session() != session || c.wire.Kill(c.w.servers[0]) {
			return
		}
	}
	c.w.t.Error("the session cannot be killed")
}

// broke requires that a client's connection was broken a given number of times.
func (c *client) broke(times int) {
	c.w.t.Helper()
	if n := c.wire.Losses(); n != times {
		c.w.t.Errorf("the connection was broken %d times, want %d", n, times)
	}
}

// A pending is an acquire under way.
type pending struct {
	w      *world
	cancel context.CancelFunc
	done   chan struct{}
	hold   *recipes.Hold // valid once done
	err    error
}

// start begins an acquire.
func (c *client) start(l recipes.Lock) *pending { return c.startUnder(c.w.ctx, l) }

// startUnder begins an acquire with a context that has the values of ctx.
func (c *client) startUnder(ctx context.Context, l recipes.Lock) *pending {
	p := &pending{w: c.w, done: make(chan struct{})}
	ctx, p.cancel = context.WithCancel(ctx)
	go func() {
		defer close(p.done)
		p.hold, p.err = l.Acquire(ctx)
	}()
	c.w.t.Cleanup(func() { p.cancel(); <-p.done })
	return p
}

func (p *pending) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait waits for the acquire to return, with or without a hold.
func (p *pending) wait() *pending {
	p.w.t.Helper()
	p.w.until("the acquire returns", p.ended)
	return p
}

// held waits for the acquire to return, and returns its hold.
func (p *pending) held() *recipes.Hold {
	p.w.t.Helper()
	if p.wait().err != nil {
		p.w.t.Fatal(p.err)
	}
	return p.hold
}

func (w *world) release(h *recipes.Hold) {
	w.t.Helper()
	if err := h.Release(w.ctx); err != nil {
		w.t.Errorf("release: %v", err)
	}
}
