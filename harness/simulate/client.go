package simulate

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest/sim"
	"locklab/workloads"
	"locklab/workloads/claims"
	"locklab/workloads/control"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// A client is one contender on a host of its own, with one session at a time. What it does is what a client of package
// workloads/client does, in the time of its host.
type client struct {
	*simulation
	*sim.Host
	claims.Client
	number  int
	rand    *rand.Rand
	session int64
	holds   bool
	waits   time.Duration   // since when; 0 = it does not
	source  lock.Source     // its session
	begun   []time.Duration // its turns

	// waiting ends when clients are to wait for no lock any more.
	waiting context.Context
	cancel  context.CancelFunc
	out     *sim.Outlet // to the resource
	ask     func()      // what is to be asked there
}

// lockPath is the lock's.
const lockPath = "/locks/l1"

// newClient makes the i-th client, of that name. Each is a host of its own for the kernel; in a scene, those of one
// process stop and go on together.
func (s *simulation) newClient(i int, name string) *client {
	c := &client{simulation: s, number: i, Host: s.w.Host(history.HostOf(name)), rand: s.w.Stream(uint64(i)+1, s.w.Clock)}
	c.Client = claims.Client{Name: name, Record: func(e history.Event) {
		c.rec.at(c.w.Clock(), c.Host.Name, e)
	}}
	c.waiting, c.cancel = context.WithCancel(context.Background())
	c.out = c.Outlet(func() { c.ask() })
	return c
}

// on reports whether the client may begin something.
func (c *client) on() bool {
	if c.scene != nil {
		return c.scene.open()
	}
	return c.w.Clock() < c.stop
}

// draw draws a length of time up to d.
func (c *client) draw(d time.Duration) time.Duration {
	return time.Duration(c.rand.Int64N(int64(d) + 1))
}

// rest makes the client do nothing for a while.
func (c *client) rest(d time.Duration) { c.Sleep(context.Background(), d) }

// run contends in one session after the other.
func (c *client) run(after time.Duration) {
	defer c.running.Add(-1)
	c.rest(after)
	for c.on() {
		source, err := c.recipe.Open(c.waiting, c.described())
		if err != nil {
			if c.waiting.Err() == nil {
				c.rest(100 * time.Millisecond) // the session that it got has ended already
			}
			continue
		}
		c.source = source
		if c.scene != nil {
			c.rest(c.scene.start - c.w.Clock())
		}
		for c.on() && source.Err() == nil {
			switch {
			case c.scene != nil:
				c.turn(source)
				c.rest(c.scene.Think.Draw(c.rand))
			case c.plan.turns == nil:
				c.turn(source)
				c.rest(c.draw(c.think))
			case c.due() > c.w.Clock():
				c.rest(min(c.due()-c.w.Clock(), c.timeout/3)) // its session may end meanwhile
			default:
				c.turn(source)
			}
		}
		// Nothing waits for that: how long it takes to close a session that is over is up to go-zookeeper, and not
		// always the same.
		c.running.Add(1)
		go func() {
			defer c.running.Add(-1)
			_ = source.Close(context.Background()) // what is left ends with the session
		}()
	}
}

// look asks the servers something else while the client waits, again and again for a while, as a program does that
// uses its session for more than a lock.
func (c *client) look(until time.Duration) {
	defer c.running.Add(-1)
	if l, ok := c.source.(lock.Looker); ok && c.waits > 0 {
		_ = l.Look(c.waiting, "/locks") // which lists no contenders
	}
	if c.w.Clock() < until {
		c.running.Add(1)
		c.AfterFunc(c.delay, func() { c.look(until) })
	}
}

// due returns when the client's next turn is due, of those that are planned.
func (c *client) due() time.Duration {
	if all := c.plan.turns[c.number]; len(c.begun) < len(all) {
		return all[len(c.begun)]
	}
	return c.stop
}

// described returns what the recipe needs to know about the client.
func (c *client) described() lock.Client {
	d := lock.Client{Name: c.Client.Name, Locks: []string{lockPath}, Permits: c.permits, Units: c.units,
		Sharing: new(lock.Sharing), Queued: c.Queued}
	if c.scene != nil {
		d.Locks, d.Try = c.scene.locks, c.scene.Try
	}
	d.Config = c.servers.Config(c.Host)
	d.Timeout, d.OnState, d.Logger = c.timeout, c.state, slog.New(slog.DiscardHandler)
	for range c.rand.IntN(len(d.Servers)) {
		d.Servers = append(d.Servers[1:], d.Servers[0])
	}
	return d
}

// state records a change of the session's state.
func (c *client) state(s zksession.StateChange) {
	if s.State == zksession.Connected {
		c.session = s.Session
	}
	server, _, _ := strings.Cut(s.Server, ":")
	c.State(s, server)
}

