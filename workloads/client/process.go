package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness/history"
	"locklab/workloads/foreign"
	"locklab/workloads/resource"
)

// drainCap is how long after the window's end a waiter may go on waiting, even
// if it is to finish: a lock that is never granted again must not hang a run.
const drainCap = 30 * time.Second

// window is when clients work, in ns of CLOCK_MONOTONIC.
type window struct{ start, end int64 }

// process is one client process.
type process struct {
	cfg      Config
	rec      *history.Recorder
	log      *slog.Logger
	recipe   Recipe
	foreign  *foreign.Driver // of the lock's command; nil if the recipe is ours
	resource *resource.Client
	triggers triggers
	window   chan window // the one window, once
	stopped  chan struct{}
	stop     func() // closes stopped, once
}

// Run is a client process's whole life. Commands come from in; the history is
// written to dir.
func Run(ctx context.Context, cfg Config, dir string, in io.Reader, log *slog.Logger) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	rec, err := history.NewRecorder(dir, cfg.Host, history.NewClock())
	if err != nil {
		return err
	}
	defer rec.Close()
	p := &process{cfg: cfg, rec: rec, log: log, window: make(chan window, 1), stopped: make(chan struct{})}
	p.recipe, _ = FindRecipe(cfg.Recipe)
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
	return err
}

// badCommand ends a process that was told what it does not understand.
type badCommand struct{ error }

func (p *process) live(ctx context.Context) (err error) {
	if p.cfg.Observe {
		return p.observe(ctx)
	}
	if p.resource, err = resource.Dial(ctx, p.cfg.Resource); err != nil {
		return err
	}
	defer p.resource.Close()
	if p.recipe.Foreign {
		if p.foreign, err = foreign.NewDriver(foreign.Config{Argv: p.cfg.Command, Stderr: os.Stderr}); err != nil {
			return err
		}
	}
	return p.work(ctx)
}

// work connects all clients, lets them contend, and ends them. Then it waits to
// be told to go, so that a process that ended by itself is one that broke.
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
	if err = errors.Join(err, p.rec.Record(history.Event{Op: history.OpDone})); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func (p *process) contend(ctx context.Context, clients []*client) error {
	// Connecting costs the servers a write each; a bounded number at a time
	// keeps many of them from timing each other out.
	var g errgroup.Group
	g.SetLimit(32)
	for i := range clients {
		clients[i] = newClient(p, i)
		g.Go(func() error { return clients[i].connect(ctx) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if err := p.rec.Record(history.Event{Op: history.OpReady, Value: int64(len(clients))}); err != nil {
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
	var running sync.WaitGroup
	errs := make([]error, len(clients))
	for i, c := range clients {
		running.Go(func() { errs[i] = c.run(w.start, limits) })
	}
	running.Wait()
	return errors.Join(errs...)
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
	end := p.rec.Clock().Time(w.end)
	use, cancelUse := context.WithCancel(ctx)
	waitEnd := end
	if p.cfg.Drain == DrainFinish {
		waitEnd = end.Add(drainCap)
	}
	wait, cancelWait := context.WithDeadline(use, waitEnd)
	begin, cancelBegin := context.WithDeadline(wait, end)
	unhook := make(chan struct{})
	go func() {
		select {
		case <-p.stopped:
			cancelWait()
		case <-unhook:
		}
	}()
	return limits{begin: begin, wait: wait, use: use, release: func() {
		close(unhook)
		cancelBegin()
		cancelWait()
		cancelUse()
	}}
}
