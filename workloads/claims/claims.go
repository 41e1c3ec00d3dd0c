// Package claims records what a client claims: that it wants locks, has them, uses what they protect, and has released
// or lost them.
//
// In flow: what a client does with a [lock.Source] and with what the locks protect. Out flow: events of package
// history, which are the same whether the client's time is real, as in package client, or simulated.
package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// A Client is what has to be known about a client for its record. But for Record, one goroutine uses it.
type Client struct {
	Name string
	// Record writes an event. It is called by any goroutine.
	Record func(history.Event)
	Acq    int64     // the number of the latest acquisition
	Wanted lock.Want // what that is to acquire

	losses sync.WaitGroup
}

// claim is the client's claim to a lock, before it is granted.
func (c *Client) claim(acq int64, path string, w lock.Want) history.Claim {
	return history.Claim{Client: c.Name, Acq: acq, Lock: path, Mode: w.Mode, Permits: int64(w.Units)}
}

// State records a change of the session's state. Server is the name of the server that it is of.
func (c *Client) State(s zksession.StateChange, server string) {
	change := history.SessionChange{Client: c.Name, Session: history.SessionID(s.Session), Server: server}
	if s.Err != nil {
		change.Cause = s.Err.Error()
	}
	switch s.State {
	case zksession.Connected:
		change.Op, change.Timeout = history.OpConnected, s.Negotiated
	case zksession.Disconnected:
		change.Op = history.OpDisconnected
	case zksession.Expired:
		change.Op = history.OpExpired
	default:
		return
	}
	c.Record(change.Event())
}

// Queued records that the client has its place in a lock's queue, and how many are ahead of it.
func (c *Client) Queued(path string, ahead int) {
	c.Record(c.claim(c.Acq, path, c.Wanted).Queued(ahead))
}

// Await waits until all losses of holds that have ended are recorded.
func (c *Client) Await() { c.losses.Wait() }

// A Hold is what a client holds under the number of one of its acquisitions.
type Hold struct {
	*lock.Grant
	Acq    int64
	Want   lock.Want
	client *Client
}

// Acquire calls get for the locks that are wanted, and returns nil if it fails. Why says what an error of get means.
// Each of several locks has events of its own, and each attempt records itself before it sends any request.
func (c *Client) Acquire(ctx context.Context, w lock.Want, get func(context.Context) (*lock.Grant, error),
	why func(error) (history.FailReason, string)) *Hold {
	c.Acq++
	c.Wanted = w
	acq := c.Acq
	for _, path := range w.Paths {
		c.Record(c.claim(acq, path, w).Acquire())
	}
	g, err := get(recipes.OnAttempt(ctx, func(dir, prefix string) {
		path := w.Paths[0]
		if len(w.Paths) > 1 {
			path = dir
		}
		c.Record(c.claim(acq, path, w).Attempt(prefix))
	}))
	if err != nil {
		reason, text := why(err)
		for _, path := range w.Paths {
			c.Record(c.claim(acq, path, w).NotGranted(reason, text))
		}
		return nil
	}
	h := &Hold{Grant: g, Acq: acq, Want: w, client: c}
	for _, p := range g.Parts {
		claim := h.Claim(p)
		c.Record(claim.Granted())
		c.watch(p.Hold, claim)
	}
	return h
}

// watch records when the client learns that a hold is lost. A client that stops believing by releasing is not a loss.
func (c *Client) watch(hold *recipes.Hold, claim history.Claim) {
	c.losses.Add(1)
	context.AfterFunc(hold.Context(), func() {
		defer c.losses.Done()
		if cause := context.Cause(hold.Context()); !errors.Is(cause, recipes.ErrReleased) {
			c.Record(claim.Lost(cause.Error()))
		}
	})
}

// Claim returns the client's claim to one part of the hold.
func (h *Hold) Claim(p lock.Part) history.Claim {
	claim := h.client.claim(h.Acq, p.Lock, h.Want)
	claim.Token, claim.Session = p.Token, history.SessionID(p.Hold.Session())
	return claim
}

// Use returns the claim to one part of the hold as the resource sees it, and the slot of a permit.
func (h *Hold) Use(p lock.Part) (claim history.Claim, slot history.Slot) {
	claim = h.Claim(p)
	claim.Token = p.Use
	if h.Want.Mode == history.ModePermit {
		slot = history.NewSlot(p.Slot)
	}
	return claim, slot
}

// Lost reports whether the client has been told that it has lost what it holds.
func (h *Hold) Lost() bool {
	return slices.ContainsFunc(h.Parts, func(p lock.Part) bool { return p.Hold.Context().Err() != nil })
}

// Release releases the hold.
func (h *Hold) Release(ctx context.Context) {
	for _, p := range slices.Backward(h.Parts) {
		h.client.Record(h.Claim(p).Release())
	}
	err := h.Grant.Release(ctx)
	for _, p := range slices.Backward(h.Parts) {
		kind, text := history.OK, ""
		if err != nil {
			kind, text = h.failed(err, p), err.Error()
		}
		h.client.Record(h.Claim(p).Released(kind, text))
	}
}

// failed says what the failure of a release means for a part: that its hold had ended, or that its end is not
// confirmed. The error of a release of several parts may be about other parts.
func (h *Hold) failed(err error, p lock.Part) history.Kind {
	lost := errors.Is(err, recipes.ErrLockLost)
	if shared := len(h.Parts) > 1 && h.Parts[0].Hold != h.Parts[1].Hold; shared {
		lost = !errors.Is(context.Cause(p.Hold.Context()), recipes.ErrReleased)
	}
	if lost {
		return history.Fail
	}
	return history.Info
}

// ErrRefused says that an access had certainly no effect, because what keeps the data refused it.
var ErrRefused = errors.New("refused")

// Access makes an access to what one part of the hold protects, and records the answer; list is the one that a write
// appends to. It asks allow first, and then uses the resource. A write is recorded before too, because a write whose
// answer never comes may have happened. That record is made behind allow, so that it says whether a client that was
// stopped there sent the write before it learned of its loss.
func (h *Hold) Access(p lock.Part, op history.Op, access history.Access, list int64, allow func() error,
	use func(resource.Access) (resource.Answer, error)) (answer resource.Answer, err error) {
	claim, slot := h.Use(p)
	access.Slot = slot
	err = allow()
	if op == history.OpWrite {
		h.client.Record(claim.Access(op, history.Invoke, access))
	}
	if err == nil {
		answer, err = use(resource.Access{Op: op, Lock: p.Lock, Client: h.client.Name, Acq: h.Acq,
			Session: p.Hold.Session(), Mode: h.Want.Mode, Slot: p.Slot, Token: p.Use, Value: access.Value, List: list})
	}
	kind := history.Fail
	switch {
	case errors.Is(err, guard.ErrGivenUp), errors.Is(err, ErrRefused), errors.Is(err, resource.ErrFull):
		access.Detail = err.Error()
	case err != nil:
		kind, access.Detail = history.Info, err.Error()
	case answer.Accepted:
		kind, access.Value = history.OK, answer.Value
	default:
		access.Value, access.Detail = answer.Value, fmt.Sprintf("stale: the resource has served token %d", answer.Fence)
	}
	h.client.Record(claim.Access(op, kind, access))
	return answer, err
}
