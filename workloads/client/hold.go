package client

import (
	"context"
	"errors"
	"os"
	"slices"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads/lock"
)

// held is what a client holds under the number of one of its acquisitions.
type held struct {
	*lock.Grant
	c    *client
	acq  int64
	want lock.Want
}

// claim returns the client's claim to one part of a hold.
func (h *held) claim(p lock.Part) history.Claim {
	claim := h.c.claim(h.acq, p.Lock, h.want)
	claim.Token, claim.Session = p.Token, history.SessionID(p.Hold.Session())
	return claim
}

// acquire calls get for the locks that are wanted, and returns nil if it fails. Each of several locks has events of
// its own.
func (c *client) acquire(
	ctx context.Context,
	l limits,
	w lock.Want,
	get func(context.Context) (*lock.Grant, error),
) *held {
	c.acq++
	if c.due != 0 {
		c.record(history.Arrived(c.name, c.acq, c.due))
		c.due = 0
	}
	for _, path := range w.Paths {
		c.record(c.claim(c.acq, path, w).Acquire())
	}
	waiting, cancel := c.telling(ctx, w), context.CancelFunc(func() {})
	if c.p.cfg.Wait > 0 {
		waiting, cancel = context.WithTimeout(waiting, c.p.cfg.Wait)
	}
	defer cancel()
	g, err := get(waiting)
	if err != nil {
		why, text := history.FailError, err.Error()
		switch {
		case errors.Is(err, recipes.ErrNotAcquired):
			why, text = history.FailBusy, history.TextBusy
		case l.wait.Err() != nil && errors.Is(err, l.wait.Err()):
			why, text = history.FailCancelled, history.TextCancelled
		case waiting.Err() != nil && errors.Is(err, waiting.Err()):
			why, text = history.FailTimedOut, history.TextTimedOut
		case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
			why = history.FailDeadline
		case errors.Is(err, context.Canceled):
			why = history.FailAborted
		}
		for _, path := range w.Paths {
			c.record(c.claim(c.acq, path, w).NotGranted(why, text))
		}
		return nil
	}
	h := &held{Grant: g, c: c, acq: c.acq, want: w}
	for _, p := range g.Parts {
		claim := h.claim(p)
		c.record(claim.Granted())
		c.watch(p.Hold, claim)
	}
	return h
}

// telling returns a context that makes each attempt record itself before it sends any request.
func (c *client) telling(ctx context.Context, w lock.Want) context.Context {
	acq := c.acq
	return recipes.OnAttempt(ctx, func(dir, prefix string) {
		path := w.Paths[0]
		if len(w.Paths) > 1 {
			path = dir
		}
		c.record(c.claim(acq, path, w).Attempt(prefix))
	})
}

// watch records when the client learns that a hold is lost. A client that stops
// believing by releasing is not a loss.
func (c *client) watch(hold *recipes.Hold, claim history.Claim) {
	c.lost.Add(1)
	context.AfterFunc(hold.Context(), func() {
		defer c.lost.Done()
		if cause := context.Cause(hold.Context()); !errors.Is(cause, recipes.ErrReleased) {
			c.record(claim.Lost(cause.Error()))
		}
	})
}

// release releases the hold.
func (h *held) release(ctx context.Context) {
	for _, p := range slices.Backward(h.Parts) {
		h.c.record(h.claim(p).Release())
	}
	ctx, cancel := context.WithTimeout(ctx, releaseCap)
	defer cancel()
	err := h.Grant.Release(ctx)
	for _, p := range slices.Backward(h.Parts) {
		kind, text := history.OK, ""
		if err != nil {
			kind, text = h.failed(err, p), err.Error()
		}
		h.c.record(h.claim(p).Released(kind, text))
	}
}

// failed says what the failure of a release means for a part: that its hold had ended, or that its end is not
// confirmed. The error of a release of several parts may be about other parts.
func (h *held) failed(err error, p lock.Part) history.Kind {
	lost := errors.Is(err, recipes.ErrLockLost)
	if shared := len(h.Parts) > 1 && h.Parts[0].Hold != h.Parts[1].Hold; shared {
		lost = !errors.Is(context.Cause(p.Hold.Context()), recipes.ErrReleased)
	}
	if lost {
		return history.Fail
	}
	return history.Info
}
