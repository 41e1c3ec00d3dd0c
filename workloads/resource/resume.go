package resource

import (
	"fmt"

	"locklab/harness/history"
)

// resume takes over from a resource with the same guard, by its record: that resource recorded what it accepted
// before it answered. Nothing but the record outlives a resource, as with a service that writes what it accepts to a
// durable log first.
func (r *Resource) resume(dir string) error {
	t := history.NewTailer(dir)
	defer t.Close()
	for {
		frames, err := t.Next()
		if err != nil {
			return fmt.Errorf("resource: resume: %w", err)
		}
		if len(frames) == 0 {
			return nil
		}
		events, _, err := history.Decode(nil, frames, map[string]string{})
		if err != nil {
			return fmt.Errorf("resource: resume: %w", err)
		}
		for i := range events {
			if err := r.replay(&events[i]); err != nil {
				return fmt.Errorf("resource: resume: %w", err)
			}
		}
	}
}

// replay repeats the effect of an accepted access.
func (r *Resource) replay(e *history.Event) error {
	if e.Lock == "" || e.Kind != history.OK {
		return nil
	}
	recorded := e.Access()
	a := Access{Op: e.Op, Lock: e.Lock, Mode: e.Mode, Token: e.Token, Value: recorded.Value}
	if e.Mode == history.ModePermit {
		slot, err := recorded.Slot.Number()
		if err != nil {
			return err
		}
		a.Slot = slot
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lists && e.Op == history.OpWrite {
		a.List = r.counter(e.Lock).list.written(recorded.Behind)
	}
	r.accept(&a)
	return nil
}

// written returns the number of the list that a write was based on, by its record: the last list that ended in that
// way.
func (l *list) written(behind history.Behind) int64 {
	for at := len(l.all); at > 0; at-- {
		if history.NewBehind(l.all[at-1].element) == behind {
			return int64(at)
		}
	}
	return 0
}
