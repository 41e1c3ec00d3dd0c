package client

import (
	"context"

	"locklab/harness/history"
	"locklab/recipes"
)

// zkLockSource is go-zookeeper's own lock on a connection of its own.
type zkLockSource struct{ *recipes.ZKLock }

// openZKLock opens a source of the one lock that there is.
func openZKLock(ctx context.Context, c *client) (source, error) {
	cfg := &c.p.cfg
	l, err := recipes.ConnectZKLock(ctx, recipes.ZKLockConfig{Servers: cfg.serversFor(c.number), Timeout: cfg.SessionTimeout, Dial: c.session.link.dial,
		OnState: c.state, Logger: c.p.log, Path: cfg.Locks[0]})
	if err != nil {
		return nil, err
	}
	return zkLockSource{l}, nil
}

// Done is nil, which is never closed: the connection makes itself another session when one has expired.
func (zkLockSource) Done() <-chan struct{} { return nil }
func (zkLockSource) Err() error            { return nil }

func (z zkLockSource) acquire(ctx context.Context, w want) (*grant, error) {
	h, err := z.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return single(w.paths[0], history.ModeExclusive, h), nil
}
