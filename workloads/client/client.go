package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads/foreign"
	"locklab/workloads/resource"
)

// client is one contender: one goroutine, one session at a time.
type client struct {
	p      *process
	number int // among those of all processes
	name   string
	rand   *rand.Rand

	session session
	locks   map[string]recipes.Lock // of this session, by path
	acq     int64
	current string // path of the lock being acquired, for queued
	lost    sync.WaitGroup
}

func newClient(p *process, i int) *client {
	number := p.cfg.First + i
	return &client{p: p, number: number, name: fmt.Sprintf("%s/%d", p.cfg.Host, i),
		rand: rand.New(rand.NewPCG(p.cfg.Seed, uint64(number)))}
}

// session is what a client's locks live in: a [recipes.Session] or, where the
// recipe is foreign, one of the lock's command.
type session interface {
	Done() <-chan struct{}
	Err() error
	Close(ctx context.Context) error
}

// connect makes a session and the locks on it.
func (c *client) connect(ctx context.Context) error {
	if c.p.foreign != nil {
		return c.open(ctx)
	}
	s, err := recipes.Connect(ctx, recipes.SessionConfig{Servers: c.p.cfg.serversFor(c.number), Timeout: c.p.cfg.SessionTimeout,
		OnState: c.state, Logger: c.p.log})
	if err != nil {
		return err
	}
	c.session, c.locks = s, map[string]recipes.Lock{}
	for _, path := range c.p.cfg.Locks {
		if c.locks[path], err = c.p.recipe.New(s, path, c.queued); err != nil {
			return err
		}
	}
	return nil
}

// open has the lock's command make a session.
func (c *client) open(ctx context.Context) error {
	s, err := c.p.foreign.Open(ctx, foreign.SessionConfig{Servers: c.p.cfg.serversFor(c.number), Timeout: c.p.cfg.SessionTimeout,
		Paths: c.p.cfg.Locks, OnState: c.state})
	if err != nil {
		return err
	}
	c.session, c.locks = s, map[string]recipes.Lock{}
	for _, path := range c.p.cfg.Locks {
		c.locks[path] = s.Lock(foreign.LockConfig{Paths: []string{path}, OnQueued: c.queued})
	}
	return nil
}

// closeCap bounds how long a client takes to say goodbye: its session may not be
// reachable, and then ends by itself.
const closeCap = 3 * time.Second

func (c *client) close() {
	if c.session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeCap)
	defer cancel()
	_ = c.session.Close(ctx) // what is left then ends with its session
	c.session = nil
}

func (c *client) event(kind history.Kind, op string) history.Event {
	return history.Event{Kind: kind, Op: op, Client: c.name, Acq: c.acq, Lock: c.current}
}

// state records what becomes of the session.
func (c *client) state(s recipes.StateChange) {
	e := history.Event{Client: c.name, Session: history.SessionID(s.Session)}
	if s.Server != "" {
		e.Target = c.p.cfg.serverName(s.Server)
	}
	if s.Err != nil {
		e.Detail = s.Err.Error()
	}
	switch s.State {
	case recipes.Connected:
		e.Op, e.Value = history.OpConnected, int64(s.Negotiated)
	case recipes.Disconnected:
		e.Op = history.OpDisconnected
	case recipes.Expired:
		e.Op = history.OpExpired
	default:
		return
	}
	c.record(e)
}

// record writes an event. A history that cannot be written makes the run
// worthless, so the process ends at once rather than act without a record.
func (c *client) record(e history.Event) {
	if err := c.p.rec.Record(e); err != nil {
		panic(err)
	}
}

func (c *client) queued(ahead int) {
	e := c.event(history.Info, history.OpQueued)
	e.Value = int64(ahead)
	c.record(e)
}

