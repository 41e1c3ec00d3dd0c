package client

import (
	"slices"

	"locklab/harness/history"
	"locklab/workloads"
	"locklab/workloads/lock"
)

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