// turn goes through one acquisition.
func (c *client) turn(source lock.Source) {
	c.begun = append(c.begun, c.w.Clock())
	w := lock.Want{Paths: []string{lockPath}}
	if c.scene != nil {
		w.Paths[0] = c.scene.choose(c)
	}
	switch c.workload {
	case workloads.ReadWrite:
		w.Mode = history.ModeWrite
		switch {
		case c.rand.Float64() < c.reads:
			w.Mode = history.ModeRead
		case c.scene != nil:
			w.Downgrade = c.rand.Float64() < c.scene.DowngradeShare
		default:
			w.Downgrade = c.recipe.Downgrade && c.rand.IntN(3) == 0
		}
	case workloads.Semaphore:
		w.Mode, w.Units = history.ModePermit, c.units
	}
	h := c.acquire(w, c.wait, func(ctx context.Context) (*lock.Grant, error) { return source.Acquire(ctx, w) })
	if h == nil {
		return
	}
	c.holds = true
	on := c.section(h)
	c.holds = false
	if w.Downgrade && on {
		w = lock.Want{Mode: history.ModeRead, Paths: w.Paths}
		read := c.acquire(w, 0, func(ctx context.Context) (*lock.Grant, error) {
			return source.(lock.Downgrader).Downgrade(ctx, h.Grant)
		})
		h.Release(context.Background())
		if read != nil {
			c.section(read)
			read.Release(context.Background())
		}
		return
	}
	h.Release(context.Background())
}

// acquire calls get, and returns nil if it fails.
func (c *client) acquire(w lock.Want, patience time.Duration,
	get func(context.Context) (*lock.Grant, error)) *claims.Hold {
	waiting, cancel := context.WithCancel(c.waiting)
	defer cancel()
	late := false
	if patience > 0 {
		t := c.AfterFunc(patience, func() {
			late = true
			cancel()
		})
		defer t.Stop()
	}
	h := c.Acquire(waiting, w, func(ctx context.Context) (*lock.Grant, error) {
		c.waits = c.w.Clock()
		defer func() { c.waits = 0 }()
		return get(ctx)
	}, func(err error) (history.FailReason, string) {
		switch {
		case errors.Is(err, recipes.ErrNotAcquired):
			return history.FailBusy, history.TextBusy
		case c.waiting.Err() != nil:
			return history.FailCancelled, history.TextCancelled
		case late:
			return history.FailTimedOut, history.TextTimedOut
		}
		return history.FailError, err.Error()
	})
	if h != nil {
		c.acquired.Add(1)
	}
	return h
}

// section is what a client does under a hold: it enters the resource, reads, works, writes back one more, or reads
// again if it does not exclude others, and leaves. It reports whether nothing kept it from that.
func (c *client) section(h *claims.Hold) bool {
	if c.scene != nil {
		return c.scene.section(c, h)
	}
	last := lastAccess(h)
	work := c.draw(c.hold)
	if c.rand.IntN(200) == 0 {
		work = c.draw(c.timeout)
	}
	var read int64
	for _, op := range []history.Op{history.OpEnter, history.OpRead, last, history.OpExit} {
		if op == last && work > 0 {
			c.rest(work)
			work = 0
		}
		value, ok := c.access(h, op, read)
		if !ok {
			return false
		}
		read = value
	}
	return true
}

// lastAccess is what a client does with what it has read under a hold.
func lastAccess(h *claims.Hold) history.Op {
	if history.Exclusive(h.Want.Mode) {
		return history.OpWrite
	}
	return history.OpRead
}

// access asks the resource, and records the answer.
func (c *client) access(h *claims.Hold, op history.Op, read int64) (value int64, ok bool) {
	p, a := h.Parts[0], history.Access{}
	if op == history.OpWrite {
		a.Value = read + 1
	}
	answer, err := h.Access(p, op, a, 0, func() error {
		err := c.guard.Ask(p.Hold)
		switch {
		case err != nil || op != history.OpWrite:
		case c.scene != nil:
			c.scene.reach(c, control.BeforeWrite, h)
		case c.rand.IntN(20) == 0:
			c.rest(c.draw(2 * time.Millisecond)) // between the question and the access
		}
		return err
	}, c.use)
	return answer.Value, err == nil && answer.Accepted
}

// use asks the resource, which is another host.
func (c *client) use(a resource.Access) (answer resource.Answer, err error) {
	answered, most := make(chan struct{}), time.Millisecond
	if c.scene != nil {
		most = 200 * time.Microsecond // so that a hold lasts about as long as was asked
	}
	c.ask = func() {
		c.w.After(c.w.Between(50*time.Microsecond, most), nil, func() {
			err = c.resource.Do(a, &answer)
			c.w.After(c.w.Between(50*time.Microsecond, most), c.Host, func() { close(answered) })
		})
	}
	c.out.Filled()
	<-answered
	return answer, err
}
