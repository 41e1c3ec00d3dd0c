package evidence

import (
	"math"
	"slices"

	"locklab/ensembles/txnlog"
	"locklab/harness/history"
)

// Outage explains by the history alone, without the servers' transactions, how a can have lost its session by the
// instant at. Its cause is [CauseNone] if nothing explains that.
//
// The fault must have struck a's process, or the server that a's session was connected to, or the leader, which alone
// keeps sessions alive; or a's process must have stood still. The silence that it caused must have lasted before at for
// as long as a session that expires must have been silent at least; see [Expiry]. It is counted from the last time that
// the service heard of the session for certain, such as a's acquire call; but not if the leader need not have heard of
// that yet. A silence that was over long ago explains nothing, because within the timeout and two ticks the session is
// either expired or alive again, and its client knows. A session that was used later had not ended.
func (d *Digest) Outage(a *history.Acquisition, at int64) Explanation {
	t := d.Timeout(a.Session)
	if t <= 0 {
		return Unexplained(nil, "no fault explains it")
	}
	if used := d.usedAfter(a, at); used != history.None {
		return Unexplained(nil, "its session was in use at %s, so it had not ended", Seconds(used))
	}
	since := d.askedBefore(a, at-d.BackAt()-int64(HandOff))
	if at-a.Invoked > d.BackAt()+int64(HandOff) {
		since = max(since, a.Invoked)
	}
	over := t + 2*int64(d.Facts.Tick) + d.Slack()          // by then the session has expired, or is alive again
	whole := at-max(since, math.MinInt64/2) >= t-d.Slack() // servers that nothing strikes wait for the whole timeout
	long := func(from, until int64, beyond bool) bool {
		return min(until, at)-max(from, since) >= d.leastSilence(t, beyond) && at-until <= over && (beyond || whole)
	}
	because := func(reason func(f *Fault, from int64) bool) *Fault {
		return d.blame(t, func(f *Fault) bool {
			_, until := f.Effect()
			from := f.muffles(t)
			if !f.Stops() && min(until, at)-max(from, since) >= d.leastPart(t) {
				until = Later(until, d.BackAt()) // it takes a moment to connect again
			}
			return f.silences() && !d.grantedThrough(a.Session, f) && long(from, until, !f.Hits(a.Process)) &&
				reason(f, max(from, since, a.Invoked))
		})
	}
	told := func(x Explanation, from, until int64) Explanation {
		expired := min(at, Later(max(from, since), int64(d.expiry(t).Latest())+d.Slack()))
		x.tell(d, a, max(expired, until))
		return x
	}
	f := because(func(f *Fault, from int64) bool {
		return f.silencesLeader() || f.Hits(a.Process) || f.Hits(d.ServerAt(a.Session, from))
	})
	if f != nil && f.doubt(t) == "" {
		return told(blamed(f, f.String(), t), f.muffles(t), keeps(f, a))
	}
	for _, e := range d.standstills(a.Process) {
		if from := e.At - int64(e.Hiccup()); long(from, e.At, false) {
			return told(stoodStill(e), from, e.At)
		}
	}
	if f != nil {
		return told(blamed(f, f.String(), t), f.muffles(t), keeps(f, a))
	}
	// A session that the lock does not say may have been connected to any server.
	anywhere := func(f *Fault, from int64) bool {
		return (a.Session == 0 || d.ServerAt(a.Session, from) == "") && !d.OnlyClients(f)
	}
	if f = because(func(f *Fault, from int64) bool { return f.hampersLeader() || anywhere(f, from) }); f != nil {
		return told(suspected(f, f.String(), hampered), f.muffles(t), keeps(f, a))
	}
	// Silences without a gap between them add up.
	all := d.silences(a, since, at, t)
	for _, s := range all {
		expired := min(at, s.until)
		chain := d.reach(slices.Clone(all), since, expired, t)
		beyond := slices.ContainsFunc(chain, func(s silence) bool { return s.beyond })
		if chain != nil && at-expired <= over && (beyond || whole) {
			return told(blamedFor(chain, since, expired), expired, keptUntil(a, chain, expired))
		}
	}
	if s := d.unrecorded(a); s != nil && long(s.from, s.until, false) {
		return told(suspected(nil, "no fault explains it", s.doubt), s.from, s.until)
	}
	for s := range d.idle(a).Meeting(at-t-2*int64(d.Facts.Tick)-d.Slack(), at) {
		if long(s.From, s.Until, false) {
			x := suspected(nil, "no fault explains it", unseen)
			x.Told = d.toldUnseen(a, max(at, s.Until))
			return x
		}
	}
	return Unexplained(nil, "no fault explains it")
}

