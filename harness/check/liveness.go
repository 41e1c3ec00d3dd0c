package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/harness/history"
)

// handOff is what a hand-off may take on a busy machine, on top of what the
// protocol needs.
const handOff = time.Second

// StallBound is how long a free lock that is waited for may stay free.
func StallBound(timeout, tick time.Duration) time.Duration { return timeout + 2*tick + handOff }

// liveness asks whether a lock that is free and wanted is granted in time. Free means that no
// client believes it has the lock; what the servers' transactions add is in [live.byServers].
//
// A stall is more than timeout + 2 ticks + 1 s for which somebody waited, nobody
// held and no fault was in force: within the timeout and 1.5 ticks the service
// forgets any dead holder, and the rest is for the hand-off. Faults are in force
// until their heal was verified, so a stall is also what is left when a lock
// does not recover from one. A stall does not end when a waiter gives up and
// comes back, but attempts that give up within a tick are too impatient to prove
// anything.
//
// What is held may still have to be granted: a reader beside readers, a permit
// while others are left. That needs the queue's order and the recipe's rules to
// judge, so there a stall is a doubt, and the check unknown: readers that waited
// beside readers, with no writer in sight; or permits that were wanted while as
// many were free as anybody ever asked for. And what is free may not be there to
// be granted: one who wants several locks at once may have a lock long before
// acquire returns, or not have asked for it yet. Its waits are no stalls, and no
// lock is free that it waits for; if it would be a stall otherwise, perhaps a
// deadlock, it is a doubt as well.
//
// Where every client asks again and again, each is to get a lock once more after the last heal, see
// [live.progress].
//
// It is unknown whether a lock recovers if the last heal was not verified, or if
// after it nobody got a lock that was wanted and the time was too short to tell. So it is whether
// anything was left behind, see [live.unwatched].
func liveness(d *digest, _ *Safety) Verdict {
	t := d.longestTimeout()
	if t == 0 {
		return Verdict{Result: Unknown, Summary: "the session timeout is not known"}
	}
	if len(d.acquisitions) == 0 {
		return Verdict{Result: Unknown, Summary: "nobody wanted a lock"}
	}
	l := live{digest: d, bound: int64(StallBound(time.Duration(t), d.facts.Tick)), stop: d.end}
	if d.collect != history.None {
		l.stop = d.collect
	}
	heal, doubts := l.lastHeal()
	l.several = takenTogether(d.acquisitions)
	byLock := map[string][]*history.Acquisition{}
	for i := range d.acquisitions {
		a := &d.acquisitions[i]
		byLock[a.Lock] = append(byLock[a.Lock], a)
	}
	v := Verdict{}
	var censored int64
	for _, lock := range sortedKeys(byLock) {
		stalls := l.stalls(lock, byLock[lock])
		if len(stalls) > 0 && stalls[0].Cause == CauseServer {
			doubts = append(doubts, stalls[0].Text)
		} else {
			v.Count += int64(len(stalls))
		}
		v.Findings = append(v.Findings, stalls[:min(len(stalls), maxFindings)]...)
		if len(stalls) == 0 {
			doubts = append(doubts, l.perhaps(lock, byLock[lock])...)
		}
		if heal != history.None && len(stalls) == 0 {
			doubts = append(doubts, l.afterHeal(lock, byLock[lock], heal)...)
		}
		for _, a := range byLock[lock] {
			if a.Returned == history.None && a.Died == history.None {
				censored++
			}
		}
	}
	stalled := v.Count
	var first string // of what the servers' logs tell
	var excused int64
	for _, f := range l.byServers(byLock) {
		if f.Cause == CauseServer {
			excused++
		} else {
			first = cmp.Or(first, f.Text)
			v.Count++
		}
		if len(v.Findings) < maxFindings {
			v.Findings = append(v.Findings, f)
		}
	}
	doubts = append(doubts, append(l.perhapsOrphans, l.unwatched(heal)...)...)
	stuck, unsure := l.progress(heal)
	doubts = append(doubts, unsure...)
	switch {
	case v.Count > stalled && stalled == 0:
		v.Result, v.Summary = Fail, fmt.Sprintf("%s in the servers' logs: %s", count(v.Count, "orphan or unnoticed grant", "orphans and unnoticed grants"), first)
	case v.Count > stalled:
		v.Result, v.Summary = Fail, fmt.Sprintf("%s of a free lock that was waited for, the first: %s; and in the servers' logs: %s", count(stalled, "stall", "stalls"), v.Findings[0].Text, first)
	case v.Count > 0:
		v.Result, v.Summary = Fail, fmt.Sprintf("%s of a free lock that was waited for, the first: %s", count(v.Count, "stall", "stalls"), v.Findings[0].Text)
	case len(stuck) > 0:
		v.Count, v.Findings = int64(len(stuck)), append(stuck[:min(len(stuck), maxFindings)], v.Findings...)
		v.Result, v.Summary = Fail, fmt.Sprintf("%s without progress after the last heal, the first: %s", count(v.Count, "client", "clients"), stuck[0].Text)
	case len(doubts) > 0:
		v.Result, v.Summary = Unknown, strings.Join(doubts, "; ")
	case !d.whole:
		v.Result, v.Summary = Unknown, "no stall as far as the history goes, which is not complete"
	default:
		v.Result, v.Summary = Pass, fmt.Sprintf("no free lock was waited for longer than %s", seconds(l.bound))
	}
	if excused > 0 {
		v.Summary += fmt.Sprintf("; for %s a server is to blame", count(excused, "finding", "findings"))
	}
	if heal != history.None {
		v.Summary += l.gotAfter(heal)
	}
	if censored > 0 {
		v.Summary += "; " + count(censored, "acquire was", "acquires were") + " still waiting at the end"
	}
	return v
}

