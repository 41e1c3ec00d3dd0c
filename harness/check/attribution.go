package check

import (
	"math"

	"locklab/harness/history"
)

// A damage is an access that the resource accepted and should not have, or the updates that it took away.
type damage struct {
	lock    *lockEffect
	e, by   *history.Event // the access, and the one that shows what is wrong with it; by may be nil
	lost    int64          // updates that it took away; 0 for an access that only should not have been accepted
	until   int64          // of uses at once: the last instant of both; else None
	refused bool           // the access was refused, which is a damage if its hold was not over
	crowd   []*use         // of permits: all uses at once
	excess  int64          // of permits: by how many too many were used
	finding int            // its index; -1 if it was not kept
}

// note remembers a damage that [digest.attribute] is to attribute.
func (x *effects) note(m damage) {
	if !x.attributed {
		return
	}
	if m.e = kept(m.e); m.by != nil {
		m.by = kept(m.by)
	}
	x.damages = append(x.damages, m)
}

// tookAway returns the updates that a write takes away from a counter, by the holds that made them, the last one first:
// those that the counter contained and of which the value is not below the write's.
func (x *effects) tookAway(l *lockEffect, e *history.Event) (all []damage) {
	last := l.lastWrite.Access().Value
	rest := last - e.Access().Value + 1
	all = []damage{{by: l.lastWrite}}
	writes := l.updates.writes
	for i := len(writes) - 1; i >= 0 && rest > 0; i-- {
		u := &writes[i]
		if u.value != last || i == len(writes)-1 && e.Mode != history.ModePermit {
			continue // it was taken away before, or is the write itself
		}
		if by := all[len(all)-1].by; (holdKey{u.client, u.n, u.session}) != keyOf(by) {
			all = append(all, damage{by: &history.Event{At: u.at, Process: e.Process, Op: e.Op, Kind: e.Kind, Client: u.client,
				Lock: e.Lock, Acq: u.n, Session: u.session, Value: u.value}})
		}
		all[len(all)-1].lost++
		last, rest = last-1, rest-1
	}
	all[0].lost += rest // of which the record has no writes
	return all
}

// A writeCount is how many writes under a hold were acknowledged, and of how many its client does not know the outcome.
type writeCount struct{ settled, unsettled int }

// writesOf counts the writes of the holds that damages are about, by their clients' record.
func (d *digest) writesOf(damages []damage) map[loss]writeCount {
	counts := map[loss]writeCount{}
	for i := range damages {
		for _, e := range [...]*history.Event{damages[i].e, damages[i].by} {
			if e != nil {
				counts[loss{keyOf(e), e.Lock}] = writeCount{}
			}
		}
	}
	if len(counts) == 0 {
		return counts
	}
	for _, e := range d.events.Of(history.OpWrite) {
		of := loss{keyOf(&e), e.Lock}
		n, wanted := counts[of]
		if !wanted || e.Process != hostOf(e.Client) {
			continue
		}
		switch e.Kind {
		case history.Invoke:
			n.unsettled++
		case history.OK:
			n.unsettled--
			n.settled++
		case history.Fail:
			n.unsettled--
		}
		counts[of] = n
	}
	return counts
}

// outdatedAt is when the last access was served of the holder that had lost its hold, if that is the client of m.by
// (first), or else that of m.e.
func (m *damage) outdatedAt(first bool) int64 {
	switch {
	case m.until != history.None:
		return m.until
	case first:
		return m.by.At
	}
	return m.e.At
}

