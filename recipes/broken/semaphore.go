package broken

import (
	"context"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
)

// A semaphore works as Curator's does: under a lock of its own it creates the leases one after another, and waits
// with each until there are no more leases than permits.
type semaphore struct {
	c              client
	queue          *queue
	dir            string
	permits, units int

	// perUnit releases the lock after each unit.
	perUnit bool
	// complete returns an error unless the collected leases may be returned.
	complete func(all []lease) error
	// abandon removes a lease that was not granted.
	abandon func(ctx context.Context, l lease)
}

// A lease is one permit in use: a znode, and the session that created it.
type lease struct {
	s    session
	node string
}

func newSemaphore(cfg Config) *semaphore {
	m := &semaphore{
		c:       client{cfg.Client},
		queue:   newQueue(cfg, path.Join(cfg.Path, "locks"), locking),
		dir:     path.Join(cfg.Path, "leases"),
		permits: cfg.Permits,
		units:   cfg.Units,
	}
	m.complete = func(all []lease) error {
		for _, l := range all {
			if err := l.s.Err(); err != nil {
				return err
			}
		}
		return nil
	}
	m.abandon = func(_ context.Context, l lease) { _ = m.c.remove(l.node) }
	return m
}

// Acquire implements [recipes.Lock].
func (m *semaphore) Acquire(ctx context.Context) (h *recipes.Hold, err error) {
	var all []lease
	var place *attempt
	leave := func() {
		if place != nil {
			_ = place.remove()
		}
		place = nil
	}
	defer leave()
	for len(all) < m.units && err == nil {
		if place == nil {
			place, err = m.queue.enter(ctx)
		}
		var l lease
		if err == nil {
			l, err = m.unit(ctx)
		}
		if err == nil {
			all = append(all, l)
		}
		if m.perUnit {
			leave()
		}
	}
	if err == nil {
		err = m.complete(all)
	}
	if err != nil {
		for _, l := range all {
			_ = m.c.remove(l.node)
		}
		return nil, fmt.Errorf("acquire %s: %w", m.dir, err)
	}
	return hold(all[len(all)-1].s, 0, func() error {
		for _, l := range all {
			if err := m.c.remove(l.node); err != nil {
				return err
			}
		}
		return nil
	}), nil
}

// unit acquires one lease. If that lease is gone with its session, unit acquires another, as Curator's semaphore
// does.
func (m *semaphore) unit(ctx context.Context) (lease, error) {
	for {
		l, err := m.create(ctx)
		if err != nil {
			return lease{}, err
		}
		gone, err := m.await(ctx, l)
		if err != nil {
			m.abandon(ctx, l)
			return lease{}, err
		}
		if !gone {
			return l, nil
		}
		// The lease may exist after all: a repeated create may have created it in a later session.
		if err := m.c.remove(l.node); err != nil {
			return lease{}, err
		}
	}
}

func (m *semaphore) create(ctx context.Context) (lease, error) {
	s, err := m.c.Session(ctx)
	if err != nil {
		return lease{}, err
	}
	l := lease{s: s, node: path.Join(m.dir, fmt.Sprintf("_c_%s-%s%010d", m.c.GUID(), leasing, 0))}
	for {
		err := m.c.repeat(func() error {
			_, err := m.c.Conn.Create(l.node, nil, zk.FlagEphemeral, everybody)
			return err
		})
		switch err {
		case nil, zk.ErrNodeExists: // the latter by a request whose reply was lost
			return l, nil
		case zk.ErrNoNode:
			if err := m.c.mkdir(m.dir); err != nil {
				return lease{}, err
			}
		default:
			return lease{}, err
		}
	}
}

// await waits until there are no more leases than permits, or the given one is gone.
func (m *semaphore) await(ctx context.Context, l lease) (gone bool, err error) {
	for {
		var children []string
		var events <-chan zk.Event
		err := m.c.repeat(func() (err error) {
			children, _, events, err = m.c.Conn.ChildrenW(m.dir)
			return err
		})
		if err != nil {
			return false, err
		}
		there := false
		for _, name := range children {
			there = there || path.Join(m.dir, name) == l.node
		}
		if !there || l.s.Err() != nil {
			return true, nil
		}
		if len(contenders(children)) <= m.permits {
			return false, nil
		}
		select {
		case <-events: // or the session has ended, which the next read shows
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// deadLease returns what it has collected without checking it again: a lease may have ended with its session while
// the client waited for the others.
func deadLease(cfg Config) Ways {
	m := newSemaphore(cfg)
	m.complete = func([]lease) error { return nil }
	return Ways{Permits: m}
}

// leakedLease forgets the lease with which it waited.
func leakedLease(cfg Config) Ways {
	m := newSemaphore(cfg)
	m.abandon = func(context.Context, lease) {}
	return Ways{Permits: m}
}

// partialPermits acquires one permit after another, and keeps those that it has while it waits.
func partialPermits(cfg Config) Ways {
	m := newSemaphore(cfg)
	m.perUnit = true
	return Ways{Permits: m}
}
