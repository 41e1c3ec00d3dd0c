package check

import (
	"math"

	"locklab/harness/history"
)

// A damage is an access that the resource accepted and should not have, or the updates that it took away.
type damage struct {
	lock    *lockEffect
	e, by   *history.Event // the access, and the one that shows what is wrong with it
	lost    int64          // updates that it took away; 0 for an access that is only stale
	finding int            // its index; -1 if it was not kept
}

// note remembers a damage that [digest.attribute] is to attribute.
func (x *effects) note(l *lockEffect, e, by *history.Event, lost int64, finding int) {
	if !x.attributed {
		return
	}
	x.damages = append(x.damages, damage{l, e, by, lost, finding})
}

// attribute finds out which damage belongs to an overlap that something explains: the client of one of the two accesses
// had lost its hold to the other, and did not know yet. Whatever does not is unexplained. It is open where the overlap
// is not attributable, or where the client never learned the outcome of its write, which may have been on its way when
// it released the lock.
//
// An update may be lost although no access took it away, such as by the resource itself. So the lost updates of a lock
// that exceed those that explained accesses took away are unexplained.
func (d *digest) attribute(x *effects) (bad, open int64) {
	if !x.attributed {
		return 0, 0
	}
	of := newHolders(d.acquisitions)
	type pair struct{ older, newer *history.Acquisition }
	known := map[pair]explanation{} // of the pair's latest access
	accounted := map[*lockEffect]int64{}
	for _, m := range x.damages {
		older, newer := of.at(m.by), of.at(m.e)
		why := unexplained(nil, "no explained overlap of holds covers it")
		if older != nil && newer != nil && older != newer {
			if newer.Token != 0 && newer.Token < older.Token || newer.Token == 0 && newer.Returned < older.Returned {
				older, newer = newer, older
			}
			p := pair{older, newer}
			taken, seen := known[p]
			if !seen {
				taken = d.taken(older, newer)
				known[p] = taken
			}
			if (taken.explained() || taken.unsure()) && m.e.At <= taken.told {
				why = taken
			}
		}
		unlearned := m.lock.unsettled[keyOf(m.e)] > 0
		switch {
		case m.lost > 0 && m.lock.settled[keyOf(m.by)] == 0: // what it took away was acknowledged to nobody
			accounted[m.lock] += m.lost
		case why.explained():
			accounted[m.lock] += m.lost
		case why.unsure() || unlearned:
			open++
			accounted[m.lock] += m.lost
		default:
			bad++
			accounted[m.lock] += m.lost
		}
		if m.finding >= 0 {
			f := &x.findings[m.finding]
			f.Cause, f.Explained = why.cause, why.explained()
			if why.fault != nil {
				f.Fault = why.fault.ID
			}
			f.Text += "; " + why.text
		}
	}
	for _, l := range x.locks {
		if l.lost > accounted[l] {
			bad += l.lost - accounted[l]
		}
	}
	return bad, open
}

// holders finds the acquisition that an access belongs to.
type holders map[holderKey][]*history.Acquisition

type holderKey struct {
	client, lock string
	n            int64
}

func newHolders(all []history.Acquisition) holders {
	h := holders{}
	for i := range all {
		a := &all[i]
		k := holderKey{a.Client, a.Lock, a.N}
		h[k] = append(h[k], a)
	}
	return h
}

// at returns the acquisition of an access, nil if it is not recorded. A client that was restarted may have used the
// number before.
func (h holders) at(e *history.Event) *history.Acquisition {
	var latest *history.Acquisition
	for _, a := range h[holderKey{e.Client, e.Lock, e.Acq}] {
		if a.Invoked <= e.At && a.Granted() {
			latest = a
		}
	}
	return latest
}

// goneBy returns what reports whether the hold of an access had ended at the servers before the access; nil where the
// servers' transactions do not tell.
func (d *digest) goneBy() func(e *history.Event) bool {
	if !d.transactions.whole() || !d.facts.Exclusive {
		return nil
	}
	of := newHolders(d.acquisitions)
	ended := map[*history.Acquisition]int64{}
	return func(e *history.Event) bool {
		a := of.at(e)
		if a == nil {
			return false
		}
		at, known := ended[a]
		if !known {
			at = math.MaxInt64
			if t, end := d.gone(a); end != nil {
				at = t
			}
			ended[a] = at
		}
		return e.At > at
	}
}
