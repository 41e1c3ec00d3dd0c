package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/zksession"
)

// A Thin is a load on an ensemble with nothing in it but sessions, locks and a clock. [compareLoads] holds locklab
// against it.
//
// In a closed loop each client asks again at once. In an open loop acquisitions are due at random times (Poisson), each
// of a lock that is drawn with it, unless locks are dealt; as many as there are clients are under way, Queue more wait,
// and the others are dropped. An acquisition counts from when it was due, so what waits in the queue waits for the
// lock.
type Thin struct {
	Shape
	Servers []string // host:port; client i has a session on server i modulo their number
	Path    string   // a znode that is made for the locks, and removed with them

	_ struct{}
}

// A Shape is a load that locklab and a [Thin] both offer.
type Shape struct {
	Recipe string `json:"recipe"` // ZKLock or Mutex
	// Dealt says that client i has lock i modulo Locks; else each acquisition draws its lock. In an open loop it keeps
	// clients that follow each other in the queue apart, so that they meet less than arrivals do.
	Dealt   bool          `json:"dealt"`
	Rate    float64       `json:"rate"` // acquisitions due per second; 0 in a closed loop
	Clients int           `json:"clients"`
	Locks   int           `json:"locks"`
	Queue   int           `json:"queue"`
	Hold    time.Duration `json:"hold_ns"`
}

// never is when a [Hold] was granted that was not: it failed, was dropped, or had not ended when the drain was over.
const never = math.MaxInt64

const (
	// drainCap is how long what is under way at the end of the window may take.
	drainCap = 5 * time.Second
	// loadSession is the session timeout of both loads.
	loadSession = 10 * time.Second
)

// A due is an acquisition that is wanted: a lock, and its record.
type due struct {
	lock int
	hold *Hold
}

// A holder acquires a lock of one client and returns how to release it.
type holder func(ctx context.Context, path string) (release func(context.Context) error, err error)

// holders connect a client by recipe. Neither records anything.
var holders = map[string]func(ctx context.Context, server string) (holder, func(context.Context) error, error){
	ZKLock: func(ctx context.Context, server string) (holder, func(context.Context) error, error) {
		c, err := connectBare(ctx, server)
		if err != nil {
			return nil, nil, err
		}
		return func(_ context.Context, path string) (func(context.Context) error, error) {
			l := zk.NewLock(c, path, zk.WorldACL(zk.PermAll))
			return func(context.Context) error { return l.Unlock() }, l.Lock()
		}, func(context.Context) error { c.Close(); return nil }, nil
	},
	Mutex: func(ctx context.Context, server string) (holder, func(context.Context) error, error) {
		s, err := recipes.Connect(ctx, recipes.SessionConfig{Config: zksession.Config{Servers: []string{server},
			Timeout: loadSession}})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, path string) (func(context.Context) error, error) {
			l, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: path})
			if err != nil {
				return nil, err
			}
			h, err := l.Acquire(ctx)
			if err != nil {
				return nil, err
			}
			return h.Release, nil
		}, s.Close, nil
	},
}

// connectBare connects with go-zookeeper and nothing around it.
func connectBare(ctx context.Context, server string) (*zk.Conn, error) {
	c, events, err := zk.Connect([]string{server}, loadSession, zk.WithLogger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return c, nil
			}
		case <-ctx.Done():
			c.Close()
			return nil, fmt.Errorf("connect to %s: %w", server, context.Cause(ctx))
		}
	}
}

// A running is a thin load while it runs.
type running struct {
	Thin
	clock history.Clock
	ended atomic.Bool
	mu    sync.Mutex // for what follows
	all   []*Hold
}

