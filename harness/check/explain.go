package check

import "locklab/harness/history"

// explain returns the fault because of which newer could be granted the lock
// while older still believed, or nil: then the recipe or the service is broken.
//
// "Some fault was going on" is no explanation. The tokens must say that newer
// was granted after older, so that the service did take the lock from the one
// before it gave it to the other; and older's session must have had the time to
// expire, see [digest.outage].
func (d *digest) explain(older, newer *history.Acquisition) *fault {
	if older.Token == 0 || newer.Token <= older.Token {
		return nil
	}
	return d.outage(older, newer.Returned)
}

// outage returns the verified fault that can have cost a its session by the
// instant at, or nil. Of several the one that began first.
//
// It must have struck a's process, or the server that a's session was connected
// to, or the leader, who alone keeps sessions alive. The silence that it caused must have lasted 2/3 of the session timeout
// before at: a server expires no session sooner than a timeout after it last
// heard of it, and of an idle client it last heard up to a third of the timeout
// before the silence began. The silence is counted from a's acquire call if the
// fault is older than that, since the service heard of a after it. And what was
// healed long ago explains nothing: within the timeout and two ticks the
// session is either expired or alive again, and its client knows.
func (d *digest) outage(a *history.Acquisition, at int64) *fault {
	t := d.timeout(a.Session)
	if t <= 0 {
		return nil
	}
	for _, f := range d.faults {
		if f.injected == history.None || f.verified == history.None {
			continue
		}
		from := max(f.injected, a.Invoked)
		if f.Role != RoleLeader && !f.hits(a.Process) && !f.hits(d.serverAt(a.Session, from)) {
			continue
		}
		until := f.until()
		if min(until, at)-from < t*2/3 || at-until > t+2*int64(d.facts.Tick) {
			continue
		}
		return f
	}
	return nil
}
