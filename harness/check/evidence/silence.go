package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// A silence is a time in which something may have kept the servers from hearing of a session.
type silence struct {
	from, until int64
	fault       *Fault         // the cause is a fault,
	hiccup      *history.Event // or a recorded standstill of the client's process
	doubt       string         // why it is not known that the session was silent; empty if it is known
	joined      spans.Span     // the silence without a gap that it is part of; see join
	beyond      bool           // the fault struck beyond the client: its server or the leader
}

// lasted is how long a silence without a gap lasted between two instants.
func (s *silence) lasted(from, until int64) int64 {
	return min(s.joined.Until, until) - max(s.joined.From, from)
}

// join finds out which silences have no gap between them.
func join(all []silence) {
	var times []spans.Span
	for _, s := range all {
		times = append(times, spans.Span{From: s.from, Until: s.until})
	}
	joined := spans.Merged(times)
	for i := range all {
		k, _ := slices.BinarySearchFunc(joined, all[i].from,
			func(x spans.Span, from int64) int { return cmp.Compare(x.Until, from) })
		all[i].joined = joined[k]
	}
}

// expiry says when a session with a timeout (ns) expires.
func (d *Digest) expiry(timeout int64) Expiry { return Expiry{time.Duration(timeout), d.Facts.Tick} }

// BackAt is how long it may take until the leader hears of a session again after whatever silenced it is over: half a
// tick until the follower's report, and the time for a hand-off on a busy machine. Until then the session may expire,
// though servers answer its client.
func (d *Digest) BackAt() int64 { return int64(d.expiry(0).ReportEvery()) + int64(HandOff) + d.Slack() }

// leastSilence is how long a session must have been silent to expire, and leastPart how long a silence must have lasted
// to be part of that, as far as clocks tell. beyond says that the silence began beyond the client.
func (d *Digest) leastSilence(timeout int64, beyond bool) int64 {
	least := d.expiry(timeout).Earliest()
	if beyond {
		least = d.expiry(timeout).EarliestBehind()
	}
	return int64(least) - d.Slack()
}
func (d *Digest) leastPart(timeout int64) int64 {
	return int64(d.expiry(timeout).PingEvery()) - d.Slack()
}

// expiryCause returns what kept a's session from being heard of until it expired: faults or recorded standstills that
// reach from the last contact to the expiry, see [reach]. A fault must have struck the session's process, the server
// that the session was connected to, or the leader (see [Digest.leaderless]).
func (d *Digest) expiryCause(a *history.Acquisition, end *nodes.End) Explanation {
	return d.expiries.Of(a, func() Explanation { return d.findExpiryCause(a, end) })
}

func (d *Digest) findExpiryCause(a *history.Acquisition, end *nodes.End) Explanation {
	t := d.Timeout(a.Session)
	at := d.Transactions.Clock.At(end.Time) + d.Transactions.Clock.Err
	heard := d.heard(a.Session, at-d.BackAt())
	all := d.silences(a, heard, at, t)
	certain := slices.DeleteFunc(slices.Clone(all), func(s silence) bool { return s.doubt != "" })
	causes := [][]silence{certain, all}
	for s := range d.idle(a).Meeting(heard, at) {
		if s.Lasts() >= d.leastPart(t) {
			causes = append(causes, append(slices.Clone(all), silence{from: s.From, until: s.Until, doubt: unseen}))
		}
	}
	for _, cause := range causes {
		if chain := d.reach(cause, heard, at, t); chain != nil {
			x := blamedFor(chain, heard, at)
			if d.overdue(chain, heard, at, t) {
				x = suspected(x.Fault, cmp.Or(x.Text, "no fault explains it"), overdue)
			}
			if x.tell(d, a, keptUntil(a, chain, at)); x.Unseen() {
				x.Told = d.toldUnseen(a, keptUntil(a, chain, at))
			}
			return x
		}
	}
	return Unexplained(nil, "neither a fault nor a hiccup explains why session %s expired", a.Session)
}

