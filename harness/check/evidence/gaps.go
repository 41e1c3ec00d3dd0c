package evidence

import (
	"fmt"

	"locklab/harness/history"
)

// findUnreleased notes the holds of which the end is missing from the record: the client asked for the lock again in
// the same way, though nothing says that it had released or lost it. A writer may come to read as well, and a client to
// have more permits.
func (d *Digest) findUnreleased() {
	type caller struct{ client, lock string }
	last := map[caller]*history.Acquisition{}
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		by := caller{a.Client, a.Lock}
		if b := last[by]; b != nil && b.Granted() && b.ReleaseInvoked == history.None && b.Lost == history.None &&
			b.Died == history.None && b.Process == a.Process && b.N != a.N && b.Mode == a.Mode &&
			a.Mode != history.ModePermit {
			if d.unreleased == nil {
				d.unreleased = map[*history.Acquisition]bool{}
			}
			d.unreleased[b] = true
		}
		last[by] = a
	}
}

// afterDeath says which processes called for something while they were not running, by the record, so that it is not
// what happened.
func (d *Digest) afterDeath() (reasons []string) {
	dead := d.deadTimes()
	if len(dead) == 0 {
		return nil
	}
	said := map[string]bool{} // by process
	for i := range d.Acquisitions {
		a := &d.Acquisitions[i]
		for _, at := range [...]int64{a.Invoked, a.ReleaseInvoked} {
			for s := range dead[a.Process].Meeting(at, at+1) {
				if !said[a.Process] {
					reasons = append(reasons, fmt.Sprintf("%s called for %s at %s, and its process had exited at %s", a.Client,
						a.Lock, Seconds(at), Seconds(s.From)))
				}
				said[a.Process] = true
			}
		}
	}
	return reasons
}

// deadTimes are when processes were not running for certain: from their exit until they were started again.
func (d *Digest) deadTimes() map[string]Spans {
	all := map[string]Spans{}
	slack := d.Slack()
	for _, e := range d.Events.Of(history.OpProcess) {
		spans := all[e.Process]
		n := len(spans) - 1
		switch exited := e.ProcessIs(history.ProcessExited); {
		case n >= 0 && spans[n].Until == d.End && !exited:
			spans[n].Until = e.At - slack
		case exited && (n < 0 || spans[n].Until != d.End):
			all[e.Process] = append(spans, Span{e.At + slack, d.End})
		}
	}
	return all
}