// A contact is a request of a session that the servers answered, so that the session had not ended in between.
type contact struct{ asked, answered int64 }

// answeredOf returns the contacts of a session: it was granted a lock, had its place in a queue, or ZooKeeper
// acknowledged a write of data that are in ZooKeeper. A release is none, because some libraries answer it without
// asking the servers.
func (d *Digest) answeredOf(session history.SessionID) []contact {
	return d.answered.Of(func() map[history.SessionID][]contact {
		all := map[history.SessionID][]contact{}
		note := func(s history.SessionID, asked, answered int64) {
			if s != 0 && asked != history.None {
				all[s] = append(all[s], contact{asked, answered})
			}
		}
		for i := range d.Acquisitions {
			if a := &d.Acquisitions[i]; a.Granted() {
				note(a.Session, a.Invoked, a.Returned)
			}
		}
		for _, e := range d.Events.Of(history.OpQueued) {
			for a := range history.AcquisitionsOf(d.Events, e.Client, e.Lock, e.Acq) {
				if a.Queued == e.At {
					note(e.Session, a.Invoked, e.At)
				}
			}
		}
		if d.Facts.Guard != GuardZKMulti {
			return all
		}
		asked := map[string]int64{} // by client
		for _, e := range d.Events.Of(history.OpWrite) {
			switch {
			case e.Process != history.HostOf(e.Client):
			case e.Kind == history.Invoke:
				asked[e.Client] = e.At
			case e.Kind == history.OK:
				note(e.Session, asked[e.Client], e.At)
			}
		}
		return all
	})[session]
}

// releasedAtServers reports whether a release succeeded and the servers' logs show that its session deleted its znode
// meanwhile. Else its client may have had the answer from its library, without asking the servers.
func (d *Digest) releasedAtServers(a *history.Acquisition) bool {
	at, end := d.EndAtServers(a)
	return a.ReleaseOutcome == history.OK && end != nil && end.Cause != txnlog.CloseSession &&
		end.By == int64(a.Session) && at >= a.ReleaseInvoked && at-2*d.Transactions.Clock.Err <= a.ReleaseReturned
}

// usedAfter is when a's session was first used after an instant, so that it had not ended by then: it connected again,
// or had an answer. It is [history.None] if the record has neither.
func (d *Digest) usedAfter(a *history.Acquisition, at int64) int64 {
	first := history.None
	note := func(t int64) {
		if t-d.Slack() > at && (first == history.None || t < first) {
			first = t
		}
	}
	if a.Session == 0 {
		return first
	}
	if d.Driver(a) == "" { // another one may say later what it has read
		for _, c := range d.sessions[a.Session] {
			note(c.At)
		}
	}
	for _, c := range d.answeredOf(a.Session) {
		if c.asked > at && c != (contact{a.Invoked, a.Returned}) { // its own grant is what is in question
			note(c.answered)
		}
	}
	return first
}

// grantedThrough reports whether a session asked the servers and had its answer while a fault was in force. So the
// fault did not keep its session from being heard, although it let nothing through where it struck. One of several
// servers may have struck another of them afterwards, see [Digest.serversSilent].
func (d *Digest) grantedThrough(session history.SessionID, f *Fault) bool {
	_, until := f.Effect()
	if session == 0 || !f.Certain() || f.Passes(d.Timeout(session)) {
		return false
	}
	return slices.ContainsFunc(d.answeredOf(session), func(c contact) bool {
		return c.asked > f.Verified+d.Slack() && c.answered < until
	})
}

// askedBefore is since when at least the servers have heard of a's session by an instant: it had connected, or asked
// for what it had an answer to. Unlike [Digest.heard], it does not rely on when an answer arrived.
func (d *Digest) askedBefore(a *history.Acquisition, at int64) int64 {
	last := int64(math.MinInt64 / 2)
	if a.Session == 0 {
		return last
	}
	if d.Driver(a) == "" {
		for _, c := range d.sessions[a.Session] {
			if t := d.SentBy(history.HostOf(d.ClientOf[a.Session]), c.At); t <= at {
				last = max(last, t)
			}
		}
	}
	for _, c := range d.answeredOf(a.Session) {
		if c.answered <= at {
			last = max(last, c.asked)
		}
	}
	return last
}
