package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/workloads/claims"
	"locklab/workloads/foreign"
	"locklab/workloads/lock"
)

// client is one contender: one goroutine, one session at a time, which it may share.
type client struct {
	claims.Client
	p      *process
	number int // among the clients of all processes
	rand   *rand.Rand

	link    *link // makes the connections of its session
	session *lock.Sharing
	source  lock.Source
	due     int64 // when what comes next was, in open loop; else 0
	full    error // set once the resource has no room for more
}

// incarnationAcquisitions is more than the acquisitions of one client of one process ever come to.
const incarnationAcquisitions = 1_000_000_000

func newClient(p *process, i int) *client {
	number := p.cfg.First + i
	if p.chooser == nil {
		p.chooser = p.cfg.LockChoice.Of(len(p.cfg.Locks))
	}
	for len(p.sessions) <= i/p.cfg.perSession() {
		p.sessions, p.linked = append(p.sessions, &lock.Sharing{}), append(p.linked, &link{connect: p.cfg.dial})
	}
	c := &client{p: p, number: number, session: p.sessions[i/p.cfg.perSession()],
		link: p.linked[i/p.cfg.perSession()],
		rand: rand.New(rand.NewPCG(p.cfg.Seed, uint64(number)|uint64(p.cfg.Incarnation)<<32))}
	c.Client = claims.Client{Name: fmt.Sprintf("%s/%d", p.cfg.Host, i), Record: c.record,
		Acq: int64(p.cfg.Incarnation) * incarnationAcquisitions}
	return c
}

// closeCap bounds how long a client takes to close its session. If its session cannot be reached, it ends by itself.
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
	c.source, err = c.p.open(ctx, c.described())
	if err != nil {
		c.source = nil // not a typed nil
	}
	return err
}

// described returns what the recipe needs to know about the client.
func (c *client) described() lock.Client {
	cfg := &c.p.cfg
	d := lock.Client{
		Config: cfg.session(cfg.homeOf(c.number / cfg.perSession())),
		Name:   c.Name, Locks: c.locks(), Permits: cfg.Permits, Units: cfg.Units, Resizes: cfg.Resize.Every > 0,
		Try: cfg.Try, Queued: c.Queued, Sharing: c.session, Driver: c.p.foreign,
	}
	dial, alive := c.link.live()
	d.Dial, d.Logger = dial, c.p.log
	d.OnState = func(s zksession.StateChange) {
		if alive() {
			c.state(s)
		}
	}
	if c.p.guard.LeaseClock {
		d.LeaseClock = &recipes.LeaseClockConfig{Tick: cfg.Tick}
	}
	return d
}

// state records a change of the session's state.
func (c *client) state(s zksession.StateChange) {
	server := ""
	if s.Server != "" {
		server = c.p.cfg.serverName(s.Server)
	}
	c.State(s, server)
}

// record writes an event. A history that cannot be written makes the run
// worthless, so the process ends at once rather than act without a record.
func (c *client) record(e history.Event) {
	if err := c.p.rec.Record(e); err != nil {
		panic(err)
	}
}

// run contends from start on until the window closes or the iterations are done: each
// acquisition begins when the last is over.
func (c *client) run(start int64, l limits) error {
	defer c.Await()
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
	if err == nil && c.source != nil && errors.Is(c.source.Err(), foreign.ErrBroken) {
		err = c.source.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// ready makes sure that there is a session, and that the process's record is being carried away as fast as it grows. It
// returns false, without an error, if ctx ends first.
func (c *client) ready(ctx context.Context) (bool, error) {
	err := c.p.rec.AwaitCollector(ctx)
	if err == nil {
		err = c.renewSession(ctx)
	}
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, nil
	}
	return false, fmt.Errorf("%s: %w", c.Name, err)
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

// once acquires the locks that are wanted, uses what they protect, and releases them.
func (c *client) once(l limits) error {
	want := c.choose()
	h := c.acquire(l.wait, l, want,
		func(ctx context.Context) (*lock.Grant, error) { return c.source.Acquire(ctx, want) })
	if h == nil {
		return nil
	}
	err := c.section(l, h)
	if h.Want.Downgrade && err == nil {
		return c.goOnReading(l, h)
	}
	c.end(l, h)
	return err
}

// end releases what the client holds, or lets the client die with it.
func (c *client) end(l limits, h *claims.Hold) {
	if share := c.p.cfg.DieShare; share == 0 || c.rand.Float64() >= share {
		release(l.use, h)
		return
	}
	c.die()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nothing can reach the servers
	h.Release(ctx)
	_ = c.source.Close(ctx)
	c.source = nil
}

// die cuts the client's session off from the servers for good. It records that, because nothing of a dead session is
// recorded any more, and the judge must know that what follows is no error of the lock.
func (c *client) die() {
	session, server := c.link.now()
	c.link.die()
	c.state(zksession.StateChange{State: zksession.Disconnected, Session: int64(session), Server: server, Err: errDied})
}

// goOnReading turns a writer into a reader, in an acquisition of its own: the read hold
// is there before the write hold is released.
func (c *client) goOnReading(l limits, write *claims.Hold) error {
	// It does not wait for the lock here, so the end of the wait for locks does not end it.
	read := c.acquire(l.use, l, lock.Want{Mode: history.ModeRead, Paths: write.Want.Paths},
		func(ctx context.Context) (*lock.Grant, error) {
			d, ok := c.source.(lock.Downgrader)
			if !ok {
				return nil, lock.ErrNoDowngrade
			}
			return d.Downgrade(ctx, write.Grant)
		})
	release(l.use, write)
	if read == nil {
		return nil
	}
	err := c.section(l, read)
	c.end(l, read)
	return err
}

// acquire calls get for the locks that are wanted, and returns nil if it fails.
func (c *client) acquire(ctx context.Context, l limits, w lock.Want,
	get func(context.Context) (*lock.Grant, error)) *claims.Hold {
	if c.due != 0 {
		c.record(history.Arrived(c.Name, c.Acq+1, c.due))
		c.due = 0
	}
	if c.p.cfg.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.p.cfg.Wait)
		defer cancel()
	}
	return c.Acquire(ctx, w, get, func(err error) (history.FailReason, string) {
		switch {
		case errors.Is(err, recipes.ErrNotAcquired):
			return history.FailBusy, history.TextBusy
		case l.wait.Err() != nil && errors.Is(err, l.wait.Err()):
			return history.FailCancelled, history.TextCancelled
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return history.FailTimedOut, history.TextTimedOut
		case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
			return history.FailDeadline, err.Error()
		case errors.Is(err, context.Canceled):
			return history.FailAborted, err.Error()
		}
		return history.FailError, err.Error()
	})
}

// releaseCap is how long a client waits for the confirmation of a release; the
// recipe goes on trying in the background.
const releaseCap = 30 * time.Second

func release(ctx context.Context, h *claims.Hold) {
	ctx, cancel := context.WithTimeout(ctx, releaseCap)
	defer cancel()
	h.Release(ctx)
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
