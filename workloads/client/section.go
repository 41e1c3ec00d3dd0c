package client

import (
	"context"
	"errors"
	"fmt"

	"locklab/harness/history"
	"locklab/workloads/resource"
)

// section is the critical section under what is held. Who excludes others reads each
// lock's counter, holds, and writes it back plus one, or a list and an element more; who does not reads it, holds, and
// reads it again. It ends early when the resource refuses an access, or the client's guard does.
func (c *client) section(ctx context.Context, h *held) error {
	if c.p.cfg.LockOnly {
		sleep(ctx, c.p.cfg.Hold.Draw(c.rand))
		return nil
	}
	read := make([]resource.Answer, len(h.parts))
	served := c.p.cfg.Guard != GuardZKMulti // else there is nobody to enter to
	for i, p := range h.parts {
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
	writes := history.Exclusive(h.want.mode)
	at := BetweenReads
	if writes {
		at = BetweenReadAndWrite
	}
	if err := c.p.at(at, h.point(h.parts[0])); err != nil {
		return err
	}
	if !sleep(ctx, c.p.cfg.Hold.Draw(c.rand)) {
		return nil
	}
	for i, p := range h.parts {
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
// too: one whose answer never comes may have happened.
func (c *client) access(ctx context.Context, h *held, p part, op string, read resource.Answer) (resource.Answer, bool) {
	e := h.event(history.Invoke, op, p)
	e.Token, e.Value = p.use, 0
	switch {
	case op != history.OpWrite:
	case c.p.cfg.Append:
		e.Value, e.Target = h.element(), history.Behind(read.Value)
	default:
		e.Value = read.Value + 1
	}
	if h.want.mode == history.ModePermit {
		e.Target = history.Slot(p.slot)
	}
	if op == history.OpWrite {
		c.record(e)
	}
	answer, err := c.use(ctx, h, p, resource.Access{Op: op, Lock: p.lock, Client: c.name, Acq: h.acq,
		Session: p.hold.Session(), Mode: h.want.mode, Slot: p.slot, Token: p.use, Value: e.Value, List: read.List})
	switch {
	case errors.Is(err, errGivenUp) || errors.Is(err, errRefused):
		e.Kind, e.Detail = history.Fail, err.Error()
	case errors.Is(err, resource.ErrFull):
		e.Kind, e.Detail, c.full = history.Fail, err.Error(), err
	case err != nil:
		e.Kind, e.Detail = history.Info, err.Error()
	case answer.Accepted:
		e.Kind, e.Value = history.OK, answer.Value
	default:
		e.Kind, e.Value = history.Fail, answer.Value
		e.Detail = fmt.Sprintf("stale: the resource has served token %d", answer.Fence)
	}
	c.record(e)
	return answer, err == nil && answer.Accepted
}
