package evidence

import "locklab/harness/history"

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
