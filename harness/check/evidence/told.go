package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// ToldBy is by when a client must have learned that its session has ended, where nothing keeps it from hearing of that
// after since. A client without an answer gives its server up within 2/3 of the timeout and connects to another one,
// which tells it.
//
// If a fault strikes its process meanwhile that lasts long enough to cost a connection, the client has to begin anew.
// Shorter ones, and standstills of its process, only take their time from it. A fault of servers takes its time as long
// as no majority serves. If one does, the client finds another server: one that was killed refuses its connection at
// once, one that is cut off costs it at most twice the time that it has anyway, and one that stands still may keep it
// for ten times the 2/3 of the timeout, as go-zookeeper waits for its answer. What an administrator does, and what lets
// heartbeats through to its process, keeps nothing from it, unless it makes answers so late that no new connection
// comes about.
//
// Surely it has learned of that once it had twice the time in calm, however often it had to begin anew, and if servers
// did not stand still by themselves.
func (d *Digest) ToldBy(a *history.Acquisition, since int64) (surely, by int64) {
	type hindrance struct{ from, until, again int64 }
	var all []hindrance
	t := d.Timeout(a.Session)
	within := int64(StallBound(time.Duration(t), d.Facts.Tick)) + d.Slack()
	for _, f := range d.Faults {
		_, until := f.Effect()
		passes := f.Passes(t) && f.Delays < dial/2
		atMost := func(most int64) int64 { return min(until, Later(max(f.Began(), since), most)) }
		own := f.Hits(d.ServerAt(a.Session, since))
		switch {
		case !f.Possible() || !f.silences() || f.Nature.Cause == CauseAdministrator:
		case f.Hits(a.Process) && passes:
		case f.Hits(a.Process) && until-f.Began() < d.leastPart(t) && !f.Nature.Lingers:
			all = append(all, hindrance{from: f.Began(), until: Later(until, int64(HandOff))})
		case f.Hits(a.Process):
			all = append(all, hindrance{f.Began(), until, Later(until, within)})
		case d.OnlyClients(f) || passes && !own && !f.StrikesLeader():
		case !d.majorityServes(f):
			all = append(all, hindrance{from: f.Began(), until: until})
		case f.Cause() == CauseKill && !f.StrikesLeader() && len(f.Targets) == 1:
		case f.Stops() && !own:
			all = append(all, hindrance{from: f.Began(), until: atMost(10 * t * 2 / 3)})
		default:
			all = append(all, hindrance{from: f.Began(), until: atMost(2 * within)})
		}
	}
	for _, e := range d.Hiccups[a.Process] {
		all = append(all, hindrance{from: e.At - int64(e.Hiccup()), until: e.At})
	}
	told := func() int64 {
		slices.SortFunc(all, func(a, b hindrance) int { return cmp.Compare(a.from, b.from) })
		by := Later(since, within)
		for _, h := range all {
			if h.from <= by && h.until > since {
				by = max(h.again, by)
				if h.again == 0 {
					by = Later(by, h.until-max(h.from, since))
				}
			}
		}
		return by
	}
	var hindered []spans.Span
	for _, h := range all {
		hindered = append(hindered, spans.Span{From: h.from, Until: h.until})
	}
	surely = min(told(), spans.Merged(hindered).Spent(since, 2*within))
	for _, s := range d.standstillsOfServers() {
		if s.concerns(d.ServerAt(a.Session, since)) {
			all = append(all, hindrance{s.From, s.Until, Later(s.Until, within)})
		}
	}
	return surely, told()
}

// tell notes by when a's client must have learned of its loss, where nothing keeps it from that after since.
func (x *Explanation) tell(d *Digest, a *history.Acquisition, since int64) {
	x.surely, x.Told = d.ToldBy(a, since)
}

// Until is x for a client that believed in its hold until an instant. It is a doubt if the client may have learned of
// its loss sooner.
func (x Explanation) Until(at int64) Explanation {
	if !x.Explained() || at <= x.Surely() || at > x.Told {
		return x
	}
	y := Late(x.Text, x.Surely(), x.Told)
	y.Fault, y.Hiccup, y.Zxids, y.Loser = x.Fault, x.Hiccup, x.Zxids, x.Loser
	return y
}

