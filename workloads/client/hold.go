package client

import (
	"context"
	"errors"
	"slices"

	"locklab/harness/history"
	"locklab/recipes"
)

// held is what a client holds, under the number of one of its acquisitions.
type held struct {
	*grant
	c    *client
	acq  int64
	want want
}

// event is one about a part of what is held.
func (h *held) event(kind history.Kind, op string, p part) history.Event {
	e := h.c.event(kind, op, h.acq, p.lock, h.want)
	e.Token, e.Session = p.token, history.SessionID(p.hold.Session())
	return e
}

// errBusy ends the try of one who would have to wait.
var errBusy = errors.New(history.Busy)

var errNoDowngrade = errors.New("the recipe's writers cannot become readers")

// acquire gets what is wanted by way of get; nil if it does not. Of several locks each
// has events of its own.
func (c *client) acquire(ctx context.Context, l limits, w want, get func(context.Context) (*grant, error)) *held {
	c.acq++
	if c.due != 0 {
		c.record(history.Event{At: c.due, Op: history.OpArrive, Client: c.name, Acq: c.acq})
		c.due = 0
	}
	for _, path := range w.paths {
		c.record(c.event(history.Invoke, history.OpAcquire, c.acq, path, w))
	}
	waiting, cancel := c.telling(ctx, w), context.CancelFunc(func() {})
	if c.p.cfg.Wait > 0 {
		waiting, cancel = context.WithTimeout(waiting, c.p.cfg.Wait)
	}
	defer cancel()
	if c.p.cfg.Try {
		var busy context.CancelCauseFunc
		waiting, busy = context.WithCancelCause(waiting)
		defer busy(nil)
		c.busy = func() { busy(errBusy) }
	}
	g, err := get(waiting)
	if err != nil {
		detail := err.Error()
		switch {
		case context.Cause(waiting) == errBusy || errors.Is(err, recipes.ErrNotAcquired):
			detail = history.Busy
		case l.wait.Err() != nil && errors.Is(err, l.wait.Err()):
			detail = history.CancelledAtEnd
		case waiting.Err() != nil && errors.Is(err, waiting.Err()):
			detail = history.TimedOut
		}
		for _, path := range w.paths {
			e := c.event(history.Fail, history.OpAcquire, c.acq, path, w)
			e.Detail = detail
			c.record(e)
		}
		return nil
	}
	h := &held{grant: g, c: c, acq: c.acq, want: w}
	for _, p := range g.parts {
		e := h.event(history.OK, history.OpAcquire, p)
		c.record(e)
		c.watch(p.hold, e)
	}
	return h
}

// telling returns a context by which each attempt at what is wanted is recorded before it asks for anything.
func (c *client) telling(ctx context.Context, w want) context.Context {
	acq := c.acq
	return recipes.OnAttempt(ctx, func(dir, prefix string) {
		lock := w.paths[0]
		if len(w.paths) > 1 {
			lock = dir
		}
		e := c.event(history.Info, history.OpAttempt, acq, lock, w)
		e.Detail = prefix
		c.record(e)
	})
}

// watch records when the client learns that a hold is lost. A client that stops
// believing by releasing is not a loss.
func (c *client) watch(hold *recipes.Hold, e history.Event) {
	e.Op, e.Kind, e.At, e.Value = history.OpLost, history.Info, 0, 0
	c.lost.Add(1)
	context.AfterFunc(hold.Context(), func() {
		defer c.lost.Done()
		if cause := context.Cause(hold.Context()); !errors.Is(cause, recipes.ErrReleased) {
			e.Detail = cause.Error()
			c.record(e)
		}
	})
}

// release gives up what is held.
func (h *held) release(ctx context.Context) {
	for _, p := range slices.Backward(h.parts) {
		h.c.record(h.event(history.Invoke, history.OpRelease, p))
	}
	ctx, cancel := context.WithTimeout(ctx, releaseCap)
	defer cancel()
	err := h.grant.release(ctx)
	for _, p := range slices.Backward(h.parts) {
		e := h.event(history.OK, history.OpRelease, p)
		if err != nil {
			e.Kind, e.Detail = h.failed(err, p), err.Error()
		}
		h.c.record(e)
	}
}

// failed says what the failure of a release means for a part: that its hold was over,
// or that its end is not confirmed. The error of several may be about others.
func (h *held) failed(err error, p part) history.Kind {
	lost := errors.Is(err, recipes.ErrLockLost)
	if shared := len(h.parts) > 1 && h.parts[0].hold != h.parts[1].hold; shared {
		lost = !errors.Is(context.Cause(p.hold.Context()), recipes.ErrReleased)
	}
	if lost {
		return history.Fail
	}
	return history.Info
}
