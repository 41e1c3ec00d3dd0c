package progress

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// A change is a change of the three counts that decide about a stall, or a grant, which ends any stall however short
// the hold was.
type change struct {
	at                     int64
	waiting, busy, blocked int
	grant                  bool
}

// back undoes the change of the counts.
func (c change) back() change {
	c.waiting, c.busy, c.blocked = -c.waiting, -c.busy, -c.blocked
	return c
}

// A role is what an acquisition means for a stall of its lock: how many of the waiting it is, and how many of those
// that keep the lock from being granted, while it waits and while it holds.
type role struct {
	waits, busyWaiting, busyHolding int
	yields                          spans.List // when it waits, it is one of the busy instead
}

// A demand is what a stall of a lock is.
type demand struct {
	as     func(*history.Acquisition) role
	spare  int // no more than so many of the busy keep the lock from being granted
	blocks []spans.Span
	deaf   func(*history.Acquisition) spans.List // does not count meanwhile
	kept   func(*history.Acquisition) int64      // until when a grant keeps the lock from others
	bound  int64                                 // how long a stall lasts at least
	// across says that a block stops the time of a stall and does not begin it anew. What a block left takes time too,
	// so that twice the time is demanded then.
	across bool
}

// usual demands that a lock is granted which only one client can have.
func (l *LivenessJudge) usual(all []*history.Acquisition) demand {
	return demand{as: l.alone, blocks: l.blocks(all, false), deaf: l.deaf, kept: l.keptUntil, bound: l.boundOf(all)}
}

// boundOf is how long a lock with these acquisitions may stay free, by the longest timeout of their clients' sessions:
// no other session has a znode of it. It is that of all locks where clients take several together, or where it is not
// known which sessions a client had.
func (l *LivenessJudge) boundOf(all []*history.Acquisition) int64 {
	longest := int64(l.Facts.SessionTimeout)
	seen := map[string]bool{}
	for _, a := range all {
		if l.several[a] {
			return l.Bound
		}
		if a.Session != 0 {
			longest = max(longest, l.Timeout(a.Session))
		}
		if seen[a.Client] {
			continue
		}
		seen[a.Client] = true
		if len(l.Connections[a.Client]) == 0 {
			return l.Bound
		}
		for _, c := range l.Connections[a.Client] {
			longest = max(longest, l.Timeout(c.Session))
		}
	}
	return l.Bound - l.LongestTimeout() + longest
}

// Stalls finds where lock was free, wanted and not granted.
func (l *LivenessJudge) Stalls(lock string, all []*history.Acquisition) []evidence.Finding {
	return l.stallsOf(lock, all, l.usual(all))
}

// withoutStandstills leaves out the stalls for which a standstill of one driver that declares no pings accounts, which
// are doubts: without that time nobody waited for long enough.
func (l *LivenessJudge) withoutStandstills(
	lock string, all []*history.Acquisition, found []evidence.Finding,
) (stalls []evidence.Finding) {
	usual, aftermath := l.usual(all), spans.Merged(slices.Clone(l.aftermath))
	for _, f := range found {
		again := func(g evidence.Finding) bool { return g.At < f.Until && g.Until > f.At }
		if f.Cause == evidence.CauseNone && slices.ContainsFunc(all, func(a *history.Acquisition) bool {
			from, until := l.Waited(a)
			stood := l.PerhapsStood(a, max(from, f.At), min(until, f.Until))
			d := usual
			d.deaf = func(b *history.Acquisition) spans.List {
				if l.Driver(b) != l.Driver(a) {
					return l.deaf(b)
				}
				return spans.Merged(append(slices.Clone(l.deaf(b)), stood))
			}
			// After a fault it may have had the lock, too, and kept others from it until its session expired.
			after := f.Until-f.At <= 2*l.Bound && aftermath.Touches(f.At, f.At)
			return stood.Lasts() > 0 && (after || !slices.ContainsFunc(l.stallsOf(lock, all, d), again))
		}) {
			l.unseen = append(l.unseen, f)
		} else {
			stalls = append(stalls, f)
		}
	}
	return stalls
}

