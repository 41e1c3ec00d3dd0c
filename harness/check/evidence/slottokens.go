package evidence

import "locklab/harness/history"

// BySlot returns the grants of permits with a token by the slot that they were for, as far as an access under them says
// which it was. The holds of one slot exclude each other, so their tokens rise as those of an exclusive lock do; tokens
// of different slots have no order among each other.
func (d *Digest) BySlot(grants []*history.Acquisition) map[history.Slot][]*history.Acquisition {
	all := map[history.Slot][]*history.Acquisition{}
	for _, a := range grants {
		if a.Mode != history.ModePermit || a.Token == 0 {
			continue
		}
		if slot := d.slots[slotKey{a.Client, a.Lock, a.N, a.Token}]; slot != "" {
			all[slot] = append(all[slot], a)
		}
	}
	return all
}

// A slotKey names a hold of permits by what the events of its accesses have.
type slotKey struct {
	client, lock string
	n, token     int64
}

// slotsOf returns the slot of each hold of permits that made an access.
func slotsOf(events *history.Log) map[slotKey]history.Slot {
	slots := map[slotKey]history.Slot{}
	for _, e := range events.Of(history.OpEnter, history.OpRead, history.OpWrite, history.OpExit) {
		if slot := e.Access().Slot; slot != "" && e.Token != 0 {
			slots[slotKey{e.Client, e.Lock, e.Acq, e.Token}] = slot
		}
	}
	return slots
}
