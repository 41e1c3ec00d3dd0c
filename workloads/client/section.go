package client

import (
	"context"
	"errors"
	"fmt"

	"locklab/harness/history"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// section is the critical section under what is held. A client that excludes others reads each lock's counter, holds,
// and writes it back plus one, or a list and an element more; a reader reads it, holds, and reads it again. The section
// ends early when the resource refuses an access, or the client's guard does.
func (c *client) section(ctx context.Context, h *held) error {
	if c.p.cfg.LockOnly {
		sleep(ctx, c.p.cfg.Hold.Draw(c.rand))
		return nil
	}
	read := make([]resource.Answer, len(h.Parts))
	served := !c.p.guard.InZooKeeper // else there is no resource to enter
	for i, p := range h.Parts {
		if served {
			if _, ok := c.access(ctx, h, p, history.OpEnter, resource.Answer{}); !ok {
				return nil
			}
		}
		answer, ok := c.access(ctx, h, p, history.OpRead, resource.Answer{})
		if !ok {
			return c.full
		}
		read[i] = answer
	}
	writes := history.Exclusive(h.want.Mode)
	at := BetweenReads
	if writes {
		at = BetweenReadAndWrite
	}
	if err := c.p.at(at, h.point(h.Parts[0])); err != nil {
		return err
	}
	if !sleep(ctx, c.p.cfg.Hold.Draw(c.rand)) {
		return nil
	}
	for i, p := range h.Parts {
		op := history.OpRead
		if writes {
			op = history.OpWrite
		}
		if _, ok := c.access(ctx, h, p, op, read[i]); !ok {
			return c.full
		}
		if !served {
			continue
		}
		if _, ok := c.access(ctx, h, p, history.OpExit, resource.Answer{}); !ok {
			return nil
		}
	}
	return nil
}

// element is what a hold appends, once to each of its lists: never used twice, unless a process is started again
// and counts from 1, which the history shows.
func (h *held) element() int64 { return int64(h.c.number+1)<<32 | h.acq }

// access asks the resource, and records the answer. A write is of what was read and one more. It is recorded before
// too, because a write whose answer never comes may have happened. That record is made behind the point [BeforeWrite],
// so that it says whether a client that was stopped there sent the write before it learned of its loss.
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
