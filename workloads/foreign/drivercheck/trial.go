package drivercheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/ensembles/txnlog/nodes"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
	"locklab/workloads/foreign"
)

// sessionTimeout is what sessions ask for. A loss is told by the service, so nothing waits for it.
const sessionTimeout = 10 * time.Second

// atOnce is how long an answer may take for which nothing has to be waited for. A busy machine and a virtual machine
// that has just started may take most of it.
const atOnce = 10 * time.Second

// shortly is how long a case waits for something that must not happen, or lets a request reach the command.
const shortly = 300 * time.Millisecond

// The paths of the locks. Nobody has made their parents.
const (
	lockPath  = "/locklab-driver-check/locks/one"
	otherPath = "/locklab-driver-check/locks/two"
)

// A trial is what one case has: a service and a driver of its own.
type trial struct {
	ctx    context.Context
	cfg    Config
	svc    *zktest.Service
	driver *foreign.Driver
	pongs  chan time.Duration // how long the command took for its latest ping

	elsewhere bool // the command made no session at svc
	clients   []*client
}

func newTrial(ctx context.Context, cfg Config) (*trial, error) {
	t := &trial{ctx: ctx, cfg: cfg, svc: zktest.New(zktest.Config{}), pongs: make(chan time.Duration, 1)}
	if err := t.svc.Listen(); err != nil {
		return nil, err
	}
	answered := func(took time.Duration) {
		select {
		case t.pongs <- took:
		default:
		}
	}
	var err error
	t.driver, err = foreign.NewDriver(foreign.Config{Argv: cfg.Argv, Stderr: cfg.Stderr, Answered: answered})
	if err != nil {
		t.svc.Close()
		return nil, err
	}
	return t, nil
}

// end ends everything that the case has started.
func (t *trial) end() {
	for _, c := range t.clients {
		_ = t.close(c) // a case that asks for the close looks at it itself
	}
	t.driver.Close()
	t.svc.Close()
}

// within bounds how long an answer may take.
func (t *trial) within() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(t.ctx, t.cfg.patience, fmt.Errorf("no answer within %v", t.cfg.patience))
}

// A client is a session of the command.
type client struct {
	*foreign.Session
	id int64 // of its ZooKeeper session, as the command told it; 0 = it did not

	mu     sync.Mutex
	states []zksession.State
	closed bool
}

// told reports whether the command told of a state.
func (c *client) told(s zksession.State) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.states, s)
}

// open opens a session.
func (t *trial) open() (*client, error) {
	ctx, cancel := t.within()
	defer cancel()
	c := &client{}
	var err error
	c.Session, err = t.driver.Open(ctx, foreign.SessionConfig{Servers: t.svc.Addrs(), Timeout: sessionTimeout,
		Paths: []string{lockPath, otherPath}, OnState: func(s zksession.StateChange) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.states = append(c.states, s.State)
			if c.id == 0 {
				c.id = s.Session
			}
		}})
	if err != nil {
		return nil, err
	}
	t.clients = append(t.clients, c)
	t.elsewhere = len(t.svc.Sessions()) == 0
	return c, nil
}

// two opens two sessions.
func (t *trial) two() (a, b *client, err error) {
	if a, err = t.open(); err == nil {
		b, err = t.open()
	}
	return a, b, err
}

// contended opens two sessions, and the first one acquires the lock that the second one is to want. If that fails, bad
// says how.
func (t *trial) contended() (a, b *client, h *recipes.Hold, bad *Result) {
	fails := func(err error, due string) (a, b *client, h *recipes.Hold, bad *Result) {
		return nil, nil, nil, new(unexpected(err, due))
	}
	a, b, err := t.two()
	if err != nil {
		return fails(err, "opened ID, for two clients")
	}
	if h, err = t.acquire(a, lockPath, ""); err != nil {
		return fails(err, dueGranted)
	}
	return a, b, h, nil
}

// passes acquires the lock, which must be free, and releases it. If that fails, it says how: refused does, if the lock
// was not granted.
func (t *trial) passes(c *client, refused func(error) Result) (bad *Result) {
	h, err := t.acquire(c, lockPath, "")
	if err != nil {
		return new(refused(err))
	}
	if err := t.release(h); err != nil {
		return new(unexpected(err, dueReleased))
	}
	return nil
}

func (t *trial) close(c *client) error {
	if c.closed {
		return nil
	}
	c.closed = true
	ctx, cancel := t.within()
	defer cancel()
	return c.Close(ctx)
}

// acquire acquires a lock that can be had at once.
func (t *trial) acquire(c *client, path, mode string) (*recipes.Hold, error) {
	ctx, cancel := t.within()
	defer cancel()
	return c.Lock(foreign.LockConfig{Paths: []string{path}, Mode: mode}).Acquire(ctx)
}

// release releases a hold.
func (t *trial) release(h *recipes.Hold) error {
	ctx, cancel := t.within()
	defer cancel()
	return h.Release(ctx)
}

// A waiter is an acquire under way.
type waiter struct {
	cancel context.CancelFunc
	held   chan struct{} // closed when it has ended
	hold   *recipes.Hold
	err    error
}

// wait begins an acquire without a limit, and lets it reach the command.
func (t *trial) wait(c *client, path string) *waiter {
	ctx, cancel := context.WithCancel(t.ctx)
	w := &waiter{cancel: cancel, held: make(chan struct{})}
	go func() {
		defer close(w.held)
		w.hold, w.err = c.Lock(foreign.LockConfig{Paths: []string{path}}).Acquire(ctx)
	}()
	select {
	case <-w.held:
	case <-time.After(shortly):
	}
	return w
}

// ended reports whether the acquire ends in time.
func (t *trial) ended(w *waiter) bool {
	ctx, cancel := t.within()
	defer cancel()
	select {
	case <-w.held:
		return true
	case <-ctx.Done():
		w.cancel()
		<-w.held
		return false
	}
}

// refused tries to get a lock that is held, for a short time. Nil means that the command gave up when it should, and an
// error is what it did instead.
func (t *trial) refused(c *client, path, mode string) error {
	ctx, cancel := context.WithTimeout(t.ctx, shortly)
	defer cancel()
	h, err := c.Lock(foreign.LockConfig{Paths: []string{path}, Mode: mode}).Acquire(ctx)
	switch {
	case err == nil:
		_ = t.release(h)
		return errHeldTwice
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	}
	return err
}

var errHeldTwice = errors.New("two clients hold the lock at once: it was granted to a second client while the first " +
	"one held it")

// contenders returns the sessions of the znodes that contend for a lock by the layout that the command has declared.
func (t *trial) contenders(path string) (owners []int64) {
	layout := t.driver.Layout()
	selector, _ := layout.Contends(path, func(int64) int { return 1 })
	dir := path
	if layout == nodes.LayoutSemaphore {
		dir += "/leases"
	}
	names := []string{path}
	if n, found := t.svc.Node(dir); found && layout != nodes.LayoutZnode {
		names = nil
		for _, child := range n.Children {
			names = append(names, dir+"/"+child)
		}
	}
	for _, name := range names {
		if _, contends := selector.Place(name); !contends {
			continue
		}
		if n, found := t.svc.Node(name); found {
			owners = append(owners, n.Stat.EphemeralOwner)
		}
	}
	return owners
}
