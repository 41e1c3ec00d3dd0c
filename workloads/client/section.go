package client

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/harness/history"
	"locklab/workloads/control"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// section is what a client does under what it holds: it goes through the critical section once, or again and again
// until its term is over. The section ends early when the resource refuses an access, or the client's guard does.
func (c *client) section(l limits, h *held) error {
	over := c.term(l, h)
	for first := true; ; first = false {
		if last, err := c.pass(l.use, h, first, over); last || err != nil || h.lost() {
			return err
		}
	}
}

// served reports whether there is a resource to enter.
func (c *client) served() bool { return !c.p.guard.InZooKeeper }

// term returns a function that reports whether the term that begins now is over: at its planned end, when no client is
// to begin anything more, or when the client has been told of a loss.
func (c *client) term(l limits, h *held) (over func() bool) {
	end := time.Now().Add(c.p.cfg.Term)
	return func() bool { return !time.Now().Before(end) || l.begin.Err() != nil || h.lost() }
}

// lost reports whether the client has been told that it has lost what it holds.
func (h *held) lost() bool {
	return slices.ContainsFunc(h.Parts, func(p lock.Part) bool { return p.Hold.Context().Err() != nil })
}

// pass goes through the critical section. A client that excludes others reads each lock's counter, holds, and writes it
// back plus one, or a list and an element more; a reader reads it, holds, and reads it again. It enters the resource in
// the first pass and leaves it in the last, which is the one at whose end the term is over, or in which an access was
// refused.
func (c *client) pass(ctx context.Context, h *held, first bool, over func() bool) (last bool, err error) {
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
	writes := history.Exclusive(h.want.Mode)
	at := control.BetweenReads
	if writes {
		at = control.BetweenReadAndWrite
	}
	if err := c.p.at(at, h.point(h.Parts[0])); err != nil {
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
func (c *client) dwell(ctx context.Context, h *held) (bool, error) {
	left := c.p.cfg.Hold.Draw(c.rand)
	if fault := c.p.triggers.armedAt(control.WithinHold); fault != "" {
		before := time.Duration(instantOf(c.p.cfg.Seed, fault) * float64(left))
		if !sleep(ctx, before) {
			return false, nil
		}
		if err := c.p.at(control.WithinHold, h.point(h.Parts[0])); err != nil {
			return false, err
		}
		left -= before
	}
	return sleep(ctx, left), nil
}

// instantOf draws when a fault strikes, as a share of the time in which it may strike.
func instantOf(seed uint64, fault string) float64 {
	name := fnv.New64a()
	name.Write([]byte(fault))
	return rand.New(rand.NewPCG(seed, name.Sum64())).Float64()
}

// element is what a hold appends, once to each of its lists: never used twice, unless a process is started again
// and counts from 1, which the history shows.
func (h *held) element() int64 { return int64(h.c.number+1)<<32 | h.acq }

// access asks the resource, and records the answer. A write is of what was read and one more. It is recorded before
// too, because a write whose answer never comes may have happened. That record is made behind the point
// [control.BeforeWrite], so that it says whether a client that was stopped there sent the write before it learned of
// its loss.
func (c *client) access(
	ctx context.Context,
	h *held,
	p lock.Part,
	op history.Op,
	read resource.Answer,
) (resource.Answer, bool) {
	claim := h.claim(p)
	claim.Token = p.Use
	var access history.Access
	if h.want.Mode == history.ModePermit {
		access.Slot = history.NewSlot(p.Slot)
	}
	switch {
	case op != history.OpWrite:
	case c.p.cfg.Append:
		access.Value, access.Behind = h.element(), history.NewBehind(read.Value)
	default:
		access.Value = read.Value + 1
	}
	err := c.allow(h, p, op)
	if op == history.OpWrite {
		c.record(claim.Access(op, history.Invoke, access))
	}
	var answer resource.Answer
	if err == nil {
		answer, err = c.use(ctx, p, resource.Access{Op: op, Lock: p.Lock, Client: c.name, Acq: h.acq,
			Session: p.Hold.Session(), Mode: h.want.Mode, Slot: p.Slot, Token: p.Use, Value: access.Value,
			List: read.List})
	}
	kind := history.Fail
	switch {
	case errors.Is(err, guard.ErrGivenUp) || errors.Is(err, errRefused):
		access.Detail = err.Error()
	case errors.Is(err, resource.ErrFull):
		access.Detail, c.full = err.Error(), err
	case err != nil:
		kind, access.Detail = history.Info, err.Error()
	case answer.Accepted:
		kind, access.Value = history.OK, answer.Value
	default:
		access.Value, access.Detail = answer.Value, fmt.Sprintf("stale: the resource has served token %d", answer.Fence)
	}
	c.record(claim.Access(op, kind, access))
	return answer, err == nil && answer.Accepted
}

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