// alone is the role of an acquisition of a lock that only one client can have. One of several locks waits for all of
// them, so it proves nothing while others have or want any.
func (l *LivenessJudge) alone(a *history.Acquisition) role {
	from, until := l.Waited(a)
	switch {
	case l.excessive(a), l.several[a] && until-from <= l.Bound:
		return role{busyWaiting: 1, busyHolding: 1}
	case l.several[a]:
		return role{waits: 1, busyHolding: 1, yields: l.contested(a)}
	}
	return role{waits: 1, busyHolding: 1}
}

// contested are the times in which others had or wanted any of the locks that a is to have together, or may have left
// something of them. Only in the others does nobody else account for its wait.
func (l *LivenessJudge) contested(a *history.Acquisition) spans.List {
	together := map[string]bool{}
	for i := range l.Acquisitions {
		if b := &l.Acquisitions[i]; b.Client == a.Client && b.N == a.N {
			together[b.Lock] = true
		}
	}
	var all []spans.Span
	for i := range l.Acquisitions {
		b := &l.Acquisitions[i]
		if !together[b.Lock] || b.Client == a.Client && b.N == a.N {
			continue
		}
		all = append(all, spans.Span{From: b.Invoked, Until: evidence.Later(l.gone(b), l.Bound)})
	}
	return spans.Merged(all)
}

// excessive reports whether a asks for more permits than there were at some time. Others may rightly wait behind it.
func (l *LivenessJudge) excessive(a *history.Acquisition) bool {
	if l.Facts.Permits <= 0 {
		return false
	}
	_, until := l.Waited(a)
	return a.Permits > l.FewestPermits(a.Lock, a.Invoked, until)
}

// stallDoubts says where lock may have stalled.
func (l *LivenessJudge) stallDoubts(lock string, all []*history.Acquisition) (doubts []string) {
	doubt := func(when string, d demand) {
		if found := l.stallsOf(lock, all, d); len(found) > 0 {
			doubts = append(doubts, fmt.Sprintf(
				"clients waited for %s for %s from %s %s, so it is not known whether the lock stalled",
				lock, evidence.Length(found[0].Until-found[0].At), evidence.Seconds(found[0].At), when))
		}
	}
	usual := l.usual(all)
	strictly, across := usual, usual
	strictly.blocks, strictly.deaf = l.blocks(all, true), l.silenced
	silencing := func(f *evidence.Fault) bool {
		return f.Stops() || !f.Passes(l.LongestTimeout()) && !f.Nature.SparesSessions && !f.Nature.DeletesZnodes
	}
	strictly.kept = func(a *history.Acquisition) int64 {
		switch {
		case l.Unreleased(a):
			return a.Returned // for how long it was held is not known
		case a.Lost != history.None: // its client need not have kept it for longer
			return min(l.keptUntil(a), l.silencedOut(a, silencing), evidence.Later(a.Lost, l.Bound))
		}
		return min(l.keptUntil(a), l.silencedOut(a, silencing))
	}
	doubt("beside faults, standstills, lost connections or lost holds that need not have kept it from them", strictly)
	if across.across = true; len(doubts) == 0 {
		doubt("between faults or standstills, not counting their own time", across)
	}
	var several, excessive, reads bool
	sizes := map[int64]bool{} // how many permits those wanted who waited for long
	for _, a := range all {
		several, excessive = several || l.several[a], excessive || l.excessive(a)
		reads = reads || a.Mode == history.ModeRead
		if from, until := l.Waited(a); a.Mode == history.ModePermit && until-from > l.Bound {
			sizes[a.Permits] = true // who waits for less cannot be in the way for so long
		}
	}
	as := func(as func(*history.Acquisition) role) demand {
		d := usual
		d.as = as
		return d
	}
	if several {
		doubt("while a client wanted it together with other locks",
			as(func(*history.Acquisition) role { return role{waits: 1, busyHolding: 1} }))
	}
	if excessive {
		doubt("while a client wanted more permits than there were at times", as(func(a *history.Acquisition) role {
			if l.excessive(a) {
				return role{busyHolding: 1}
			}
			return l.alone(a)
		}))
	}
	if reads &&
		(l.Servers == nil || len(l.Servers.DoubtedBecause()) > 0) { // else the logs tell which znodes were eligible
		doubt("to read while others were reading", as(func(a *history.Acquisition) role {
			if a.Mode == history.ModeRead && !l.several[a] {
				return role{waits: 1}
			}
			return role{busyWaiting: 1, busyHolding: 1}
		}))
	}
	for _, p := range l.PermitPeriods(lock) {
		for _, size := range evidence.SortedKeys(sizes) {
			spare := p.Permits - size
			if spare < 0 || spare == 0 && !excessive || evidence.Later(p.From, l.Bound) >= p.Until {
				continue
			}
			d := as(func(a *history.Acquisition) role {
				if a.Mode == history.ModePermit && !l.several[a] && a.Permits <= size {
					return role{waits: 1, busyHolding: int(a.Permits)}
				}
				return role{busyWaiting: int(spare) + 1, busyHolding: int(max(a.Permits, spare+1))}
			})
			d.spare = int(spare)
			d.blocks = append(slices.Clone(d.blocks), spans.Span{From: math.MinInt64, Until: p.From},
				spans.Span{From: p.Until, Until: math.MaxInt64})
			doubt("while it had permits left", d)
		}
	}
	return doubts
}

