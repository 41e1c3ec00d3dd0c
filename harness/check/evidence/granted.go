package evidence

import (
	"sort"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// neverGranted says that the service cannot have granted a before the end of its session, because others had the lock,
// or too many of its permits, from before a was called for until then: they had been told of their grants, their
// sessions lived on, and they released what they had. It returns nil if that is not known.
func (d *Digest) neverGranted(a *history.Acquisition, end *nodes.End) *Explanation {
	c := d.Transactions.Clock
	over := c.At(end.Time) + c.Err + d.Slack()
	taken, most := a.Permits, d.MostPermits(a.Lock, a.Invoked, over)
	for _, h := range d.GrantsOf(a.Lock) {
		if h.Returned+d.Slack() > a.Invoked {
			break
		}
		if h.Client == a.Client || !EndedCleanly(h) || h.ReleaseInvoked < over || !d.livedOn(h) {
			continue
		}
		if h.Mode == history.ModePermit {
			taken += h.Permits
		}
		if history.Conflict(h.Mode, a.Mode) || a.Mode == history.ModePermit && most > 0 && taken > most {
			x := Unexplained([]int64{end.Zxid}, "it was granted nothing before its session ended at zxid %s (%s): %s had the "+
				"lock since before that acquire was called", Zxid(end.Zxid), Seconds(c.At(end.Time)), h.Client)
			return &x
		}
	}
	return nil
}

// livedOn reports whether, by the servers' logs, the session of a hold was alive when the hold was released, and no
// fault deleted its znodes.
func (d *Digest) livedOn(h *history.Acquisition) bool {
	if h.Session == 0 || d.Transactions.History.Sessions[int64(h.Session)] == nil || d.administeredWithin(h, h) != nil {
		return false
	}
	c, end := d.Transactions.Clock, d.SessionEnd(h.Session)
	return end == nil || c.At(end.Time)-c.Err > h.ReleaseInvoked
}

// usedAtOnce reports whether the client of a hold whose end is missing used the resource after another client had been
// granted the lock, so that both believed in their holds at once.
func (d *Digest) usedAtOnce(a, other *history.Acquisition) bool {
	last := d.lastUses.Of(func() map[*history.Acquisition]int64 {
		all := map[*history.Acquisition]int64{}
		for _, e := range d.Events.Of(history.OpRead, history.OpWrite) {
			for a := range history.AcquisitionsOf(d.Events, e.Client, e.Lock, e.Acq) {
				if e.Kind == history.Invoke && e.Process == a.Process && d.unreleased[a] {
					all[a] = e.At
				}
			}
		}
		return all
	})
	return last[a] > max(a.Returned, other.Returned)+d.Slack()
}

// actedThrough reports whether, by the servers' logs, the leader took up a request of a session while a fault was in
// force, before an instant, and so long after its beginning that it was not on its way since before.
func (d *Digest) actedThrough(session history.SessionID, f *Fault, before int64) bool {
	if d.Transactions == nil || !f.Certain() {
		return false
	}
	s, c := d.Transactions.History.Sessions[int64(session)], d.Transactions.Clock
	if s == nil {
		return false
	}
	_, healed := f.Effect()
	from, until := f.Verified+d.Slack()+int64(HandOff), min(healed, before)
	i := sort.Search(len(s.Acted), func(i int) bool { return c.At(s.Acted[i])-c.Err > from })
	return i < len(s.Acted) && c.At(s.Acted[i])+c.Err < until
}

// Unreleased reports whether the end of a hold is missing from the record, so that it is not known how long it was
// believed in.
func (d *Digest) Unreleased(a *history.Acquisition) bool { return d.unreleased[a] }

// findUnreleased returns the holds of which nothing says that they were released or lost, or that their process exited,
// though their client went on without them: it asked for the lock again, or its process was started again or done. A
// writer may come to read as well, and a client to have more permits.
func (d *Digest) findUnreleased() map[*history.Acquisition]bool {
	all := map[*history.Acquisition]bool{}
	started := map[string]int64{} // by process: when it was started last, or done
	for _, e := range d.Events.Of(history.OpProcess, history.OpDone) {
		if e.Op == history.OpDone || e.ProcessIs(history.ProcessStarted) {
			started[e.Process] = e.At - d.Slack()
		}
	}
	type caller struct{ client, lock string }
	last := map[caller]*history.Acquisition{}
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		by := caller{a.Client, a.Lock}
		if b := last[by]; b != nil && endless(b) && b.Process == a.Process && b.N != a.N && a.Mode != history.ModePermit &&
			(b.Mode == a.Mode || b.Mode == history.ModeRead) {
			all[b] = true
		}
		last[by] = a
		if endless(a) && a.Returned < started[a.Process] {
			all[a] = true
		}
	}
	return all
}

// endless reports whether the record has no end of a hold.
func endless(a *history.Acquisition) bool {
	return a.Granted() && a.ReleaseInvoked == history.None && a.Lost == history.None && a.Died == history.None
}

// TakenTogether returns the acquisitions that were called for before the others of the same number had returned, so
// that a client took several locks at once.
func (d *Digest) TakenTogether() map[*history.Acquisition]bool {
	return d.together.Of(func() map[*history.Acquisition]bool {
		several := map[*history.Acquisition]bool{}
		last := map[string]*history.Acquisition{} // by client
		for i := range d.Acquisitions {
			a := &d.Acquisitions[i]
			if b := last[a.Client]; b != nil && b.N == a.N && b.Lock != a.Lock && b.Process == a.Process &&
				b.Died == a.Died && (b.Returned == history.None || b.Returned >= a.Invoked) {
				several[a], several[b] = true, true
			}
			last[a.Client] = a
		}
		return several
	})
}

// EndedCleanly reports whether the hold of a granted acquisition ended with a release that succeeded.
func EndedCleanly(a *history.Acquisition) bool {
	return a.ReleaseReturned != history.None && a.ReleaseOutcome == history.OK && a.Lost == history.None &&
		a.Died == history.None
}