// overdue reports whether silences without a gap lasted so long before a session expired at an instant that it would
// have expired earlier, had it not been heard of meanwhile. A leader that is new, or that stood still, may come to
// expire it late.
func (d *Digest) overdue(chain []silence, heard, at, timeout int64) bool {
	since := at
	for _, s := range chain {
		if s.until < since && since < at {
			break
		}
		since = min(since, max(s.from, heard))
	}
	if at-since <= int64(d.expiry(timeout).Latest())+2*d.BackAt() {
		return false
	}
	late := func(f *Fault) bool {
		from, until := f.Effect()
		return f.Possible() && from <= at && until >= since && (f.StrikesLeader() || len(f.Targets) == 0)
	}
	return !slices.ContainsFunc(d.Faults, late) && d.newLeader(since, at) == history.None &&
		!slices.ContainsFunc(d.Unserved(false), func(u spans.Span) bool { return u.From <= at && u.Until >= since })
}

// silences returns what can have silenced a's session before it expired at an instant, where its last known contact was
// at heard.
func (d *Digest) silences(a *history.Acquisition, heard, at, timeout int64) []silence {
	var all []silence
	for _, f := range d.Faults {
		if !f.Possible() || !f.silences() || d.grantedThrough(a.Session, f) {
			continue
		}
		_, until := f.Effect()
		s := silence{from: f.muffles(timeout), until: until, fault: f}
		s.doubt, s.beyond = f.doubt(timeout), !f.Hits(a.Process)
		if s.doubt == "" && d.actedThrough(a.Session, f, at) {
			s.doubt = acted
		}
		switch server := d.ServerAt(a.Session, max(s.from, heard)); {
		case !s.beyond || f.Hits(server):
			all = append(all, s)
		case !d.OnlyClients(f) && s.doubt == "" &&
			(server == "" || spans.List(d.Unconnected[a.Client]).Touches(max(s.from, heard)+1, min(s.until, at))):
			s.doubt = serverUnknown
			all = append(all, s)
		}
		switch next, led := d.leaderless(f, at, timeout); {
		case !led && f.hampersLeader():
			s.doubt = hampered
			all = append(all, s)
		case !led:
		case next == history.None || Later(until, d.BackAt()) >= at:
			all = append(all, s)
		default:
			s.until, s.doubt = at, "and it is not known why the session did not reach the next leader in time"
			all = append(all, s)
		}
	}
	for _, e := range d.standstills(a.Process) {
		all = append(all, silence{from: e.At - int64(e.Hiccup()), until: e.At, hiccup: e})
	}
	if s := d.unrecorded(a); s != nil {
		all = append(all, *s)
	}
	return append(all, d.serversSilent(a)...)
}

// A death is the exit of a process, by its time.
type death struct {
	process string
	at      int64
}

// unrecorded is the time before the death of a's process in which it recorded nothing; nil if it did not die. It may
// have stood still then, which a process records when it goes on.
func (d *Digest) unrecorded(a *history.Acquisition) *silence {
	if a.Died == history.None {
		return nil
	}
	last := d.lastRecorded.Of(death{a.Process, a.Died}, func() (last int64) {
		for _, e := range d.Events.All() {
			if e.At >= a.Died {
				break
			}
			if e.Process == a.Process && (e.Client != "" || e.Op == history.OpHiccup) {
				last = e.At
			}
		}
		return last
	})
	return &silence{from: last, until: a.Died, doubt: diedSilent}
}

// reach returns those of the silences that together lasted from the last contact with a session to its expiry at an
// instant, the last of them first; nil if they did not. The silences that count last at least a third of the timeout,
// because a shorter one costs no session, unless others join it without a gap; between two of them, and before the
// expiry, there is not enough time to be heard of again. Those that suffice need no earlier ones behind a gap.
func (d *Digest) reach(all []silence, heard, at, timeout int64) []silence {
	if timeout <= 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b silence) int { return cmp.Compare(b.from, a.from) })
	join(all)
	var chain []silence
	since, enough := at, false
	for again := true; again; {
		again = false
		for _, s := range all {
			from, gap := max(s.from, heard), d.BackAt()
			if enough {
				gap = 0
			}
			if from < since && Later(s.until, gap) >= since && s.lasted(heard, at) >= d.leastPart(timeout) {
				chain, since, again = append(chain, s), from, true
				enough = at-since >= d.leastSilence(timeout, s.beyond)
			}
		}
	}
	if !enough {
		return nil
	}
	slices.SortStableFunc(chain, func(a, b silence) int { return cmp.Compare(b.until, a.until) })
	return chain
}

