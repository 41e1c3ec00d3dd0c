package client

import (
	"context"
	"errors"
	"fmt"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads/resource"
)

// The guards that are the client's: before each access it asks whether it still holds the
// lock, and gives up the rest of the critical section if not. None can help a client that is stopped
// between the question and the access.
const (
	// GuardLostContext asks the hold's context: whether the client has been told of a loss.
	GuardLostContext = "lost-context"
	// GuardLeaseClock gives sessions a lease clock, and asks it: whether the service can have
	// expired the session by now, told or not. Only recipes of package recipes have one.
	GuardLeaseClock = "lease-clock"
)

var errGivenUp = errors.New("given up, for the lock is lost")

// giveUp returns why the guard forbids an access under a hold, or nil. The error wraps errGivenUp.
func (c *Config) giveUp(hold *recipes.Hold) error {
	over := false
	switch c.Guard {
	case GuardLostContext:
		over = hold.Context().Err() != nil
	case GuardLeaseClock:
		over = !hold.Valid()
	}
	if !over {
		return nil
	}
	return fmt.Errorf("%w: %w", errGivenUp, context.Cause(hold.Context()))
}

// leaseClock is that of the client's sessions; nil if the guard needs none.
func (c *Config) leaseClock() *recipes.LeaseClockConfig {
	if c.Guard != GuardLeaseClock {
		return nil
	}
	return &recipes.LeaseClockConfig{Tick: c.Tick}
}

// use makes an access if the guard allows it.
func (c *client) use(ctx context.Context, h *held, p part, a resource.Access) (resource.Answer, error) {
	if err := c.p.cfg.giveUp(p.hold); err != nil {
		return resource.Answer{}, err
	}
	if a.Op == history.OpWrite {
		if err := c.p.at(BeforeWrite, h.point(p)); err != nil {
			return resource.Answer{}, err
		}
	}
	if c.p.cfg.Guard == GuardZKMulti {
		return c.keep(ctx, p, a)
	}
	return c.p.resource.Do(ctx, a)
}

// point is the event of a trigger in the critical section, as far as it tells whose that is.
func (h *held) point(p part) history.Event {
	e := h.event(history.Info, history.OpTrigger, p)
	e.Value, e.Token = 0, p.use
	if h.want.mode == history.ModePermit {
		e.Target = history.Slot(p.slot)
	}
	return e
}