// Run is the whole life of the process, in the directory dir. It counts between two lines on its input, and leaves its
// record like a [Process].
func (t Thin) Run(ctx context.Context, dir string, in io.Reader) error {
	connect, ok := holders[t.Recipe]
	if !ok || t.Clients < 1 || t.Locks < 1 || len(t.Servers) == 0 {
		return fmt.Errorf("no thin load is of the shape %+v on %d servers", t.Shape, len(t.Servers))
	}
	r := &running{Thin: t, clock: history.NewClock()}
	clients, closers := make([]holder, t.Clients), make([]func(context.Context) error, t.Clients)
	if err := each(ctx, t.Clients, func(ctx context.Context, i int) (err error) {
		clients[i], closers[i], err = connect(ctx, t.Servers[i%len(t.Servers)])
		return err
	}); err != nil {
		return err
	}
	loops := r.start(ctx, clients)
	if err := os.WriteFile(filepath.Join(dir, readyFile), nil, 0o644); err != nil {
		return err
	}
	var rec Record
	var err error
	if rec.Begin, rec.End, err = window(in, r.clock.Now); err != nil {
		return err
	}
	r.ended.Store(true)
	select {
	case <-loops:
	case <-time.After(drainCap):
	}
	r.mu.Lock()
	for _, h := range r.all {
		rec.Holds = append(rec.Holds, *h)
	}
	r.mu.Unlock()
	if err := rec.write(filepath.Join(dir, recordFile)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, drainCap)
	defer cancel()
	closed := each(ctx, t.Clients, func(ctx context.Context, i int) error { return closers[i](ctx) })
	return errors.Join(closed, r.remove(ctx))
}

// start starts the clients, and in an open loop the arrivals. The channel is closed when all of them are done.
func (r *running) start(ctx context.Context, clients []holder) <-chan struct{} {
	// Whoever has a slot is served by a client or waits in the queue.
	slots := make(chan struct{}, r.Clients+r.Queue)
	wanted := make(chan due, cap(slots))
	var g sync.WaitGroup
	if r.Rate > 0 {
		g.Go(func() {
			defer close(wanted)
			for at := time.Now(); !r.ended.Load(); {
				at = at.Add(time.Duration(rand.ExpFloat64() / r.Rate * float64(time.Second)))
				time.Sleep(time.Until(at))
				d := r.want(rand.IntN(r.Locks), -time.Since(at))
				select {
				case slots <- struct{}{}:
					wanted <- d
				default: // dropped
				}
			}
		})
	}
	for i, c := range clients {
		g.Go(func() {
			if r.Rate > 0 {
				for d := range wanted {
					r.use(ctx, c, i, d)
					<-slots
				}
				return
			}
			for !r.ended.Load() && ctx.Err() == nil {
				r.use(ctx, c, i, r.want(rand.IntN(r.Locks), 0))
			}
		})
	}
	done := make(chan struct{})
	go func() { g.Wait(); close(done) }()
	return done
}

// want records that an acquisition is due, so long after now.
func (r *running) want(lock int, in time.Duration) due {
	h := &Hold{Asked: r.clock.Now() + int64(in), Granted: never, Released: never}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, h)
	return due{lock, h}
}

// use lets client i acquire a lock, hold it and release it. One that failed stays never granted.
func (r *running) use(ctx context.Context, acquire holder, i int, d due) {
	if r.Dealt {
		d.lock = i % r.Locks
	}
	release, err := acquire(ctx, path.Join(r.Path, strconv.Itoa(d.lock)))
	if err != nil {
		return
	}
	granted := r.clock.Now()
	time.Sleep(r.Hold)
	released := r.clock.Now()
	if release(ctx) != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	d.hold.Granted, d.hold.Released = granted, released
}

// remove deletes the locks, by a session of its own.
func (r *running) remove(ctx context.Context) error {
	c, err := connectBare(ctx, r.Servers[0])
	if err != nil {
		return err
	}
	defer c.Close()
	return removeTree(c, r.Path)
}

func removeTree(c *zk.Conn, path string) error {
	children, _, err := c.Children(path)
	for _, child := range children {
		err = errors.Join(err, removeTree(c, path+"/"+child))
	}
	if err == nil {
		err = c.Delete(path, -1)
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}