// blamedFor puts an expiry down to the fault that lasted longest among the silences that caused it, from the last
// contact with the session to its expiry; of several, to the first. Where there is no fault, the first standstill is
// to blame.
func blamedFor(chain []silence, heard, at int64) Explanation {
	most := chain[len(chain)-1]
	share := func(s silence) int64 { return min(s.until, at) - max(s.from, heard) }
	for _, s := range slices.Backward(chain) {
		if s.fault != nil && (most.fault == nil || share(s) > share(most)) {
			most = s
		}
	}
	for _, s := range chain {
		if s.doubt != "" {
			what := "no fault explains it"
			if s.fault != nil {
				what = s.fault.String()
			}
			return suspected(s.fault, what, s.doubt)
		}
	}
	if most.fault != nil {
		return blamed(most.fault, most.fault.String(), 0)
	}
	return stoodStill(most.hiccup)
}

// stoodStill blames a standstill of a process that no fault caused.
func stoodStill(e *history.Event) Explanation {
	over := int64(e.Hiccup())
	return Explanation{
		Cause:  CauseSlowClient,
		Hiccup: e,
		Told:   math.MaxInt64,
		Text:   fmt.Sprintf("%s stood still for %s from %s", e.Process, Millis(over), Seconds(e.At-over)),
	}
}

// Later adds to an instant that may be the beginning or the end of time.
func Later(at, by int64) int64 {
	switch {
	case by > 0 && at > math.MaxInt64-by:
		return math.MaxInt64
	case by < 0 && at < math.MinInt64-by:
		return math.MinInt64
	}
	return at + by
}

// standstills are the recorded standstills of a process that can have cost a session, or part of its timeout.
func (d *Digest) standstills(process string) []*history.Event {
	return d.stood.Of(process, func() (all []*history.Event) {
		for _, e := range d.Hiccups[process] {
			if t := d.LongestTimeout(); t > 0 && int64(e.Hiccup()) >= d.leastPart(t) {
				all = append(all, e)
			}
		}
		return all
	})
}

// heard is the last time before at when the servers are known to have heard of a session: they answered it, did
// something for it, or began it, by their logs. Pings leave no trace, so it may have been later.
func (d *Digest) heard(session history.SessionID, at int64) int64 {
	last, all := int64(math.MinInt64/2), d.contactsOf(session)
	if i := sort.Search(len(all), func(i int) bool { return all[i] > at }); i > 0 {
		last = all[i-1]
	}
	if s := d.Transactions.History.Sessions[int64(session)]; s != nil && s.Created != 0 {
		last = max(last, d.Transactions.Clock.At(s.CreatedTime)-d.Transactions.Clock.Err)
	}
	return last
}

// contactsOf returns the times when the servers are known to have heard of a session, in order.
func (d *Digest) contactsOf(session history.SessionID) []int64 {
	return d.contacts.Of(session, func() []int64 { return d.findContacts(session) })
}

func (d *Digest) findContacts(session history.SessionID) []int64 {
	var all []int64
	for _, c := range d.sessions[session] {
		all = append(all, d.SentBy(history.HostOf(d.ClientOf[session]), c.At))
	}
	for _, a := range d.acquisitionsOf(session) {
		if a.Queued != history.None {
			all = append(all, d.SentBy(a.Process, a.Queued))
		}
		if a.Granted() {
			all = append(all, d.SentBy(a.Process, a.Returned))
		}
		if d.releasedAtServers(a) {
			all = append(all, d.SentBy(a.Process, a.ReleaseReturned))
		}
	}
	slices.Sort(all)
	return all
}

