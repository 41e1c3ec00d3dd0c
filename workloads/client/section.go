package client

import (
	"context"
	"errors"
	"time"

	"locklab/harness/history"
	"locklab/workloads/claims"
	"locklab/workloads/control"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// section is what a client does under what it holds: it goes through the critical section once, or again and again
// until its term is over. The section ends early when the resource refuses an access, or the client's guard does.
func (c *client) section(l limits, h *claims.Hold) error {
	over := c.term(l, h)
	for first := true; ; first = false {
		if last, err := c.pass(l.use, h, first, over); last || err != nil || h.Lost() {
			return err
		}
	}
}

// served reports whether there is a resource to enter.
func (c *client) served() bool { return !c.p.guard.InZooKeeper }

// term returns a function that reports whether the term that begins now is over: at its planned end, when no client is
// to begin anything more, or when the client has been told of a loss.
func (c *client) term(l limits, h *claims.Hold) (over func() bool) {
	end := time.Now().Add(c.p.cfg.Term)
	return func() bool { return !time.Now().Before(end) || l.begin.Err() != nil || h.Lost() }
}

// pass goes through the critical section. A client that excludes others reads each lock's counter, holds, and writes it
// back plus one, or a list and an element more; a reader reads it, holds, and reads it again. It enters the resource in
// the first pass and leaves it in the last, which is the one at whose end the term is over, or in which an access was
// refused.
func (c *client) pass(ctx context.Context, h *claims.Hold, first bool, over func() bool) (last bool, err error) {
	if c.p.cfg.LockOnly {
		sleep(ctx, c.p.cfg.Hold.Draw(c.rand))
		return over(), nil
	}
	read := make([]resource.Answer, len(h.Parts))
	for i, p := range h.Parts {
		if first && c.served() {
			if _, ok := c.access(ctx, h, p, history.OpEnter, resource.Answer{}); !ok {
				return true, nil
			}
		}
		answer, ok := c.access(ctx, h, p, history.OpRead, resource.Answer{})
		if !ok {
			return true, c.full
		}
		read[i] = answer
	}
	writes := history.Exclusive(h.Want.Mode)
	at := control.BetweenReads
	if writes {
		at = control.BetweenReadAndWrite
	}
	if err := c.reach(at, h, h.Parts[0]); err != nil {
		return true, err
	}
	if on, err := c.dwell(ctx, h); err != nil || !on {
		return true, err
	}
	last = over()
	for i, p := range h.Parts {
		op := history.OpRead
		if writes {
			op = history.OpWrite
		}
		if _, ok := c.access(ctx, h, p, op, read[i]); !ok {
			return true, c.full
		}
		if !last || !c.served() {
			continue
		}
		if _, ok := c.access(ctx, h, p, history.OpExit, resource.Answer{}); !ok {
			return true, nil
		}
	}
	return last, nil
}

// dwell is the time that a client spends between its two accesses, and reports whether ctx still goes on. If a fault is
// armed at [control.WithinHold], it strikes at an instant that the seed and the fault's name decide, evenly within that
// time. The rest of the time then begins anew: a process that was stopped has the rest of its work still to do.
func (c *client) dwell(ctx context.Context, h *claims.Hold) (bool, error) {
	left := c.p.cfg.Hold.Draw(c.rand)
	if fault := c.p.triggers.armedAt(control.WithinHold); fault != "" {
		before := time.Duration(control.InstantOf(c.p.cfg.Seed, fault) * float64(left))
		if !sleep(ctx, before) {
			return false, nil
		}
		if err := c.reach(control.WithinHold, h, h.Parts[0]); err != nil {
			return false, err
		}
		left -= before
	}
	return sleep(ctx, left), nil
}

// element is what a hold appends, once to each of its lists: never used twice, unless a process is started again
// and counts from 1, which the history shows.
func (c *client) element(h *claims.Hold) int64 { return int64(c.number+1)<<32 | h.Acq }

// access asks the resource, and records the answer. A write is of what was read and one more.
func (c *client) access(ctx context.Context, h *claims.Hold, p lock.Part, op history.Op, read resource.Answer,
) (resource.Answer, bool) {
	var access history.Access
	switch {
	case op != history.OpWrite:
	case c.p.cfg.Append:
		access.Value, access.Behind = c.element(h), history.NewBehind(read.Value)
	default:
		access.Value = read.Value + 1
	}
	answer, err := h.Access(p, op, access, read.List, func() error { return c.allow(h, p, op) },
		func(a resource.Access) (resource.Answer, error) { return c.use(ctx, p, a) })
	if errors.Is(err, resource.ErrFull) {
		c.full = err
	}
	return answer, err == nil && answer.Accepted
}

// allow asks the guard for an access, and returns an error if the guard does not allow it. A write comes to the point
// [control.BeforeWrite] after that.
func (c *client) allow(h *claims.Hold, p lock.Part, op history.Op) error {
	if err := c.p.guard.Ask(p.Hold); err != nil || op != history.OpWrite {
		return err
	}
	return c.reach(control.BeforeWrite, h, p)
}

// use makes an access that the guard allows.
func (c *client) use(ctx context.Context, p lock.Part, a resource.Access) (resource.Answer, error) {
	if c.p.guard.InZooKeeper {
		return c.keep(ctx, p, a)
	}
	return c.p.resource.Do(ctx, a)
}

// reach comes to a point of the critical section at which a fault may be armed.
func (c *client) reach(point string, h *claims.Hold, p lock.Part) error {
	claim, slot := h.Use(p)
	return c.p.at(point, claim, slot)
}
