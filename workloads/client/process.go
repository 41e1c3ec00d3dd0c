package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/workloads"
	"locklab/workloads/control"
	"locklab/workloads/foreign"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// collectAt is the garbage collector's target, in percent of the memory in use. A thousand waiting clients mostly
// hold buffers and drop lists of a queue, so collecting more often than by default (100) costs little and saves
// nearly a third of the memory.
const collectAt = 40

// collectAfter is how many bytes are allocated, about, before garbage is collected. The sessions of go-zookeeper have
// large buffers that are hardly ever written. In percent of those, garbage would grow by a hundred megabytes, and each
// of its pages is a page fault.
const collectAfter = 16 << 20

// collectSoon sets the garbage collector's target once all sessions are there.
func collectSoon() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(min(collectAt, max(1, int(collectAfter*100/m.HeapAlloc))))
}

// window is when clients work, in ns of CLOCK_MONOTONIC.
type window struct{ start, end int64 }

// protected is what the locks protect: a [resource.Client].
type protected interface {
	Do(ctx context.Context, a resource.Access) (resource.Answer, error)
}

// process is one client process.
type process struct {
	cfg      config
	rec      *history.Recorder
	log      *slog.Logger
	open     lock.Opener
	guard    guard.Guard
	foreign  *foreign.Driver // of the lock's command; nil if the recipe is ours
	greeted  sync.Map        // its greetings that are recorded
	resource protected
	chooser  *workloads.Chooser // of the locks
	sessions []*lock.Sharing    // of the clients, in groups
	linked   []*link            // of the sessions
	start    int64              // of the work, once it has begun
	triggers triggers
	links    atomic.Pointer[[]*link]   // of the sessions, once all are connected
	nap      func(time.Duration) error // waits more exactly than timers; nil = timers will do
	window   chan window               // the one window, once
	until    chan int64                // its earlier end, once, in ns of CLOCK_MONOTONIC
	stopped  chan struct{}
	stop     func() // closes stopped, once
	final    chan struct{}
	askFinal func() // closes final, once
}

// Run is a client process's whole life. Commands come from in; the history is
// written to dir.
func Run(ctx context.Context, asked control.ClientConfig, dir string, in io.Reader, log *slog.Logger) error {
	cfg := config{asked}
	if err := cfg.validate(); err != nil {
		return err
	}
	debug.SetGCPercent(collectAt)
	if err := os.Unsetenv(control.ProcessorsEnv); err != nil { // it is for this process, not for a lock's command
		return err
	}
	rec, err := history.NewRecorder(dir, cfg.Host, history.NewClock())
	if err != nil {
		return err
	}
	defer rec.Close()
	exact, err := newAlarm()
	if err != nil {
		return err
	}
	defer exact.Close()
	p := &process{
		cfg:     cfg,
		rec:     rec,
		log:     log,
		nap:     exact.nap,
		window:  make(chan window, 1),
		until:   make(chan int64, 1),
		stopped: make(chan struct{}),
		final:   make(chan struct{}),
	}
	p.askFinal = sync.OnceFunc(func() { close(p.final) })
	p.open = cfg.opener()
	p.guard, _ = guard.Find(cfg.Guard)
	p.stop = sync.OnceFunc(func() { close(p.stopped) })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The reader of commands ends with the process: a read cannot be cancelled.
	go func() {
		if err := p.commands(in); err != nil {
			cancel(badCommand{err})
		}
	}()
	err = p.live(ctx)
	if bad, ok := errors.AsType[badCommand](context.Cause(ctx)); ok {
		return bad // not to be taken for an end that was asked for
	}
	if err != nil {
		return err
	}
	return rec.End()
}

// badCommand ends a process that got a command which it does not understand.
type badCommand struct{ error }

func (p *process) live(ctx context.Context) (err error) {
	if p.cfg.Observe {
		return p.observe(ctx)
	}
	r, err := resource.Dial(ctx, p.cfg.Resource)
	if err != nil {
		return err
	}
	defer r.Close()
	p.resource = r
	if len(p.cfg.Command) > 0 {
		c := foreign.Config{Argv: p.cfg.Command, Stderr: os.Stderr, Greeted: p.driverGreeted, Answered: p.driverAnswered}
		if p.cfg.Credential != "" {
			c.Env = []string{agent.EnvCredential + "=" + string(p.cfg.Credential)}
		}
		if p.foreign, err = foreign.NewDriver(c); err != nil {
			return err
		}
	}
	return p.work(ctx)
}

