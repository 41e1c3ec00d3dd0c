package lock

import (
	"context"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads"
)

var zkLock = Recipe{
	Name: "zk-lock",
	About: "go-zookeeper's own `zk.Lock`, unchanged, to compare with. It has no fencing tokens. Its znodes queue with " +
		"those of `mutex` and `curator-mutex`.",
	Workloads: []string{workloads.Mutex},
	// Its znodes are a mutex's queue, but without tokens nothing shows their order.
	Layout:   nodes.LayoutQueue,
	Promises: Promises{Exclusive: true, Unchecked: "does not say which znode is its hold's"},
	Needs:    Needs{OwnConnection: true, OneLock: true, OwnUnseen: true},
	Open: func(ctx context.Context, c Client) (Source, error) {
		l, err := recipes.ConnectZKLock(ctx, recipes.ZKLockConfig{Config: c.Config, Path: c.Locks[0]})
		if err != nil {
			return nil, err
		}
		return zkLockSource{l}, nil
	},
}

// A zkLockSource is go-zookeeper's own lock on a connection of its own.
type zkLockSource struct{ *recipes.ZKLock }

// Done returns nil, a channel that is never closed: the connection makes another session when one has expired.
func (zkLockSource) Done() <-chan struct{} { return nil }

// Err implements [Source].
func (zkLockSource) Err() error { return nil }

// Acquire implements [Source].
func (z zkLockSource) Acquire(ctx context.Context, w Want) (*Grant, error) {
	h, err := z.ZKLock.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return Single(w.Paths[0], history.ModeExclusive, h), nil
}
