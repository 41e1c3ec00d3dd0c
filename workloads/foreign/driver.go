package foreign

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"locklab/ensembles/txnlog/nodes"
)

// Config describes the command of a lock.
type Config struct {
	// Argv is the command and its arguments.
	Argv []string
	// Dir is its working directory; empty = ours.
	Dir string
	// Env is added to our environment.
	Env []string
	// Stderr gets what the command writes to its standard error; nil = it is dropped.
	Stderr io.Writer
	// Greeted is told of each greeting: its scope, and what it declares. Nil = it is not told.
	Greeted func(scope, declares string)
	// Answered is told how long the command took to answer each ping, if it declared that it answers them, and how long
	// it had not answered the last one when it ended; nil = it is not pinged. It must not block.
	Answered func(took time.Duration)

	tick time.Duration // unit of the time limits; 0 = a second
	_    struct{}      // no positional literals
}

// A Driver runs a command as often as its greeting asks for: once, or once for each
// session. Its methods may be called from any goroutine.
type Driver struct {
	cfg Config

	mu     sync.Mutex
	known  bool // the first process has greeted
	layout nodes.Layout
	pings  bool
	shared *process // the process of a command that serves all sessions
	closed bool
}

// NewDriver returns a driver that has started nothing yet.
func NewDriver(cfg Config) (*Driver, error) {
	if len(cfg.Argv) == 0 {
		return nil, errors.New("foreign lock: no command given")
	}
	if cfg.tick == 0 {
		cfg.tick = time.Second
	}
	if cfg.Stderr == nil {
		cfg.Stderr = io.Discard
	}
	return &Driver{cfg: cfg}, nil
}

// Open returns once the command has opened a session, or an error that wraps that
// of ctx, or [ErrBroken], or is what the command said.
func (d *Driver) Open(ctx context.Context, cfg SessionConfig) (*Session, error) {
	p, shared, err := d.process(ctx)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, p, shared, cfg)
	if err != nil && !shared {
		p.end()
	}
	return s, err
}

// process returns the process for another session.
func (d *Driver) process(ctx context.Context) (p *process, shared bool, err error) {
	d.mu.Lock()
	if d.shared != nil || !d.known {
		defer d.mu.Unlock() // over the first greeting, for which all others wait
		if d.shared != nil {
			return d.shared, true, nil
		}
		if d.closed {
			return nil, false, errEnded
		}
		if p, err = startProcess(ctx, d.cfg); err != nil {
			return nil, false, err
		}
		d.known, d.layout, d.pings = true, p.layout, p.pings
		shared = p.scope == perProcess
		if shared {
			d.shared = p
		}
		return p, shared, nil
	}
	d.mu.Unlock()
	p, err = startProcess(ctx, d.cfg)
	return p, false, err
}

// Layout returns the layout of znodes that the command's first greeting declared; empty if it declared none, or has not
// greeted yet.
func (d *Driver) Layout() nodes.Layout {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.layout
}

// Pings reports whether the command's first greeting declared that it answers pings.
func (d *Driver) Pings() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pings
}

// Close ends the process that sessions share. Other processes end with the Close of their session.
func (d *Driver) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.shared != nil {
		d.shared.end()
	}
}