// stallsOf finds where a lock stalled, as d has it.
func (l *LivenessJudge) stallsOf(lock string, all []*history.Acquisition, d demand) []evidence.Finding {
	gaps := l.gaps(lock, all, d.bound)
	if len(gaps) == 0 {
		return nil
	}
	var changes []change
	span := func(from, until int64, c change) {
		if c == (change{}) {
			return
		}
		for part := range gaps.Cut(from, until) {
			c.at = part.From
			changes = append(changes, c)
			c.at = part.Until
			changes = append(changes, c.back())
		}
	}
	for _, gap := range gaps { // which begin and end with grants
		changes = append(changes, change{at: gap.From, grant: true})
		if gap.Until != math.MaxInt64 {
			changes = append(changes, change{at: gap.Until, grant: true})
		}
	}
	for _, a := range all {
		r := d.as(a)
		from, until := l.Waited(a)
		span(from, until, change{waiting: r.waits, busy: r.busyWaiting})
		for part := range r.yields.Cut(from, until) {
			span(part.From, part.Until, change{busy: 1})
		}
		for part := range spans.Merged(slices.Concat(d.deaf(a), r.yields)).Cut(from, until) {
			span(part.From, part.Until, change{waiting: -r.waits})
		}
		if a.Granted() {
			span(a.Returned, d.kept(a), change{busy: r.busyHolding})
		}
	}
	for _, t := range d.blocks {
		span(t.From, t.Until, change{blocked: 1})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })

	var found []evidence.Finding
	var waiting, busy, blocked int
	var began, waited, last int64 // of the stall that may be building up
	demanded := d.bound
	if d.across {
		demanded *= 2
	}
	over := func(at int64) {
		if waited > demanded {
			found = append(found, l.stall(lock, all, began, at, waited))
		}
		waited = 0
	}
	for _, c := range changes {
		if waiting > 0 && busy <= d.spare && blocked == 0 {
			if waited == 0 {
				began = last
			}
			waited += c.at - last
		}
		if c.grant || busy+max(c.busy, 0) > d.spare || c.blocked > 0 && !d.across {
			over(c.at)
		}
		waiting, busy, blocked = waiting+c.waiting, busy+c.busy, blocked+c.blocked
		last = c.at
	}
	over(l.Stop)
	return found
}

// keptUntil is until when a kept the lock from others. A client that lost its hold by its own clock keeps its znode
// until it calls release, however late: nobody may follow it while its requests may be on their way. But nobody keeps
// it for longer than the servers' transactions tell.
func (l *LivenessJudge) keptUntil(a *history.Acquisition) int64 {
	until := min(l.BelievedUntil(a), l.silencedOut(a, (*evidence.Fault).Stops))
	if a.Lost != history.None && a.ReleaseInvoked != history.None {
		until = max(until, a.ReleaseInvoked)
	}
	if at, end := l.Digest.EndAtServers(a); end != nil {
		until = min(until, max(at, a.Returned))
	}
	return until
}

