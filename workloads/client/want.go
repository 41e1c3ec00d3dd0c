package client

import (
	"context"
	"slices"

	"locklab/harness/history"
	"locklab/recipes"
)

// The workloads.
const (
	WorkloadMutex     = "mutex"
	WorkloadReadWrite = "read-write"
	WorkloadSemaphore = "semaphore"
	WorkloadMultiLock = "multi-lock"
)

// A want is what a client acquires at once.
type want struct {
	mode      string   // of history's
	paths     []string // of the locks, in the order in which to take them
	units     int      // permits, in history.ModePermit
	downgrade bool     // go on as a reader after having written
}

// choose draws what the client wants next.
func (c *client) choose() want {
	cfg := &c.p.cfg
	if cfg.Workload == WorkloadMultiLock {
		return want{paths: c.several(cfg.LocksPerAcquire)}
	}
	w := want{paths: []string{cfg.Locks[c.p.chooser.One(c.rand)]}}
	switch cfg.Workload {
	case WorkloadReadWrite:
		w.mode = history.ModeRead
		if c.rand.Float64() >= cfg.ReadShare && !c.p.bursting() {
			w.mode, w.downgrade = history.ModeWrite, c.rand.Float64() < cfg.DowngradeShare
		}
	case WorkloadSemaphore:
		w.mode, w.units = history.ModePermit, cfg.Units
	}
	return w
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

// A grant is what a source has granted: a part for each lock.
type grant struct {
	parts []part
	// release gives all parts back; as [recipes.Hold.Release], their errors joined.
	release func(ctx context.Context) error
}

// A part is one lock of a grant.
type part struct {
	lock  string
	token int64
	// use is what to show to the resource as token, 0 if token would tell it nothing; slot is
	// which permit's it is.
	use, slot int64
	hold      *recipes.Hold // its own, or that of all parts
}