type live struct {
	*digest
	bound, stop int64
	several     map[*history.Acquisition]bool // that take several locks at once

	perhapsOrphans []string
}

// takenTogether returns the acquisitions under one number that were called for
// before the others of that number had returned.
func takenTogether(all []history.Acquisition) map[*history.Acquisition]bool {
	several := map[*history.Acquisition]bool{}
	last := map[string]*history.Acquisition{} // by client
	for i := range all {
		a := &all[i]
		if b := last[a.Client]; b != nil && b.N == a.N && b.Lock != a.Lock && b.Process == a.Process && b.Died == a.Died &&
			(b.Returned == history.None || b.Returned >= a.Invoked) {
			several[a], several[b] = true, true
		}
		last[a.Client] = a
	}
	return several
}

// inForce is when f can have kept a lock from being granted. A client that is
// killed for good keeps others from it only until its session expires, which
// the bound allows for; what a server's loss does to the rest is not known here.
//
// A fault that never happened is over as soon as that is known. Of an injection that failed it is
// not known whether it took hold all the same: the final heal ends what it left.
func (l *live) inForce(f *fault) (from, until int64) {
	from = f.began()
	known := f.neverHappened()
	switch {
	case f.healVerified != history.None:
		until = max(f.healed, f.healVerified)
	case known != history.None && (f.missed || f.unsupported || l.final == nil):
		until = known
	case known != history.None && l.final.Kind == history.OK:
		until = max(known, l.final.At)
	case f.Permanent && f.injected != history.None && l.onlyClients(f):
		until = f.injected
	default:
		until = l.stop
	}
	return from, until
}

func (l *live) onlyClients(f *fault) bool {
	for _, host := range f.targets {
		if !l.clientHosts[host] {
			return false
		}
	}
	return len(f.targets) > 0
}

// waited is the interval for which a waited, as far as it counts.
func (l *live) waited(a *history.Acquisition) (from, until int64) {
	until = l.stop
	if h, ok := l.horizon[a.Process]; ok {
		until = min(until, h)
	}
	for _, t := range [...]int64{a.Returned, a.Died} {
		if t != history.None {
			until = min(until, t)
		}
	}
	if !a.Granted() && until-a.Invoked < int64(l.facts.Tick) {
		until = a.Invoked
	}
	return a.Invoked, until
}

// A change is one of the three counts that decide about a stall going up or
// down, or a grant, which ends any stall however short the hold was.
type change struct {
	at                     int64
	waiting, busy, blocked int
	grant                  bool
}

// A role is what an acquisition does to a lock, as far as a stall of it goes: how
// many it is of those that wait, and of those that keep the lock from being
// granted while it waits and while it holds.
type role struct{ waits, busyWaiting, busyHolding int }

