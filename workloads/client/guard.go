package client

import (
	"context"

	"locklab/harness/history"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// use makes an access if the guard allows it.
func (c *client) use(ctx context.Context, h *held, p lock.Part, a resource.Access) (resource.Answer, error) {
	if err := c.p.guard.Ask(p.Hold); err != nil {
		return resource.Answer{}, err
	}
	if a.Op == history.OpWrite {
		if err := c.p.at(BeforeWrite, h.point(p)); err != nil {
			return resource.Answer{}, err
		}
	}
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
