package check

import (
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// slots are the slots of holds of permits that made an access.
type slots map[slotKey]history.Slot

// A slotKey names an acquisition by what its events have.
type slotKey struct {
	client, lock string
	n, token     int64
}

func slotsOf(d *evidence.Digest) slots {
	permits := func(a history.Acquisition) bool { return a.Mode == history.ModePermit }
	if !slices.ContainsFunc(d.Acquisitions, permits) {
		return nil
	}
	all := slots{}
	for _, e := range d.Events.Of(history.OpEnter, history.OpRead, history.OpWrite, history.OpExit) {
		if slot := e.Access().Slot; slot != "" && e.Token != 0 {
			all[slotKey{e.Client, e.Lock, e.Acq, e.Token}] = slot
		}
	}
	return all
}

// grants returns the grants of permits with a token by the slot that they were for, as far as an access under them says
// which it was. The holds of one slot exclude each other, so their tokens rise as those of an exclusive lock do; tokens
// of different slots have no order among each other.
func (s slots) grants(grants []*history.Acquisition) map[history.Slot][]*history.Acquisition {
	all := map[history.Slot][]*history.Acquisition{}
	for _, a := range grants {
		if slot := s[slotKey{a.Client, a.Lock, a.N, a.Token}]; slot != "" && a.Mode == history.ModePermit && a.Token != 0 {
			all[slot] = append(all[slot], a)
		}
	}
	return all
}
