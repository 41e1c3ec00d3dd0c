package client

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"locklab/harness/history"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// open reports whether arrivals are due whether or not a client is free.
func (c *config) open() bool { return c.Arrivals != "" && c.Arrivals != workloads.Closed }

// A queue hands arrivals to the clients that are free, in order. Those that find none wait, as far as it has places for
// them.
type queue struct {
	due   chan int64    // when each was due
	slots chan struct{} // one is taken for each acquisition that waits or is in flight
	busy  chan struct{} // one is taken for each acquisition in flight
}

// newQueue returns a queue in which so many arrivals can wait while so many acquisitions are in flight.
func newQueue(inFlight, waiting int) *queue {
	all := inFlight + waiting
	return &queue{due: make(chan int64, all), slots: make(chan struct{}, all), busy: make(chan struct{}, inFlight)}
}

// offer gives an arrival to a free client or a place in the queue, or reports that there is neither.
func (q *queue) offer(due int64) bool {
	select {
	case q.slots <- struct{}{}:
		q.due <- due // there is room: as much as slots
		return true
	default:
		return false
	}
}

// dispatch offers each arrival of the window when it is due, and records those for which there was no place. If
// dispatch itself is late, because the process was stopped, it still offers each arrival, which counts from when it
// was due.
func (p *process) dispatch(ctx context.Context, w window, q *queue) {
	defer close(q.due)
	cfg, clock := &p.cfg, p.rec.Clock()
	arrivals := workloads.NewArrivals(cfg.Arrivals, cfg.Rates, cfg.Seed, cfg.First, cfg.Clients, cfg.AllClients)
	for {
		at, ok := arrivals.Next()
		due := w.start + int64(at)
		if !ok || due >= w.end {
			return
		}
		if due < cfg.From {
			continue // an arrival of the process before this one
		}
		if err := p.rec.AwaitCollector(ctx); err != nil && ctx.Err() == nil {
			panic(err) // as with a client's
		}
		begin := p.sleepUntil(ctx, clock.Time(due))
		if !begin && clock.Now() < due {
			return // told to stop, before it was due
		}
		if !begin || !q.offer(due) {
			p.drop(due)
		}
	}
}

// coarse is longer than a timer is ever late on an idle machine, where timers count in milliseconds.
const coarse = 2 * time.Millisecond

// sleepUntil waits for a time, as exactly as the process can, and reports whether ctx still goes on.
func (p *process) sleepUntil(ctx context.Context, at time.Time) bool {
	if p.nap == nil {
		return sleep(ctx, time.Until(at))
	}
	if !sleep(ctx, time.Until(at)-coarse) {
		return false
	}
	if err := p.nap(time.Until(at)); err != nil {
		panic(err) // as with a record that cannot be written
	}
	return ctx.Err() == nil
}

// An alarm is a timer of the kernel, which is good to some 50 µs. Unlike a sleep in the kernel, a wait for it keeps no
// processor from other goroutines. It serves one goroutine.
type alarm struct {
	fd   int
	file *os.File // of fd, which the runtime waits for as for a connection
}

// newAlarm returns an alarm, which has to be closed.
func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	return &alarm{fd, os.NewFile(uintptr(fd), "timer")}, nil
}

// nap waits for d, which may be 0 or less.
func (a *alarm) nap(d time.Duration) error {
	if d <= 0 {
		return nil // it would disarm the timer
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(a.fd, 0, &at, nil); err != nil {
		return fmt.Errorf("set a timer: %w", err)
	}
	var times [8]byte
	_, err := a.file.Read(times[:])
	return err
}

// Close releases the timer.
func (a *alarm) Close() error { return a.file.Close() }

// drop records an arrival for which no client and no place in the queue was free.
func (p *process) drop(due int64) {
	if err := p.rec.Record(history.Dropped(due)); err != nil {
		panic(err) // as with a client's
	}
}

// serve takes arrivals until no more come.
func (c *client) serve(l limits, q *queue) error {
	defer c.Await()
	for due := range q.due {
		q.busy <- struct{}{}
		err := c.arrival(l, due)
		// A client without a session is not free.
		if err == nil {
			_, err = c.ready(l.begin)
		}
		<-q.busy
		<-q.slots
		if err != nil {
			return err
		}
	}
	return nil
}

// arrival carries out one arrival.
func (c *client) arrival(l limits, due int64) error {
	ready, err := c.ready(l.begin)
	if !ready {
		c.p.drop(due) // the window closed first
		return err
	}
	c.due = due
	return c.turn(l)
}

// choose draws what the client wants next.
func (c *client) choose() lock.Want {
	cfg := &c.p.cfg
	if cfg.Workload == workloads.MultiLock {
		return lock.Want{Paths: c.several(cfg.LocksAtOnce)}
	}
	w := lock.Want{Paths: []string{cfg.Locks[c.lockNumber()]}}
	switch cfg.Workload {
	case workloads.ReadWrite:
		w.Mode = history.ModeRead
		if c.rand.Float64() >= cfg.ReadShare {
			w.Mode, w.Downgrade = history.ModeWrite, c.rand.Float64() < cfg.DowngradeShare
		}
	case workloads.Semaphore:
		w.Mode, w.Units = history.ModePermit, cfg.Units
	}
	return w
}

// lockNumber draws one of the locks, or returns the client's own one.
func (c *client) lockNumber() int {
	if c.p.cfg.LockChoice.Dealt {
		return c.number % len(c.p.cfg.Locks)
	}
	return c.p.chooser.One(c.rand)
}

// locks returns the paths of the locks that the client may ask for.
func (c *client) locks() []string {
	cfg := &c.p.cfg
	if cfg.Workload != workloads.MultiLock && cfg.LockChoice.Dealt {
		n := c.lockNumber()
		return cfg.Locks[n : n+1 : n+1]
	}
	return cfg.Locks
}

// several draws k of the locks, in their order or in any.
func (c *client) several(k int) []string {
	order := c.p.chooser.Several(k, c.rand)
	if c.p.cfg.Ordered {
		slices.Sort(order)
	}
	paths := make([]string, k)
	for i, n := range order {
		paths[i] = c.p.cfg.Locks[n]
	}
	return paths
}