// run contends from start on until the window closes or the iterations are done.
func (c *client) run(start int64, l limits) error {
	defer c.lost.Wait()
	if !sleep(l.begin, time.Until(c.p.rec.Clock().Time(start))) {
		return nil
	}
	for i := 0; c.p.cfg.Iterations == 0 || i < c.p.cfg.Iterations; i++ {
		if i > 0 && !sleep(l.begin, c.p.cfg.Think) {
			return nil
		}
		if l.begin.Err() != nil {
			return nil
		}
		if err := c.renewSession(l.begin); err != nil {
			if l.begin.Err() != nil {
				return nil
			}
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := c.once(l); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if err := c.session.Err(); errors.Is(err, foreign.ErrBroken) {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// renewSession replaces a session that is over, for as long as ctx allows.
func (c *client) renewSession(ctx context.Context) error {
	select {
	case <-c.session.Done():
	default:
		return nil
	}
	c.close()
	return c.connect(ctx)
}

// once acquires a lock, uses what it protects, and releases it.
func (c *client) once(l limits) error {
	c.acq++
	c.current = c.p.cfg.Locks[c.rand.IntN(len(c.p.cfg.Locks))]
	c.record(c.event(history.Invoke, history.OpAcquire))
	hold, err := c.locks[c.current].Acquire(l.wait)
	if err != nil {
		c.record(c.acquireFailed(err, l))
		return nil
	}
	e := c.event(history.OK, history.OpAcquire)
	e.Token, e.Session = hold.Token(), history.SessionID(hold.Session())
	c.record(e)
	c.watch(hold, e)

	sectionErr := c.section(l.use, hold)

	e.Op, e.Kind = history.OpRelease, history.Invoke
	e.At = 0
	c.record(e)
	release, cancel := context.WithTimeout(l.use, releaseCap)
	defer cancel()
	e.Kind = history.OK
	if err := hold.Release(release); err != nil {
		// Either the hold is known to be over, or its end is not confirmed.
		e.Kind, e.Detail = history.Info, err.Error()
		if errors.Is(err, recipes.ErrLockLost) {
			e.Kind = history.Fail
		}
	}
	c.record(e)
	return sectionErr
}

// releaseCap is how long a client waits for the confirmation of a release; the
// recipe goes on trying in the background.
const releaseCap = 30 * time.Second

// acquireFailed is the event of an acquire that returned an error.
func (c *client) acquireFailed(err error, l limits) history.Event {
	e := c.event(history.Fail, history.OpAcquire)
	e.Detail = err.Error()
	if l.wait.Err() != nil && errors.Is(err, l.wait.Err()) {
		e.Detail = history.CancelledAtEnd
	}
	return e
}

// watch records when the client learns that a hold is lost. A client that stops
// believing by releasing is not a loss.
func (c *client) watch(hold *recipes.Hold, e history.Event) {
	e.Op, e.Kind, e.At = history.OpLost, history.Info, 0
	c.lost.Add(1)
	context.AfterFunc(hold.Context(), func() {
		defer c.lost.Done()
		if cause := context.Cause(hold.Context()); !errors.Is(cause, recipes.ErrReleased) {
			e.Detail = cause.Error()
			c.record(e)
		}
	})
}

// section is the critical section: read the counter, hold, write it back plus one.
// It ends early when the resource refuses an access.
func (c *client) section(ctx context.Context, hold *recipes.Hold) error {
	if _, ok := c.access(ctx, hold, history.OpEnter, 0); !ok {
		return nil
	}
	value, ok := c.access(ctx, hold, history.OpRead, 0)
	if !ok {
		return nil
	}
	point := c.event(history.Info, history.OpTrigger)
	point.Token, point.Session = hold.Token(), history.SessionID(hold.Session())
	if err := c.p.at(BetweenReadAndWrite, point); err != nil {
		return err
	}
	if !sleep(ctx, c.p.cfg.Hold) {
		return nil
	}
	if _, ok = c.access(ctx, hold, history.OpWrite, value+1); ok {
		c.access(ctx, hold, history.OpExit, 0)
	}
	return nil
}

// access asks the resource, and records the answer. A write is recorded before
// too: one whose answer never comes may have happened.
func (c *client) access(ctx context.Context, hold *recipes.Hold, op string, value int64) (int64, bool) {
	e := c.event(history.Invoke, op)
	e.Token, e.Session, e.Value = hold.Token(), history.SessionID(hold.Session()), value
	if op == history.OpWrite {
		c.record(e)
	}
	answer, err := c.p.resource.Do(ctx, resource.Access{Op: op, Lock: c.current, Client: c.name, Acq: c.acq,
		Session: hold.Session(), Token: hold.Token(), Value: value})
	switch {
	case err != nil:
		e.Kind, e.Detail = history.Info, err.Error()
	case answer.Accepted:
		e.Kind, e.Value = history.OK, answer.Value
	default:
		e.Kind, e.Value = history.Fail, answer.Value
		e.Detail = fmt.Sprintf("stale: the resource has served token %d", answer.Fence)
	}
	c.record(e)
	return answer.Value, err == nil && answer.Accepted
}

// sleep waits for d, which may be 0 or less, and reports whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