// work connects all clients, lets them contend, and ends them. Then it waits to be stopped, so that a process that ends
// by itself is one that broke.
func (p *process) work(ctx context.Context) error {
	clients := make([]*client, p.cfg.Clients)
	err := p.contend(ctx, clients)
	var wg sync.WaitGroup
	for _, c := range clients {
		if c != nil {
			wg.Go(c.close)
		}
	}
	wg.Wait()
	if p.foreign != nil {
		p.foreign.Close()
	}
	if err = errors.Join(err, p.rec.Record(history.Done())); err != nil {
		return err
	}
	select {
	case <-p.final:
		if err := p.recordFinal(ctx); err != nil {
			return fmt.Errorf("read the final values: %w", err)
		}
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil
}

// recordFinal records what the locks' data have come to, in ZooKeeper or as lists of the resource.
func (p *process) recordFinal(ctx context.Context) error {
	if p.guard.InZooKeeper {
		return p.finalCounts(ctx)
	}
	lists, ok := p.resource.(interface {
		List(ctx context.Context, lock string) ([]int64, error)
	})
	if !ok {
		return errors.New("the resource has no lists")
	}
	for _, lock := range p.cfg.Locks {
		elements, err := lists.List(ctx, lock)
		if err != nil {
			return err
		}
		for _, e := range elements {
			if err := p.rec.Record(history.ElementOf(lock, e)); err != nil {
				return err
			}
		}
		if err := p.rec.Record(history.Final{Lock: lock, Value: int64(len(elements))}.Event()); err != nil {
			return err
		}
	}
	return nil
}

// connect makes all clients and connects them. Connecting costs the servers a write each; a bounded number at a time
// keeps many of them from timing each other out.
func (p *process) connect(ctx context.Context, clients []*client) error {
	var g errgroup.Group
	g.SetLimit(32)
	for i := range clients {
		clients[i] = newClient(p, i)
		g.Go(func() error { return clients[i].connect(ctx) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return nil
}

func (p *process) contend(ctx context.Context, clients []*client) error {
	if err := p.connect(ctx, clients); err != nil {
		return err
	}
	collectSoon()
	if err := p.recordLayout(); err != nil {
		return err
	}
	links := slices.Clone(p.linked)
	p.links.Store(&links)
	if p.guard.InZooKeeper && p.cfg.First == 0 { // one does it for all
		if err := p.layOut(ctx, clients[0].source); err != nil {
			return fmt.Errorf("make the counters: %w", err)
		}
	}
	if err := p.rec.Record(history.Ready(len(clients))); err != nil {
		return err
	}
	var w window
	select {
	case w = <-p.window:
	case <-p.stopped:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	limits := p.limits(ctx, w)
	defer limits.release()
	meter := p.meter(ctx, w)
	var running sync.WaitGroup
	errs := make([]error, len(clients))
	p.start = w.start
	if p.cfg.resizes() {
		running.Go(func() { p.resize(limits.begin, w.start) })
	}
	var q *queue
	if p.cfg.open() {
		q = newQueue(p.cfg.MaxInFlight, p.cfg.Queue)
		running.Go(func() { p.dispatch(limits.begin, w, q) })
	}
	for i, c := range clients {
		running.Go(func() {
			if q == nil {
				errs[i] = c.run(w.start, limits)
			} else {
				errs[i] = c.serve(limits, q)
			}
		})
	}
	running.Wait()
	return errors.Join(append(errs, meter())...)
}

// limits are the contexts within which clients work.
type limits struct {
	// begin ends when no client is to begin another acquisition.
	begin context.Context
	// wait ends when no client is to go on waiting for a lock.
	wait context.Context
	// use ends when critical sections are to be given up.
	use     context.Context
	release func()
}

func (p *process) limits(ctx context.Context, w window) limits {
	clock := p.rec.Clock()
	end := clock.Time(w.end)
	use, cancelUse := context.WithCancel(ctx)
	var patience time.Duration
	if p.cfg.Drain == workloads.DrainFinish {
		patience = workloads.DrainCap
	}
	wait, cancelWait := context.WithDeadline(use, end.Add(patience))
	begin, cancelBegin := context.WithDeadline(wait, end)
	unhook := make(chan struct{})
	go func() {
		var closing, giving <-chan time.Time
		for {
			select {
			case at := <-p.until:
				left := time.Until(clock.Time(at))
				closing, giving = time.After(left), time.After(left+patience)
			case <-closing:
				cancelBegin()
			case <-giving:
				cancelWait()
			case <-p.stopped:
				cancelWait()
				return
			case <-unhook:
				return
			}
		}
	}()
	return limits{begin: begin, wait: wait, use: use, release: func() {
		close(unhook)
		cancelBegin()
		cancelWait()
		cancelUse()
	}}
}

// commands carries out the lines of r until it ends.
func (p *process) commands(r io.Reader) error {
	in := bufio.NewScanner(r)
	for in.Scan() {
		words := strings.Fields(in.Text())
		if len(words) == 0 {
			continue
		}
		switch {
		case words[0] == control.CommandGo && len(words) == 3:
			var w window
			if _, err := fmt.Sscan(words[1]+" "+words[2], &w.start, &w.end); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
			select {
			case p.window <- w:
			default:
				return fmt.Errorf("command %q: the work has been started before", in.Text())
			}
		case words[0] == control.CommandUntil && len(words) == 2:
			var end int64
			if _, err := fmt.Sscan(words[1], &end); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
			select {
			case p.until <- end:
			default:
				return fmt.Errorf("command %q: the window's end has been told before", in.Text())
			}
		case words[0] == control.CommandStop:
			p.stop()
		case words[0] == control.CommandFinal:
			p.askFinal()
		case words[0] == control.CommandArm && (len(words) == 3 || len(words) == 4):
			if err := p.triggers.arm(words[1], words[2], append(words, control.StrikeStop)[3]); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
		case words[0] == control.CommandStrike && len(words) == 4:
			if err := p.strikeNow(words[2], words[1], words[3]); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
		case words[0] == control.CommandSettle && len(words) == 2:
			p.triggers.disarm(words[1])
			if err := p.settle(words[1]); err != nil {
				return fmt.Errorf("command %q: %w", in.Text(), err)
			}
		case words[0] == control.CommandDisarm && len(words) == 2:
			p.triggers.disarm(words[1])
		default:
			return fmt.Errorf("unknown command %q", in.Text())
		}
	}
	return in.Err()
}