// SentBy is by when the servers have sent an answer that a process recorded at an instant. A process that stands still
// reads an answer only when it goes on, so the answer may be as old as the standstill, or as the fault that kept
// answers from it when the standstill began. Afterwards it has as much to catch up on as the standstill lasted.
func (d *Digest) SentBy(process string, at int64) int64 {
	all := d.Hiccups[process]
	next := sort.Search(len(all), func(i int) bool { return all[i].At > at })
	sent := at
	for _, e := range all[max(next-1, 0):min(next+1, len(all))] {
		lasted := int64(e.Hiccup())
		if e.At-lasted < at && at <= e.At+lasted {
			sent = min(sent, e.At-lasted)
		}
	}
	for _, f := range d.Faults {
		from, until := f.Effect()
		if sent < at && f.Certain() && f.silences() && !f.Passes(d.LongestTimeout()) && f.Hits(process) && from < sent &&
			sent <= until {
			sent = f.Began()
		}
	}
	return sent
}

// leaderless reports whether a fault may have kept the leader from hearing of sessions that were connected to another
// server, one of which expired at that instant; and when the next leader came, [history.None] if none did. Until the
// next leader is there, such a fault is one that strikes the leader itself. The next leader gives every session its
// whole timeout again, so the last leader's end does not explain why a session was silent for longer.
func (d *Digest) leaderless(f *Fault, at, timeout int64) (next int64, led bool) {
	if d.Transactions == nil {
		return history.None, f.silencesLeader()
	}
	from, _ := f.Effect()
	if next = d.newLeader(from, at); next == history.None {
		return next, f.silencesLeader()
	}
	server := slices.ContainsFunc(f.Targets, func(h string) bool { return slices.Contains(d.Transactions.Ensemble, h) })
	return next, (server || f.silencesLeader()) && at-next <= timeout+2*int64(d.Facts.Tick)+int64(HandOff)+d.Slack()
}

// newLeader is when the last of the leaders that followed another came between two instants, by the servers' logs;
// [history.None] if none did.
func (d *Digest) newLeader(from, until int64) int64 {
	came, clock := history.None, d.Transactions.Clock
	for i, e := range d.Transactions.epochs {
		if at := clock.At(e.First.Time); i > 0 && at >= from-clock.Err && at <= until+clock.Err {
			came = at
		}
	}
	return came
}

const (
	// hampered is the doubt about a fault that may have kept the leader from hearing of sessions.
	hampered = "and it is not known whether the leader heard from the sessions meanwhile"
	// serverUnknown is the doubt about a fault of a server that need not be the session's.
	serverUnknown = "and it is not known whether that was the session's server"
	// diedSilent is the doubt about a process that recorded nothing for so long before its death.
	diedSilent = "and its process, which died, may have stood still before that without recording it"
	// notVerified is the doubt about a fault of which nothing confirmed that it took effect.
	notVerified = "which was not verified"
	// overdue is the doubt about what silenced a session that expired much later.
	overdue = "though a session that is silent for that long expires much sooner"
	// acted is the doubt about a fault during which the session changed something.
	acted = "though by the servers' logs the session asked for something meanwhile"
	// letThrough is the doubt about a fault that only slows heartbeats down, or lets some of them through.
	letThrough = "which is not known to have kept heartbeats away for as long as that"
)

// doubt says why it is not known that f silenced sessions with a timeout (ns); empty if it is known.
func (f *Fault) doubt(timeout int64) string {
	switch {
	case !f.Certain():
		return notVerified
	case f.Passes(timeout):
		return letThrough
	}
	return ""
}

// blame returns the first fault that can be to blame for what happened to a session with a timeout (ns), among those
// without a doubt; if there is none, among the others that may have taken effect.
func (d *Digest) blame(timeout int64, canBe func(*Fault) bool) *Fault {
	var perhaps *Fault
	for _, f := range d.Faults {
		doubt := f.doubt(timeout) != ""
		switch {
		case !f.Possible() || perhaps != nil && doubt || !canBe(f):
		case !doubt:
			return f
		default:
			perhaps = f
		}
	}
	return perhaps
}