// Late is the doubt about a client that must surely have learned of its loss by one instant, or else by another.
func Late(what string, surely, told int64) Explanation {
	x := suspected(nil, what, fmt.Sprintf("but by %s its client must have learned that it was lost, unless servers stood "+
		"still, or disturbances one after the other kept that from it", Seconds(surely)))
	x.surely, x.Told = surely, told
	return x
}

// Surely is by when the holder must have learned of its loss for certain.
func (x Explanation) Surely() int64 {
	if x.surely == 0 {
		return x.Told
	}
	return min(x.surely, x.Told)
}

// dial is for how long clients wait for a new connection.
const dial = time.Second

// keeps is until when a fault that cost a its session kept its process from hearing of that; the beginning of time if
// it did not strike it, because the client leaves a server without an answer.
func keeps(f *Fault, a *history.Acquisition) int64 {
	if f.Hits(a.Process) {
		return f.Until()
	}
	return math.MinInt64
}

// keptUntil is the same of several silences, and at least the expiry.
func keptUntil(a *history.Acquisition, chain []silence, expired int64) int64 {
	until := expired
	for _, s := range chain {
		if s.fault == nil {
			until = max(until, s.until)
		} else {
			until = max(until, keeps(s.fault, a))
		}
	}
	return until
}

// majorityServes reports whether a majority of the servers served during a fault of servers: the record says which they
// are, and it struck fewer than half of them, with all others that were in force at a time; or somebody was granted or
// released a lock that he had asked for meanwhile.
func (d *Digest) majorityServes(f *Fault) bool {
	if d.ServedThrough(f) != math.MaxInt64 {
		return true
	}
	if d.Facts.Servers == nil || len(d.Facts.Servers.Ensemble) == 0 {
		return false
	}
	return 2*d.StruckWith(f, (*Fault).Effect) < len(d.Facts.Servers.Ensemble)
}

// StruckWith returns how many servers f struck, together with all faults whose times meet its own, which when returns.
func (d *Digest) StruckWith(f *Fault, when func(*Fault) (from, until int64)) (n int) {
	struck := map[string]bool{}
	from, until := when(f)
	for _, g := range d.Faults {
		if also, over := when(g); also <= until && over >= from {
			for _, host := range g.Targets {
				struck[host] = true
			}
		}
	}
	for _, server := range d.Facts.Servers.Ensemble {
		if struck[server] {
			n++
		}
	}
	return n
}

// ServedThrough is when somebody was granted or released a lock that he had asked the servers for while a fault was in
// force, or a znode was created then by their logs, or a look showed that they committed a write; the end of time if
// there was none of it. From then on, a server leads that the fault has not struck.
func (d *Digest) ServedThrough(f *Fault) int64 {
	return d.servedThrough.Of(f, func() int64 {
		from, until := f.Effect()
		served := int64(math.MaxInt64)
		note := func(asked, done int64) {
			if asked != history.None && done != history.None && asked >= max(from, f.Verified) && done <= until {
				served = min(served, done)
			}
		}
		for i := range d.Acquisitions {
			a := &d.Acquisitions[i]
			if a.Granted() {
				note(a.Invoked, a.Returned)
			}
			if a.ReleaseOutcome == history.OK {
				note(a.ReleaseInvoked, a.ReleaseReturned)
			}
		}
		if d.Transactions.Whole() {
			c := d.Transactions.Clock
			for i := range d.Transactions.History.Lives {
				at := c.At(d.Transactions.History.Lives[i].Created)
				note(at-c.Err, at+c.Err)
			}
		}
		for _, look := range d.Events.Looks() {
			for _, s := range look.Servers {
				if s.Committed && !f.Hits(s.Server) {
					note(look.At, look.At)
				}
			}
		}
		return served
	})
}
