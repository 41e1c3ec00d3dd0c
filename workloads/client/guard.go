package client

import (
	"context"

	"locklab/harness/history"
	"locklab/workloads/control"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// allow asks the guard for an access, and returns an error if the guard does not allow it. A write comes to the point
// [control.BeforeWrite] after that.
func (c *client) allow(h *held, p lock.Part, op history.Op) error {
	if err := c.p.guard.Ask(p.Hold); err != nil || op != history.OpWrite {
		return err
	}
	return c.p.at(control.BeforeWrite, h.point(p))
}

// use makes an access that the guard allows.
func (c *client) use(ctx context.Context, p lock.Part, a resource.Access) (resource.Answer, error) {
	if c.p.guard.InZooKeeper {
		return c.keep(ctx, p, a)
	}
	return c.p.resource.Do(ctx, a)
}

// point says whose critical section a trigger is in.
func (h *held) point(p lock.Part) place {
	at := place{claim: h.claim(p)}
	at.claim.Token = p.Use
	if h.want.Mode == history.ModePermit {
		at.slot = history.NewSlot(p.Slot)
	}
	return at
}
