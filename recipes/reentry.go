package recipes

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Reenter enters the hold once more. It is for code of the holder that needs the lock as well
// and cannot know that it is held. Such code is given the hold, because a goroutine has no identity by which
// it could be known. Nothing is asked of the service. Each entry is undone by a [Hold.Release] of its own, and
// the last of these gives the lock back; until then the hold, its context and its token stay what they are.
//
// Reenter returns an error wrapping ErrLockLost if the hold was lost, ErrReleased if its last entry was undone,
// and ErrNotReentrant for a recipe other than [Mutex], [RW], [FairRW] and [NaiveRW]. After an error nothing
// is entered, and nothing has to be released.
//
// A loss that the client hears of just after the check in Reenter ends the new entry too, through the
// hold's context, as it ends the work outside the entry: a re-entry claims nothing that the hold did not
// claim already. A client must not re-enter a lock that is being released, and cannot: the re-entry and the
// undoing of the last entry exclude each other.
func (h *Hold) Reenter() error {
	if !h.reentrant {
		return fmt.Errorf("reenter: %w", ErrNotReentrant)
	}
	h.Valid() // ends the context of a hold whose lease has passed while the process was stopped
	if err := h.entries.add(h.ctx); err != nil {
		return fmt.Errorf("reenter: %w", err)
	}
	return nil
}

// Reenter enters the whole once more, as [Hold.Reenter] does a hold, with its errors: that of the first
// member that has ended or is not reentrant. It is undone by [MultiHold.Release].
func (h *MultiHold) Reenter() error {
	for _, k := range h.holds {
		// The whole enters its members only once. But its context ends a moment after the context of the member that
		// has ended.
		err := context.Cause(k.Context())
		if !k.reentrant {
			err = ErrNotReentrant
		}
		if err != nil && h.ctx.Err() == nil {
			return fmt.Errorf("multi-lock: reenter %s: %w", k.Key, err)
		}
	}
	if err := h.entries.add(h.ctx); err != nil {
		return fmt.Errorf("multi-lock: reenter: %w", err)
	}
	return nil
}

// entries counts how often a hold is entered.
type entries struct {
	mu    sync.Mutex
	extra int  // entries besides the first
	over  bool // the last was undone
}

// add counts one more entry, unless life, the hold's context, has ended.
func (e *entries) add(life context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return ErrReleased
	}
	if life.Err() != nil {
		return context.Cause(life)
	}
	e.extra++
	return nil
}

func (e *entries) undone() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.over
}

// undo counts one entry less. It reports whether that was the last one, and whether there was any.
func (e *entries) undo() (last, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.over:
		return false, false
	case e.extra > 0:
		e.extra--
		return false, true
	}
	e.over = true
	return true, true
}

// Within returns ctx with an additional end: it also ends with the hold, with the hold's cause, and when cancel is
// called, which frees its resources. It is for work under the lock that already has a context, such as a request to a
// service.
//
// Like [Hold.Context], it tells an acquire that the lock is held: so a reader that asks for the write lock with it
// gets ErrUpgrade.
func (h *Hold) Within(ctx context.Context) (inside context.Context, cancel context.CancelFunc) {
	return until(h.mark(ctx), h.ctx)
}

// Within is [Hold.Within] for all members together: it ends with the first that is lost.
func (h *MultiHold) Within(ctx context.Context) (inside context.Context, cancel context.CancelFunc) {
	for _, k := range h.holds {
		ctx = k.mark(ctx)
	}
	return until(ctx, h.ctx)
}

// until returns ctx, which also ends with hold, with its cause.
func until(ctx, hold context.Context) (inside context.Context, cancel context.CancelFunc) {
	inside, end := context.WithCancelCause(ctx)
	follow := func() { end(context.Cause(hold)) }
	stop := context.AfterFunc(hold, follow)
	if hold.Err() != nil {
		follow() // AfterFunc comes a moment later
	}
	return inside, func() {
		stop()
		end(context.Canceled)
	}
}

// A claim says in a context that a hold is there. An acquire with such a context is the holder's own: it would wait for
// itself where the lock is not free without that hold. The context of a hold has one, and so has every context made
// from that or by [Hold.Within].
type claim struct {
	hold  *Hold
	outer *claim // that of a hold around it, of the same lock
}

// claimed returns the claims of a lock in a context, the innermost first. The key is the lock's; it is known to this
// package only.
func claimed(ctx context.Context, key any) *claim {
	c, _ := ctx.Value(key).(*claim)
	return c
}

// live returns the holds that have not ended, and those under which they were acquired.
func (c *claim) live() []*Hold { return c.add(nil) }

func (c *claim) add(holds []*Hold) []*Hold {
	for ; c != nil; c = c.outer {
		if c.hold.ctx.Err() == nil && !slices.Contains(holds, c.hold) {
			holds = append(holds, c.hold)
		}
		holds = c.hold.under.add(holds)
	}
	return holds
}

// mark returns ctx, which then says that the hold is there.
func (h *Hold) mark(ctx context.Context) context.Context {
	if h.key == nil {
		return ctx
	}
	return context.WithValue(ctx, h.key, &claim{h, claimed(ctx, h.key)})
}

// newClaimedHold is newHold of a lock that has a key.
func newClaimedHold(
	parent context.Context, key any, session, token int64, release func(context.Context) error,
) *Hold {
	c := new(claim)
	c.hold = newHold(context.WithValue(parent, key, c), session, token, release)
	c.hold.key = key
	return c.hold
}
