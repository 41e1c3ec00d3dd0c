package drivercheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/ensembles/agent"
	"locklab/ensembles/txnlog/nodes"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/workloads/foreign"
)

// sessionTimeout is what sessions ask for. A loss is told by the service, so nothing waits for it.
const sessionTimeout = 10 * time.Second

// atOnce is how long an answer may take for which nothing has to be waited for. A busy machine and a virtual machine
// that has just started may take most of it.
const atOnce = 10 * time.Second

// shortly is how long a case waits for something that must not happen, or lets a request reach the command.
const shortly = 300 * time.Millisecond

// A trial is what one case has: servers and a driver of its own.
type trial struct {
	ctx    context.Context
	cfg    Config
	svc    servers
	driver *foreign.Driver
	// lock and other are the paths of the locks. Nobody has made their parents.
	lock, other string
	pongs       chan time.Duration // how long the command took for its latest ping

	// mode is that in which the locks are acquired; empty = exclusive.
	mode      string
	elsewhere bool // the command made no session at svc
	clients   []*client
}

func newTrial(ctx context.Context, cfg Config) (*trial, error) {
	t := &trial{ctx: ctx, cfg: cfg, pongs: make(chan time.Duration, 1)}
	var err error
	var env []string
	if cfg.Connect == nil {
		t.svc, err = newInMemory()
	} else {
		t.svc, err = newRelay(ctx, cfg.Connect)
		if cfg.Connect.Credential != "" {
			env = []string{agent.EnvCredential + "=" + string(cfg.Connect.Credential)}
		}
	}
	if err != nil {
		return nil, err
	}
	t.lock, t.other = t.svc.base()+"/locks/one", t.svc.base()+"/locks/two"
	answered := func(took time.Duration) {
		select {
		case t.pongs <- took:
		default:
		}
	}
	t.driver, err = foreign.NewDriver(foreign.Config{Argv: cfg.Argv, Env: env, Stderr: cfg.Stderr, Answered: answered})
	if err != nil {
		t.svc.close()
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
	t.svc.close()
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
	c.Session, err = t.driver.Open(ctx, foreign.SessionConfig{Servers: t.svc.addrs(), Timeout: sessionTimeout,
		Paths: []string{t.lock, t.other}, OnState: func(s zksession.StateChange) {
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
	t.elsewhere = len(t.svc.sessions()) == 0
	return c, nil
}

// two opens two sessions.
func (t *trial) two() (a, b *client) { return t.opened(dueTwo), t.opened(dueTwo) }

// opened opens a session. Like all that follows, it ends the case if the command does something else.
func (t *trial) opened(what string) *client {
	c, err := t.open()
	due(err, what)
	return c
}

// contended opens two sessions, and the first one acquires the lock that the second one is to want.
func (t *trial) contended() (a, b *client, h *recipes.Hold) {
	a, b = t.two()
	return a, b, t.granted(a, t.lock, dueGranted)
}

// granted acquires a lock that nobody else may hold then.
func (t *trial) granted(c *client, path, what string) *recipes.Hold {
	h, err := t.acquire(c, path, "")
	due(err, what)
	return h
}

// released releases a hold.
func (t *trial) released(h *recipes.Hold) { due(t.release(h), dueReleased) }

// gone ends the case if a znode contends for the lock although every hold of it was released.
func (t *trial) gone() {
	if t.driver.Layout() != "" && !t.elsewhere && len(t.contenders(t.lock)) > 0 {
		stop(wrong("it answered released, and a znode that contends for the lock is still there; due is that the lock is " +
			"free by then"))
	}
}

// passes acquires the lock, which must be free, for a reason, and releases it.
func (t *trial) passes(c *client, why string) {
	h, err := t.acquire(c, t.lock, "")
	if err != nil {
		stop(wrong("%v: "+why, err))
	}
	t.released(h)
}

// identified ends the case if the command did not say the ID of a client's session.
func (t *trial) identified(c *client) {
	if c.id == 0 {
		stop(skipped("it does not say the ID of its session"))
	}
}

// expire ends a client's session at the servers.
func (t *trial) expire(c *client) {
	ctx, cancel := t.within()
	defer cancel()
	if err := t.svc.expire(ctx, c.id); err != nil {
		stop(wrong("%v", err))
	}
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

// acquire acquires a lock that can be had at once. An empty mode is that of the trial.
func (t *trial) acquire(c *client, path, mode string) (*recipes.Hold, error) {
	ctx, cancel := t.within()
	defer cancel()
	return t.handle(c, path, mode).Acquire(ctx)
}

func (t *trial) handle(c *client, path, mode string) recipes.Lock {
	return c.Lock(foreign.LockConfig{Paths: []string{path}, Mode: cmp.Or(mode, t.mode)})
}

// settleMode finds a mode that lets one client in. A command of semaphores or read/write locks may have no exclusive
// one: it answers failed twice, and grants another mode between.
func (t *trial) settleMode(c *client) {
	refuses := func() bool {
		h, err := t.acquire(c, t.lock, foreign.Exclusive)
		if err == nil {
			t.released(h)
			t.gone()
		}
		return err != nil && !errors.Is(err, foreign.ErrBroken) && !errors.Is(err, context.DeadlineExceeded)
	}
	for _, mode := range []string{foreign.Write, foreign.Permits(1, 1)} {
		if !refuses() {
			return
		}
		if h, err := t.acquire(c, t.lock, mode); err == nil {
			t.released(h)
			if refuses() {
				t.mode = mode
			}
			return
		}
	}
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
		w.hold, w.err = t.handle(c, path, "").Acquire(ctx)
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
	h, err := t.handle(c, path, mode).Acquire(ctx)
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
	if _, children, found := t.svc.node(t.ctx, dir); found && layout != nodes.LayoutZnode {
		names = nil
		for _, child := range children {
			names = append(names, dir+"/"+child)
		}
	}
	for _, name := range names {
		if _, contends := selector.Place(name); !contends {
			continue
		}
		if owner, _, found := t.svc.node(t.ctx, name); found {
			owners = append(owners, owner)
		}
	}
	return owners
}