// attribute finds out which damage belongs to an overlap that something explains: the client of one of the two accesses
// had lost its hold to the other, and did not know yet. Whatever does not is unexplained. It is open where the overlap
// is not attributable, or where a client never learned the outcome of its write, which may have been on its way when
// it released the lock.
//
// An update may be lost although no access took it away, such as by the resource itself. So the lost updates of a lock
// that exceed those that explained accesses took away are unexplained. No overlap explains that a client writes under a
// read hold, or that a legal holder is refused. It says as well whether only standstills explain all of it that nobody
// planned.
func (d *digest) attribute(x *effects) (bad, open int64, unplanned bool) {
	if !x.attributed {
		return 0, 0, false
	}
	planned := false
	w := blame{d, map[handOver]explanation{}}
	writes := d.writesOf(x.damages)
	of := func(e *history.Event) (n writeCount) {
		if e != nil {
			n = writes[loss{keyOf(e), e.Lock}]
		}
		return n
	}
	accounted := map[*lockEffect]int64{}
	for i := range x.damages {
		m := &x.damages[i]
		if m.refused {
			if why, held := w.wronglyRefused(m); held {
				x.falseRejections++
				if m.finding >= 0 {
					x.findings[m.finding].Text += "; but its hold was not over, because " + why.text
				}
			}
			continue
		}
		why := w.of(m)
		accounted[m.lock] += m.lost
		unlearned := of(m.e).unsettled > 0 || m.lost == 0 && of(m.by).unsettled > 0
		x.harms.damage(why, m, of(m.by).settled > 0)
		switch {
		case m.lost > 0 && of(m.by).settled == 0: // what it took away was acknowledged to nobody
		case why.cause == CauseSlowClient:
			unplanned = true
		case why.explained():
			planned = true
		case why.unsure() || unlearned:
			open++
		default:
			bad++
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
	bad += x.underRead + x.falseRejections
	return bad, open, unplanned && !planned && bad+open == 0
}

// wronglyRefused reports whether an access was refused though its client rightly believed in its hold: the service had
// not taken it, for any reason that is known, before it granted the one that the resource went by.
func (b *blame) wronglyRefused(m *damage) (why explanation, held bool) {
	older, newer := b.at(m.e), b.at(m.by)
	if older == nil || newer == nil || older == newer ||
		b.believedUntil(older) <= m.e.At+b.apart(older.Process, m.e.Process) {
		return why, false
	}
	why = b.overlap(older, newer)
	return why, !why.explained() && !why.unsure()
}

// A blame finds what explains damages.
type blame struct {
	*digest
	known map[handOver]explanation
}

// A handOver is a pair of holds; the service took the lock from the older one before it granted the newer one.
type handOver struct{ older, newer *history.Acquisition }

// of explains one damage.
func (b *blame) of(m *damage) explanation {
	if m.crowd != nil {
		return b.ofCrowd(m)
	}
	none := unexplained(nil, "no explained overlap of holds covers it")
	if m.by == nil {
		return none
	}
	older, newer, first := b.at(m.by), b.at(m.e), true
	if older == nil || newer == nil || older == newer {
		return none
	}
	if b.earlier(newer, older) {
		older, newer, first = newer, older, false
	}
	if why := b.overlap(older, newer); m.outdatedAt(first) <= b.usedUntil(older, why) {
		return why
	}
	return none
}

// ofCrowd explains that more permits were used than there are. The service took enough of them from their holders
// before it granted the newest.
func (b *blame) ofCrowd(m *damage) explanation {
	none := unexplained(nil, "no explained overlap of holds covers it")
	var newest *history.Acquisition
	for _, u := range m.crowd {
		a := b.at(u.first)
		if a == nil {
			return none
		}
		if newest == nil || b.earlier(newest, a) {
			newest = a
		}
	}
	var lost, perhaps int64
	why, suspicion := none, none
	for _, u := range m.crowd {
		a := b.at(u.first)
		if a == newest {
			continue
		}
		switch x := b.overlap(a, newest); {
		case u.last > b.usedUntil(a, x):
		case x.explained():
			lost, why = lost+a.Permits, x
		case x.unsure():
			perhaps, suspicion = perhaps+a.Permits, x
		}
	}
	switch {
	case lost >= m.excess:
		return why
	case lost+perhaps >= m.excess:
		return suspicion
	}
	return none
}

// unguarded reports whether older's client had learned of its loss before newer's was granted the lock, and goes on
// because it has no guard. Then the lock did what it promises, whatever took older's hold.
func (b *blame) unguarded(older, newer *history.Acquisition) bool {
	return b.facts.Guard == GuardNone && older.Lost != history.None &&
		older.Lost+b.apart(older.Process, newer.Process) < newer.Returned
}

// usedUntil is until when the explanation of a hold's loss explains as well that its client used what the lock
// protects: until the client must have learned of the loss. Nothing stops a client without a guard then, and it goes on
// until it gives the lock back. Whether the lock told it in time is for belief exclusion to judge.
func (b *blame) usedUntil(a *history.Acquisition, why explanation) int64 {
	switch {
	case b.facts.Guard != GuardNone || !why.explained() && !why.unsure():
		return why.told
	case a.ReleaseInvoked == history.None:
		return math.MaxInt64
	}
	return max(why.told, a.ReleaseInvoked+b.slack())
}

// earlier reports whether the service granted p before q, as far as the record tells.
func (b *blame) earlier(p, q *history.Acquisition) bool {
	return b.grantedFirst(p, q) || !b.grantedFirst(q, p) && p.Returned < q.Returned
}

// overlap explains that older could still use what it had lost to newer. What nothing explains was over at once.
func (b *blame) overlap(older, newer *history.Acquisition) explanation {
	p := handOver{older, newer}
	why, seen := b.known[p]
	if !seen {
		if why = b.taken(older, newer); !why.explained() && !why.unsure() {
			why.told = history.None
			if b.unguarded(older, newer) {
				why = explanation{cause: CauseUnguarded, text: older.Client + " had learned of the loss before, and has no guard"}
			}
		}
		b.known[p] = why
	}
	return why
}

// at returns the acquisition of an access, nil if it is not recorded. A client that was restarted may have used the
// number before.
func (d *digest) at(e *history.Event) *history.Acquisition {
	for a := range history.AcquisitionsOf(d.events, e.Client, e.Lock, e.Acq) {
		if a.Invoked <= e.At+d.apart(a.Process, e.Process) && a.Granted() {
			return a
		}
	}
	return nil
}

// goneBy returns what reports whether the hold of an access had ended at the servers before the access; nil where the
// servers' transactions do not tell.
func (d *digest) goneBy() func(e *history.Event) bool {
	if !d.transactions.whole() || !d.facts.Exclusive {
		return nil
	}
	return func(e *history.Event) bool {
		a := d.at(e)
		if a == nil {
			return false
		}
		at, end := d.gone(a)
		return end != nil && e.At > at
	}
}

// expiredBy is by when the session of an access had expired, if its client has a lease clock, which runs out before
// that; [history.None] if it had not, or if the servers' transactions do not tell. A lease clock foresees nothing that
// somebody else does to a session or a znode.
func (d *digest) expiredBy(e *history.Event) int64 {
	if d.facts.Guard != GuardLeaseClock || !d.transactions.whole() {
		return history.None
	}
	a := d.at(e)
	if a == nil {
		return history.None
	}
	end := d.sessionEnd(a.Session)
	if end == nil || !d.transactions.History.Sessions[int64(a.Session)].Expired {
		return history.None
	}
	return d.transactions.clock.at(end.Time) + d.transactions.clock.err
}
