package effect

import (
	"cmp"
	"math"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A damage is an access that the resource accepted and should not have, or the updates that it took away.
type damage struct {
	lock    *LockEffect
	e, by   *history.Event // the access, and the one that shows what is wrong with it; by may be nil
	lost    int64          // updates that it took away; 0 for an access that only should not have been accepted
	until   int64          // of uses at once: the last instant of both; else None
	refused bool           // the access was refused, which is a damage if its hold was not over
	crowd   []*use         // of permits: all uses at once
	excess  int64          // of permits: by how many too many were used
	finding int            // its index; -1 if it was not kept
}

// note remembers a damage that [evidence.Digest.attribute] is to attribute.
func (x *Effects) note(m damage) {
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
func (x *Effects) tookAway(l *LockEffect, e *history.Event) (all []damage) {
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
type writeCount struct {
	settled, unsettled int
	open               map[int64]bool // the values of those of unknown outcome
}

// openWithin counts those of unknown outcome that a damage can have taken away.
func (n writeCount) openWithin(m *damage) (open int64) {
	for value := range n.open {
		if value >= m.e.Access().Value && value <= m.by.Access().Value {
			open++
		}
	}
	return open
}

// writesOf counts the writes of the holds that damages are about, by their clients' record.
func writesOf(d *evidence.Digest, damages []damage) map[loss]writeCount {
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
	for _, e := range d.Events.Of(history.OpWrite) {
		of := loss{keyOf(&e), e.Lock}
		n, wanted := counts[of]
		if !wanted || e.Process != history.HostOf(e.Client) {
			continue
		}
		switch e.Kind {
		case history.Invoke:
			n.unsettled++
			if n.open == nil {
				n.open = map[int64]bool{}
			}
			n.open[e.Access().Value] = true
		case history.OK:
			n.unsettled--
			n.settled++
			delete(n.open, e.Access().Value)
		case history.Fail:
			n.unsettled--
			delete(n.open, e.Access().Value)
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
func attribute(d *evidence.Digest, x *Effects) (bad, open int64, unplanned bool) {
	if !x.attributed {
		return 0, 0, false
	}
	planned, unseen := false, int64(0)
	w := blame{d, map[HandOver]evidence.Explanation{}}
	writes := writesOf(d, x.damages)
	of := func(e *history.Event) (n writeCount) {
		if e != nil {
			n = writes[loss{keyOf(e), e.Lock}]
		}
		return n
	}
	accounted := map[*LockEffect]int64{}
	for i := range x.damages {
		m := &x.damages[i]
		if m.refused {
			if why, held := w.wronglyRefused(m); held {
				x.FalseRejections++
				if m.finding >= 0 {
					x.findings[m.finding].Text += "; but its hold was not over, because " + why.Text
				}
			}
			continue
		}
		why := w.of(m)
		accounted[m.lock] += max(0, m.lost-of(m.by).openWithin(m))
		unlearned := of(m.e).unsettled > 0 || m.lost == 0 && of(m.by).unsettled > 0
		countDamage(x.harms, why, m, of(m.by).settled > 0)
		switch {
		case m.lost > 0 && of(m.by).settled == 0, // what it took away was acknowledged to nobody
			m.lost == 1 && of(m.by).open[m.by.Access().Value]:
		case why.Cause == evidence.CauseSlowClient:
			unplanned = true
		case why.Explained():
			planned = true
		case why.Unsure() || unlearned:
			open++
			if why.Unseen() {
				unseen++
			}
		default:
			bad++
		}
		if m.finding >= 0 {
			f := &x.findings[m.finding]
			f.Cause, f.Explained = why.Cause, why.Explained()
			if why.Fault != nil {
				f.Fault = why.Fault.ID
			}
			f.Text += "; " + why.Text
		}
	}
	for _, l := range x.Locks {
		if l.lost > accounted[l] {
			bad += l.lost - accounted[l]
		}
	}
	bad += x.underRead + x.FalseRejections
	return bad, open, (unplanned || unseen > 0) && !planned && bad == 0 && open == unseen
}

// wronglyRefused reports whether an access was refused though its client rightly believed in its hold: the service had
// not taken it, for any reason that is known, before it granted the one that the resource went by.
func (b *blame) wronglyRefused(m *damage) (why evidence.Explanation, held bool) {
	older, newer := at(b.Digest, m.e), at(b.Digest, m.by)
	if older == nil || newer == nil || older == newer ||
		b.BelievedUntil(older) <= m.e.At+b.Apart(older.Process, m.e.Process) {
		return why, false
	}
	why = b.overlap(older, newer)
	return why, !why.Explained() && !why.Unsure()
}

// A blame finds what explains damages.
type blame struct {
	*evidence.Digest
	known map[HandOver]evidence.Explanation
}

// A HandOver is a pair of holds; the service took the lock from the older one before it granted the newer one.
type HandOver struct{ Older, Newer *history.Acquisition }

// of explains one damage.
func (b *blame) of(m *damage) evidence.Explanation {
	if m.crowd != nil {
		return b.ofCrowd(m)
	}
	none := evidence.Unexplained(nil, "no explained overlap of holds covers it")
	if m.by == nil {
		return none
	}
	older, newer, first := at(b.Digest, m.by), at(b.Digest, m.e), true
	if older == nil || newer == nil || older == newer {
		return none
	}
	if b.earlier(newer, older) {
		older, newer, first = newer, older, false
	}
	why := b.overlap(older, newer)
	if why.Loser == newer.Client { // without tokens, its acquire may have returned last though it was granted first
		older, first = newer, !first
	}
	if m.outdatedAt(first) <= b.usedUntil(older, why) {
		return why
	}
	return none
}

// ofCrowd explains that more permits were used than there are. The service took enough of them from their holders
// before it granted the newest.
func (b *blame) ofCrowd(m *damage) evidence.Explanation {
	none := evidence.Unexplained(nil, "no explained overlap of holds covers it")
	var newest *history.Acquisition
	for _, u := range m.crowd {
		a := at(b.Digest, u.first)
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
		a := at(b.Digest, u.first)
		if a == newest {
			continue
		}
		switch x := b.overlap(a, newest); {
		case u.last > b.usedUntil(a, x):
		case x.Explained():
			lost, why = lost+a.Permits, x
		case x.Unsure():
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
	return b.Facts.Guard == evidence.GuardNone && older.Lost != history.None &&
		older.Lost+b.Apart(older.Process, newer.Process) < newer.Returned
}

// usedUntil is until when the explanation of a hold's loss explains as well that its client used what the lock
// protects: until the client must have learned of the loss. Nothing stops a client without a guard then, and it goes on
// until it gives the lock back. Whether the lock told it in time is for belief exclusion to judge.
func (b *blame) usedUntil(a *history.Acquisition, why evidence.Explanation) int64 {
	switch {
	case b.Facts.Guard != evidence.GuardNone || !why.Explained() && !why.Unsure():
		return why.Told
	case a.ReleaseInvoked == history.None:
		return math.MaxInt64
	}
	return max(why.Told, a.ReleaseInvoked+b.Slack())
}

// earlier reports whether the service granted p before q, as far as the record tells.
func (b *blame) earlier(p, q *history.Acquisition) bool {
	return b.GrantedFirst(p, q) || !b.GrantedFirst(q, p) && p.Returned < q.Returned
}

// overlap explains that older could still use what it had lost to newer. What nothing explains was over at once.
func (b *blame) overlap(older, newer *history.Acquisition) evidence.Explanation {
	p := HandOver{older, newer}
	why, seen := b.known[p]
	if !seen {
		if why = b.Taken(older, newer); !why.Explained() && !why.Unsure() {
			why.Told = history.None
			if b.unguarded(older, newer) {
				why = evidence.Explanation{Cause: evidence.CauseUnguarded, Text: older.Client +
					" had learned of the loss before, and has no guard"}
			}
		}
		b.known[p] = why
	}
	return why
}

// at returns the acquisition of an access, nil if it is not recorded. A client that was restarted may have used the
// number before.
func at(d *evidence.Digest, e *history.Event) *history.Acquisition {
	for a := range history.AcquisitionsOf(d.Events, e.Client, e.Lock, e.Acq) {
		if a.Invoked <= e.At+d.Apart(a.Process, e.Process) && a.Granted() {
			return a
		}
	}
	return nil
}

// goneBy returns what reports whether the hold of an access had ended at the servers before the access; nil where
// nothing tells. Where ZooKeeper keeps the data, it had also ended if the lock had gone on to another client.
func goneBy(d *evidence.Digest) func(e *history.Event) bool {
	multi := d.Facts.Guard == evidence.GuardZKMulti
	if !d.Facts.Exclusive || !d.Transactions.Whole() && !multi {
		return nil
	}
	return func(e *history.Event) bool {
		a := at(d, e)
		if a == nil {
			return false
		}
		if d.Transactions.Whole() {
			if at, end := d.EndAtServers(a); end != nil && e.At > at {
				return true
			}
		}
		return multi && successor(d, a, e) != nil
	}
}

// successor is the first to whom the lock had gone on from a before an access of a's, nil if it is not known that it
// had: another client was granted it later, which is impossible while a has it, and had returned.
func successor(d *evidence.Digest, a *history.Acquisition, e *history.Event) *history.Acquisition {
	grants := d.GrantsOf(a.Lock)
	after, _ := slices.BinarySearchFunc(grants, a.Returned+1, func(b *history.Acquisition, at int64) int {
		return cmp.Compare(b.Returned, at)
	})
	for _, b := range grants[after:] {
		if b.Returned >= e.At {
			break
		}
		if b.Client != a.Client && b.Returned+d.Apart(a.Process, b.Process) < e.At && replaces(d, b, a) {
			return b
		}
	}
	return nil
}

// replaces reports whether b, which returned later, excludes a and was granted later too, as far as tokens tell.
func replaces(d *evidence.Digest, b, a *history.Acquisition) bool {
	if a.Mode == history.ModePermit || b.Mode == history.ModePermit {
		return a.Mode == b.Mode && outnumbers(d, b, a)
	}
	return (history.Exclusive(a.Mode) || history.Exclusive(b.Mode)) &&
		(a.Token == 0 || b.Token == 0 || b.Token > a.Token)
}

// outnumbers reports whether there were not enough permits for b unless a's session had expired, which something
// explains: b was called for after a was granted, and they and those that cannot have been lost meanwhile have more
// permits than there can have been.
func outnumbers(d *evidence.Digest, b, a *history.Acquisition) bool {
	if a.Returned+d.Apart(a.Process, b.Process) > b.Invoked || !d.Outage(a, b.Returned).Explained() ||
		slices.ContainsFunc(d.Faults, func(f *evidence.Fault) bool { return f.Cause() == evidence.CauseAdministrator }) {
		return false
	}
	taken, most := a.Permits+b.Permits, d.MostPermits(a.Lock, b.Invoked, b.Returned)
	for _, o := range d.GrantsOf(a.Lock) {
		off := d.Apart(o.Process, b.Process)
		if o.Mode != a.Mode || o == a || o.Returned+off > b.Invoked ||
			d.BelievedUntil(o)-off < b.Returned {
			continue
		}
		if x := d.Outage(o, b.Returned); !x.Explained() && !x.Unsure() {
			taken += o.Permits
		}
	}
	return most > 0 && taken > most
}

// expiredBy is by when the session of an access had expired, if its client has a lease clock, which runs out before
// that; [history.None] if it had not, or if nothing tells. Without the servers' transactions, it had when the lock had
// gone on to another client because of that. A lease clock foresees nothing that somebody else does to a session or a
// znode.
func expiredBy(d *evidence.Digest, e *history.Event) int64 {
	if d.Facts.Guard != evidence.GuardLeaseClock {
		return history.None
	}
	a := at(d, e)
	if a == nil {
		return history.None
	}
	if d.Transactions.Whole() && d.Transactions.History.Sessions[int64(a.Session)] != nil {
		end := d.SessionEnd(a.Session)
		if end == nil || !d.Transactions.History.Sessions[int64(a.Session)].Expired {
			return history.None
		}
		return d.Transactions.Clock.At(end.Time) + d.Transactions.Clock.Err
	}
	if b := successor(d, a, e); b != nil {
		x := d.Taken(a, b)
		if a.Mode == history.ModePermit {
			x = d.Outage(a, b.Returned)
		}
		if x.Explained() && x.Cause != evidence.CauseAdministrator && x.Cause != evidence.CauseServer {
			return b.Returned + d.Apart(a.Process, b.Process)
		}
	}
	return history.None
}