// stalls finds where lock was free, wanted and not granted.
func (l *live) stalls(lock string, all []*history.Acquisition) []Finding {
	return l.stallsOf(lock, all, 0, func(a *history.Acquisition) role {
		switch {
		case l.several[a]:
			return role{busyWaiting: 1, busyHolding: 1}
		case l.facts.Permits > 0 && a.Permits > int64(l.facts.Permits):
			return role{busyHolding: 1} // it asks for more than there are
		}
		return role{waits: 1, busyHolding: 1}
	})
}

// perhaps says where lock may have stalled.
func (l *live) perhaps(lock string, all []*history.Acquisition) (doubts []string) {
	doubt := func(when string, spare int, f func(*history.Acquisition) role) {
		if found := l.stallsOf(lock, all, spare, f); len(found) > 0 {
			doubts = append(doubts, fmt.Sprintf("%s was waited for, for %s from %s, %s: it cannot be told whether it stalled", lock, seconds(found[0].Until-found[0].At), seconds(found[0].At), when))
		}
	}
	var several, reads bool
	var most int64
	for _, a := range all {
		several = several || l.several[a]
		reads = reads || a.Mode == history.ModeRead
		if a.Mode == history.ModePermit {
			most = max(most, a.Permits)
		}
	}
	if several {
		doubt("while somebody wanted it with other locks", 0, func(*history.Acquisition) role { return role{waits: 1, busyHolding: 1} })
	}
	if reads && (l.servers == nil || len(l.servers.doubts()) > 0) { // else they tell who was eligible
		doubt("to read, beside readers", 0, func(a *history.Acquisition) role {
			if a.Mode == history.ModeRead && !l.several[a] {
				return role{waits: 1}
			}
			return role{busyWaiting: 1, busyHolding: 1}
		})
	}
	if spare := int64(l.facts.Permits) - most; most > 0 && spare > 0 {
		doubt("while it had permits left", int(spare), func(a *history.Acquisition) role {
			if a.Mode == history.ModePermit && !l.several[a] {
				return role{waits: 1, busyHolding: int(a.Permits)}
			}
			return role{busyWaiting: int(spare) + 1, busyHolding: int(spare) + 1}
		})
	}
	return doubts
}

// stallsOf finds where a lock was wanted and not granted though no more than spare
// kept it.
func (l *live) stallsOf(lock string, all []*history.Acquisition, spare int, as func(*history.Acquisition) role) []Finding {
	var changes []change
	span := func(from, until int64, c change) {
		if until <= from || c == (change{}) {
			return
		}
		c.at = from
		changes = append(changes, c)
		c.at, c.waiting, c.busy, c.blocked = until, -c.waiting, -c.busy, -c.blocked
		changes = append(changes, c)
	}
	for _, a := range all {
		r := as(a)
		from, until := l.waited(a)
		span(from, until, change{waiting: r.waits, busy: r.busyWaiting})
		if a.Granted() {
			changes = append(changes, change{at: a.Returned, grant: true})
			span(a.Returned, l.believedUntil(a), change{busy: r.busyHolding})
		}
	}
	for _, f := range l.faults {
		from, until := l.inForce(f)
		span(from, until, change{blocked: 1})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })

	var found []Finding
	var waiting, busy, blocked int
	var began, waited, last int64 // of the stall that may be building up
	over := func(at int64) {
		if waited > l.bound {
			found = append(found, l.stall(lock, all, began, at, waited))
		}
		waited = 0
	}
	for _, c := range changes {
		if waiting > 0 && busy <= spare && blocked == 0 {
			if waited == 0 {
				began = last
			}
			waited += c.at - last
		}
		if c.grant || busy+max(c.busy, 0) > spare || c.blocked > 0 {
			over(c.at)
		}
		waiting, busy, blocked = waiting+c.waiting, busy+c.busy, blocked+c.blocked
		last = c.at
	}
	over(l.stop)
	return found
}

// stall describes a stall by the one who had been waiting longest when it began.
func (l *live) stall(lock string, all []*history.Acquisition, began, until, waited int64) Finding {
	f := Finding{
		Kind: "stall", Lock: lock, At: began, Until: until, Cause: CauseNone,
		Text: fmt.Sprintf("%s was free and waited for, for %s from %s", lock, seconds(waited), seconds(began)),
	}
	for _, a := range all {
		if from, until := l.waited(a); from <= began && began < until {
			f.Clients, f.Tokens, f.Events = []string{a.Client}, []int64{a.Token}, l.eventsOf(a)
			f.Text += ", by " + a.Client + " at least"
			break
		}
	}
	l.witnessStall(&f)
	return f
}