// silencedOut is when a's session must have expired while a fault that silences its process was in force, so that
// others are owed the lock though its client goes on believing; [math.MaxInt64] if there is no such fault, or if the
// servers may not have been able to expire it. A process that is stopped is certainly silent; one that is cut off may
// have got through, so that what follows from that is a doubt.
func (l *LivenessJudge) silencedOut(a *history.Acquisition, silences func(*evidence.Fault) bool) int64 {
	for _, f := range l.Faults {
		from, until := f.Effect()
		from = max(from, f.Verified, a.Returned)
		by := evidence.Later(from, l.Bound)
		if f.Certain() && silences(f) && f.Hits(a.Process) && l.OnlyClients(f) && until > by &&
			!slices.ContainsFunc(l.Faults, func(g *evidence.Fault) bool {
				began, over := l.InForce(g)
				return g.Possible() && !l.OnlyClients(g) && began <= by && over >= from
			}) {
			return by
		}
	}
	return math.MaxInt64
}

// gaps are the times that are long enough for a stall and in which a lock was not granted: from its first call to its
// first grant, from one grant to the next, and from the last one on. Nothing outside of them can make a stall. There
// are few, though a lock may be granted a million times.
func (l *LivenessJudge) gaps(lock string, all []*history.Acquisition, bound int64) spans.List {
	var gaps spans.List
	last := l.Stop
	for _, a := range all {
		last = min(last, a.Invoked)
	}
	for _, a := range l.GrantsOf(lock) {
		if a.Returned-last > bound {
			gaps = append(gaps, spans.Span{From: last, Until: a.Returned})
		}
		last = a.Returned
	}
	if l.Stop-last > bound {
		gaps = append(gaps, spans.Span{From: last, Until: math.MaxInt64})
	}
	return gaps
}

// stall describes a stall by the client that had been waiting longest when it began.
func (l *LivenessJudge) stall(lock string, all []*history.Acquisition, began, until, waited int64) evidence.Finding {
	f := evidence.Finding{
		Kind: evidence.KindStall, Lock: lock, At: began, Until: until, Cause: evidence.CauseNone,
		Text: fmt.Sprintf("%s was free for %s from %s while clients waited for it", lock, evidence.Length(waited),
			evidence.Seconds(began)),
	}
	for _, a := range all {
		if from, until := l.Waited(a); from <= began && began < until {
			f.Clients, f.Tokens, f.Events = []string{a.Client}, []int64{a.Token}, l.EventsOf(a)
			f.Text += ", at least " + a.Client
			break
		}
	}
	l.witnessStall(&f)
	l.deadlock(&f, all)
	return f
}

// deadlock names a stall of a semaphore that is a deadlock by the servers' transaction logs: all permits are taken, and
// every lease is that of a client which waits for the rest of what it wants. The lock takes the permits of an
// acquisition one after another then, so that is how it works, and nothing but a time limit ends it.
func (l *LivenessJudge) deadlock(f *evidence.Finding, all []*history.Acquisition) {
	if l.Servers == nil || l.Servers.Layout != nodes.LayoutSemaphore || len(l.Servers.DoubtedBecause()) > 0 {
		return
	}
	// What counts is the third quarter of the stall: at its beginning clients are still coming and taking leases, and at
	// its end they may be giving up. A lease beyond the permits only waits.
	clock, middle, late := l.Servers.Clock, f.At+(f.Until-f.At)/2, f.At+(f.Until-f.At)/4*3
	waits := func(client string) *history.Acquisition {
		for _, a := range all {
			if from, until := l.Waited(a); a.Client == client && from <= middle && until >= late {
				return a
			}
		}
		return nil
	}
	taken, has := 0, map[string]int64{}
	for _, s := range l.Servers.Lanes[f.Lock].Spans {
		if from, until := clock.Times(&s); from <= middle && evidence.Later(until, clock.Err) >= late {
			taken++
			has[l.ClientOf[history.SessionID(s.Owner)]]++
		}
	}
	if taken < l.Facts.Permits {
		return
	}
	var parts []string
	for _, client := range evidence.SortedKeys(has) {
		a := waits(client)
		if client == "" || a == nil || has[client] >= a.Permits {
			return
		}
		parts = append(parts, fmt.Sprintf("%s has %d of the %d that it wants", client, has[client], a.Permits))
	}
	f.Kind = evidence.KindDeadlock
	f.Text = fmt.Sprintf("clients of %s were in a deadlock for %s from %s: all %s are taken, and each client that has "+
		"one waits for more: %s; this lock takes permits one after another, so that is how it works, and only a wait "+
		"ends it",
		f.Lock, evidence.Length(f.Until-f.At), evidence.Seconds(f.At), evidence.Count(int64(taken), "permit",
			"permits"), strings.Join(parts, ", "))
}
