package resource

import (
	"fmt"

	"locklab/harness/history"
)

// resume takes up where a resource of the same guard left off, by its record: what it had accepted it had
// recorded before it answered. Nothing but the record outlives a resource, as with a service that
// writes what it accepts to a durable log first.
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

// replay does again what an accepted access did.
func (r *Resource) replay(e *history.Event) error {
	if e.Lock == "" || e.Kind != history.OK {
		return nil
	}
	a := Access{Op: e.Op, Lock: e.Lock, Mode: e.Mode, Token: e.Token, Value: e.Value}
	if e.Mode == history.ModePermit {
		slot, err := history.ParseSlot(e.Target)
		if err != nil {
			return err
		}
		a.Slot = slot
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lists && e.Op == history.OpWrite {
		a.List = r.counter(e.Lock).list.written(e.Target)
	}
	r.accept(&a)
	return nil
}

// written is the number of the list that a write was from, by its record: the last one that ended so.
func (l *list) written(behind string) int64 {
	for at := len(l.all); at > 0; at-- {
		if history.Behind(l.all[at-1].element) == behind {
			return int64(at)
		}
	}
	return 0
}
