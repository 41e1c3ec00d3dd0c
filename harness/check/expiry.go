package check

import (
	"fmt"
	"math"
	"slices"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// expiryCause returns what kept older's session from being heard of until it expired: a fault (see [digest.blame]) or
// a recorded hiccup. Between the last time that the servers are known to have heard of the session and its expiry, it
// must have lasted at least a third of the session timeout. It must have struck the session's process, the server that
// the session was connected to, or the leader (see [digest.leaderless]).
//
// A fault that was over for longer than a silent session may last explains nothing: see [evidence.silentSince].
//
// It is a third because an idle client was last heard of up to a third of the timeout before anything struck it, and
// because several faults in a row can each be that short.
func (d *digest) expiryCause(older *history.Acquisition, end *nodes.End) explanation {
	t := d.timeout(older.Session)
	at := d.servers.clock.at(end.Time) + d.servers.clock.err
	heard := max(d.heard(older, at), d.servers.silentSince(at, t+2*int64(d.facts.Tick)+int64(handOff)))
	long := func(from, until int64) bool { return t > 0 && min(until, at)-max(from, heard) >= t/3 }
	f := d.blame(func(f *fault) bool {
		from, until := f.effect()
		if !f.silences() || !long(from, until) {
			return false
		}
		return f.hits(older.Process) || f.hits(d.serverAt(older.Session, max(from, heard))) || d.leaderless(f, at, t)
	})
	if f != nil && f.certain() {
		return blamed(f, f.String())
	}
	for _, e := range d.hiccups[older.Process] {
		over := int64(e.Hiccup())
		if long(e.At-over, e.At) {
			return explanation{
				cause:  CauseSlowClient,
				hiccup: e,
				text:   fmt.Sprintf("%s stood still for %s from %s", e.Process, millis(over), seconds(e.At-over)),
			}
		}
	}
	if f == nil {
		f = d.blame(func(f *fault) bool { return f.hampersLeader() && long(f.effect()) })
		if f != nil {
			return suspected(f, f.String(), hampered)
		}
	}
	if f != nil {
		return blamed(f, f.String())
	}
	return unexplained(nil, "neither a fault nor a hiccup explains why session %s expired", older.Session)
}

// heard is the last time before at when the servers are known to have heard of older's session: they answered it, or
// did something for it. Pings leave no trace, so it may have been later.
func (d *digest) heard(older *history.Acquisition, at int64) int64 {
	last := int64(math.MinInt64 / 2)
	note := func(t int64) {
		if t <= at {
			last = max(last, t)
		}
	}
	for _, c := range d.sessions[older.Session] {
		note(c.at)
	}
	for _, a := range d.bySession[older.Session] {
		for _, t := range [...]int64{a.Queued, a.Returned} {
			if t != history.None && (t != a.Returned || a.Outcome == history.OK) {
				note(t)
			}
		}
		if a.ReleaseReturned != history.None && a.ReleaseOutcome == history.OK {
			note(a.ReleaseReturned)
		}
	}
	return last
}

// silentSince is the earliest time when the leader can have last heard of a session that expired at an instant, if it
// lets no session be silent for longer than longest. A new leader gives every session its whole timeout again.
func (v *evidence) silentSince(at, longest int64) int64 {
	since := at - longest
	for i, e := range slices.Backward(v.epochs) {
		if i > 0 && e <= at && e+v.clock.err >= since {
			since = min(since, e-longest)
		}
	}
	return since
}

// leaderless reports whether a fault kept the leader from hearing of sessions that were connected to another server,
// one of which expired at that instant. Until the next leader is there, such a fault is one that strikes the leader
// itself. The next leader gives every session its whole timeout again, so the last leader's end does not explain why a
// session was silent for longer.
func (d *digest) leaderless(f *fault, at, timeout int64) bool {
	from, _ := f.effect()
	next := int64(history.None)
	for i, e := range d.servers.epochs {
		if i > 0 && e >= from-d.servers.clock.err && e <= at+d.servers.clock.err {
			next = e
		}
	}
	if next == history.None {
		return f.silencesLeader()
	}
	server := slices.ContainsFunc(f.targets, func(h string) bool { return slices.Contains(d.servers.Ensemble, h) })
	return (server || f.silencesLeader()) && at-next <= timeout+2*int64(d.facts.Tick)+int64(handOff)
}

// outage returns the fault (see [digest.blame]) that can have cost a its session by the instant at, or nil; of
// several, the one that began first. The doubt says why that is not certain, if it is not.
//
// The fault must have struck a's process, or the server that a's session was connected to, or the leader, which alone
// keeps sessions alive. The silence that it caused must have lasted 2/3 of the session timeout before at: a server
// expires no session sooner than a timeout after it last heard of it, and it last heard of an idle client up to a
// third of the timeout before the silence began. If the fault is older than a's acquire call, the silence is counted
// from that call, since the service heard of a after the fault began. A fault that was healed long ago explains
// nothing, because within the timeout and two ticks the session is either expired or alive again, and its client knows.
func (d *digest) outage(a *history.Acquisition, at int64) (f *fault, doubt string) {
	t := d.timeout(a.Session)
	if t <= 0 {
		return nil, ""
	}
	because := func(reason func(f *fault, from int64) bool) *fault {
		return d.blame(func(f *fault) bool {
			from, until := f.effect()
			from = max(from, a.Invoked)
			return f.silences() && reason(f, from) && min(until, at)-from >= t*2/3 && at-until <= t+2*int64(d.facts.Tick)
		})
	}
	if f := because(func(f *fault, from int64) bool {
		return f.silencesLeader() || f.hits(a.Process) || f.hits(d.serverAt(a.Session, from))
	}); f != nil {
		return f, ""
	}
	return because(func(f *fault, _ int64) bool { return f.hampersLeader() }), hampered
}

// hampered is the doubt about a fault that may have kept the leader from hearing of sessions.
const hampered = "and it is not known whether the leader heard from the sessions meanwhile"

// blame returns the first fault that can be to blame, among those that were seen to take effect; if there is none,
// among those that may have.
func (d *digest) blame(canBe func(*fault) bool) *fault {
	var perhaps *fault
	for _, f := range d.faults {
		switch {
		case !f.possible() || perhaps != nil && !f.certain() || !canBe(f):
		case f.certain():
			return f
		default:
			perhaps = f
		}
	}
	return perhaps
}
