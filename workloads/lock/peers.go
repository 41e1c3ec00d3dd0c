package lock

import (
	"context"
	"strings"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/curator"
	"locklab/workloads"
)

// versionMark stands between the name of one of Curator's locks and the version of Curator.
const versionMark = "@"

// Versions returns the names by which a lock of Curator's is asked for in each version that can be had; none of another
// recipe.
func (r Recipe) Versions() (names []string) {
	if !strings.HasPrefix(r.Name, "curator-") {
		return nil
	}
	for _, version := range curator.Versions {
		names = append(names, r.Unversioned()+versionMark+version)
	}
	return names
}

// Unversioned returns the recipe's name without the version of Curator.
func (r Recipe) Unversioned() string { return strings.TrimSuffix(r.Name, versionMark+r.Version) }

// byCommand is why a transaction cannot check the holds of a command.
const byCommand = "is a command with a session of its own, in which nothing can be written for it"

var curatorMutex = Recipe{
	Name:      "curator-mutex",
	About:     "[Apache Curator](#apache-curator)'s `InterProcessMutex`.",
	Workloads: []string{workloads.Mutex, workloads.MultiLock},
	Layout:    nodes.LayoutQueue,
	Promises:  Promises{Exclusive: true, Tokens: true, Queue: true, Unchecked: byCommand},
	Needs:     Needs{Foreign: true},
}

var curatorReadWrite = Recipe{
	Name:      "curator-rw",
	About:     "Curator's `InterProcessReadWriteLock`.",
	Workloads: []string{workloads.ReadWrite, workloads.Mutex},
	Layout:    nodes.LayoutReadWrite,
	Promises:  Promises{Exclusive: true, Tokens: true, Queue: true, Downgrade: true, Unchecked: byCommand},
	// Before 5.5, its reader's znode stands behind the writers that wait (CURATOR-621).
	Needs: Needs{Foreign: true, LeakyDowngrade: true},
}

var curatorSemaphore = Recipe{
	Name:      "curator-semaphore",
	About:     "Curator's `InterProcessSemaphoreV2`.",
	Workloads: []string{workloads.Semaphore},
	Layout:    nodes.LayoutSemaphore,
	Seen:      SeenNot,
	Promises:  Promises{Exclusive: true, Unchecked: byCommand},
	Needs:     Needs{Foreign: true, OneByOne: true},
}

var curatorSemaphoreMutex = Recipe{
	Name:      "curator-semaphore-mutex",
	About:     "Curator's `InterProcessSemaphoreMutex`.",
	Workloads: []string{workloads.Mutex},
	Layout:    nodes.LayoutSemaphore,
	Seen:      SeenLeases,
	Promises:  Promises{Exclusive: true, Tokens: true, Unchecked: byCommand},
	Needs:     Needs{Foreign: true},
}

var curatorMulti = Recipe{
	Name:      "curator-multi",
	About:     "Curator's `InterProcessMultiLock`.",
	Workloads: []string{workloads.MultiLock},
	Layout:    nodes.LayoutQueue,
	Promises:  Promises{Exclusive: true, Tokens: true, Queue: true, Several: true, Unchecked: byCommand},
	Needs:     Needs{Foreign: true},
}

var zkLock = Recipe{
	Name: "zk-lock",
	About: "go-zookeeper's own `zk.Lock`, unchanged, to compare with. It has no fencing tokens. Its znodes queue with " +
		"those of `mutex` and `curator-mutex`.",
	Workloads: []string{workloads.Mutex},
	// Its znodes are a mutex's queue, but without tokens nothing shows their order.
	Layout:   nodes.LayoutQueue,
	Promises: Promises{Exclusive: true, Unchecked: "does not say which znode is its hold's"},
	Needs:    Needs{OwnConnection: true, OwnUnseen: true},
	Open: func(ctx context.Context, c Client) (Source, error) {
		l, err := recipes.ConnectZKLock(ctx, recipes.ZKLockConfig{Config: c.Config, Path: c.Locks[0]})
		if err != nil {
			return nil, err
		}
		return zkLockSource{l}, nil
	},
}

// A zkLockSource is go-zookeeper's own locks on a connection of their own.
type zkLockSource struct{ *recipes.ZKLock }

// Done returns nil, a channel that is never closed: the connection makes another session when one has expired.
func (zkLockSource) Done() <-chan struct{} { return nil }

// Err implements [Source].
func (zkLockSource) Err() error { return nil }

// Acquire implements [Source].
func (z zkLockSource) Acquire(ctx context.Context, w Want) (*Grant, error) {
	l, err := z.At(w.Paths[0])
	if err != nil {
		return nil, err
	}
	h, err := l.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	return Single(w.Paths[0], history.ModeExclusive, h), nil
}
