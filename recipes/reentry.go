package recipes

import (
	"context"
	"fmt"
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

// undone reports whether the last entry was undone.
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
