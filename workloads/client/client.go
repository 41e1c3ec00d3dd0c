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
)

// client is one contender: one goroutine, one session at a time, which it may share.
type client struct {
	p      *process
	number int // among those of all processes
	name   string
	rand   *rand.Rand

	session *sharing
	source  source
	acq     int64
	due     int64  // when what comes next was, in open loop; else 0
	asked   want   // what is being acquired, for queued
	busy    func() // gives that up, if it is only a try
	full    error  // that the resource has no room for more
	lost    sync.WaitGroup
}

// incarnationAcquisitions is more than the acquisitions of one client of one process ever come to.
const incarnationAcquisitions = 1_000_000

func newClient(p *process, i int) *client {
	number := p.cfg.First + i
	if p.chooser == nil {
		p.chooser = p.cfg.LockChoice.Of(len(p.cfg.Locks))
	}
	for len(p.sessions) <= i/p.cfg.perSession() {
		p.sessions = append(p.sessions, &sharing{})
	}
	return &client{p: p, number: number, acq: int64(p.cfg.Incarnation) * incarnationAcquisitions, name: fmt.Sprintf("%s/%d", p.cfg.Host, i), session: p.sessions[i/p.cfg.perSession()],
		rand: rand.New(rand.NewPCG(p.cfg.Seed, uint64(number)|uint64(p.cfg.Incarnation)<<32))}
}

// closeCap bounds how long a client takes to say goodbye: its session may not be
// reachable, and then ends by itself.
const closeCap = 3 * time.Second

func (c *client) close() {
	if c.source == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeCap)
	defer cancel()
	_ = c.source.Close(ctx) // what is left then ends with its session
	c.source = nil
}

// connect makes a session and the locks in it.
func (c *client) connect(ctx context.Context) (err error) {
	c.source, err = c.p.open(ctx, c)
	if err != nil {
		c.source = nil // not a typed nil
	}
	return err
}

// event is one about a lock.
func (c *client) event(kind history.Kind, op string, acq int64, lock string, w want) history.Event {
	return history.Event{Kind: kind, Op: op, Client: c.name, Acq: acq, Lock: lock, Mode: w.mode, Value: int64(w.units)}
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

func (c *client) queued(lock string, ahead int) {
	e := c.event(history.Info, history.OpQueued, c.acq, lock, c.asked)
	e.Value = int64(ahead)
	c.record(e)
}

// triedFor is queued for a lock that cannot be tried for: who would have to wait is cancelled. (Those
// of package recipes give up by themselves, and take their place away before they return.)
func (c *client) triedFor(lock string, ahead int) {
	c.queued(lock, ahead)
	if ahead > 0 && c.p.cfg.Try {
		c.busy()
	}
}

// run contends from start on until the window closes or the iterations are done: each
// acquisition begins when the last is over.
func (c *client) run(start int64, l limits) error {
	defer c.lost.Wait()
	if !sleep(l.begin, time.Until(c.p.rec.Clock().Time(start))) {
		return nil
	}
	for i := 0; c.p.cfg.Iterations == 0 || i < c.p.cfg.Iterations; i++ {
		if i > 0 && !sleep(l.begin, c.p.cfg.Think.Draw(c.rand)) {
			return nil
		}
		if l.begin.Err() != nil {
			return nil
		}
		if ready, err := c.ready(l.begin); !ready {
			return err
		}
		if err := c.turn(l); err != nil {
			return err
		}
	}
	return nil
}

// turn goes through one acquisition.
func (c *client) turn(l limits) error {
	err := c.once(l)
	if broken := c.source.Err(); err == nil && errors.Is(broken, foreign.ErrBroken) {
		err = broken
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// ready sees to it that there is a session. It is false, without an error, if ctx ends first.
func (c *client) ready(ctx context.Context) (bool, error) {
	err := c.renewSession(ctx)
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, nil
	}
	return false, fmt.Errorf("%s: %w", c.name, err)
}

// renewSession replaces a session that is over, for as long as ctx allows.
func (c *client) renewSession(ctx context.Context) error {
	if c.source != nil {
		select {
		case <-c.source.Done():
		default:
			return nil
		}
		c.close()
	}
	return c.connect(ctx)
}

// once acquires what is wanted, uses what it protects, and releases it.
func (c *client) once(l limits) error {
	c.asked = c.choose()
	h := c.acquire(l.wait, l, c.asked, func(ctx context.Context) (*grant, error) { return c.source.acquire(ctx, c.asked) })
	if h == nil {
		return nil
	}
	err := c.section(l.use, h)
	if h.want.downgrade && err == nil {
		return c.goOnReading(l, h)
	}
	h.release(l.use)
	return err
}

// goOnReading turns a writer into a reader, in an acquisition of its own: the read hold
// is there before the write hold is released.
func (c *client) goOnReading(l limits, write *held) error {
	c.asked = want{mode: history.ModeRead, paths: write.want.paths}
	// What keeps it waiting is not the lock: so no end of the wait for locks ends it.
	read := c.acquire(l.use, l, c.asked, func(ctx context.Context) (*grant, error) {
		d, ok := c.source.(downgrader)
		if !ok {
			return nil, errNoDowngrade
		}
		return d.downgrade(ctx, write.grant)
	})
	write.release(l.use)
	if read == nil {
		return nil
	}
	err := c.section(l.use, read)
	read.release(l.use)
	return err
}

// releaseCap is how long a client waits for the confirmation of a release; the
// recipe goes on trying in the background.
const releaseCap = 30 * time.Second

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
