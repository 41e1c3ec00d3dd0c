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

// liveness asks whether a lock that is free and wanted is granted in time. Until
// transaction logs are read, free means that no client believes it has the lock.
//
// A stall is more than timeout + 2 ticks + 1 s for which somebody waited, nobody
// held and no fault was in force: within the timeout and 1.5 ticks the service
// forgets any dead holder, and the rest is for the hand-off. Faults are in force
// until their heal was verified, so a stall is also what is left when a lock
// does not recover from one. A stall does not end when a waiter gives up and
// comes back, but attempts that give up within a tick are too impatient to prove
// anything.
//
// It is unknown whether a lock recovers if the last heal was not verified, or if
// after it nobody got a lock that was wanted and the time was too short to tell.
func liveness(d *digest, _ *Safety) Verdict {
	t := d.longestTimeout()
	if t == 0 {
		return Verdict{Result: Unknown, Summary: "the session timeout is not known"}
	}
	if len(d.acquisitions) == 0 {
		return Verdict{Result: Unknown, Summary: "nobody wanted a lock"}
	}
	l := live{digest: d, bound: t + 2*int64(d.facts.Tick) + int64(handOff), stop: d.end}
	if d.collect != history.None {
		l.stop = d.collect
	}
	heal, doubts := l.lastHeal()
	byLock := map[string][]*history.Acquisition{}
	for i := range d.acquisitions {
		a := &d.acquisitions[i]
		byLock[a.Lock] = append(byLock[a.Lock], a)
	}
	v := Verdict{}
	var censored int64
	for _, lock := range sortedKeys(byLock) {
		stalls := l.stalls(lock, byLock[lock])
		v.Count += int64(len(stalls))
		v.Findings = append(v.Findings, stalls[:min(len(stalls), maxFindings)]...)
		if heal != history.None && len(stalls) == 0 {
			doubts = append(doubts, l.afterHeal(lock, byLock[lock], heal)...)
		}
		for _, a := range byLock[lock] {
			if a.Returned == history.None && a.Died == history.None {
				censored++
			}
		}
	}
	switch {
	case v.Count > 0:
		v.Result, v.Summary = Fail, fmt.Sprintf("%s of a free lock that was waited for, the first: %s", count(v.Count, "stall", "stalls"), v.Findings[0].Text)
	case len(doubts) > 0:
		v.Result, v.Summary = Unknown, strings.Join(doubts, "; ")
	case !d.whole:
		v.Result, v.Summary = Unknown, "no stall as far as the history goes, which is not complete"
	default:
		v.Result, v.Summary = Pass, fmt.Sprintf("no free lock was waited for longer than %s", seconds(l.bound))
	}
	if censored > 0 {
		v.Summary += "; " + count(censored, "acquire was", "acquires were") + " still waiting at the end"
	}
	return v
}

type live struct {
	*digest
	bound, stop int64
}

// lastHeal is the instant from which every fault is over, None if there was no
// fault; or the doubts whether there is such an instant.
func (l *live) lastHeal() (at int64, doubts []string) {
	at = history.None
	for _, f := range l.faults {
		switch {
		case f.injected == history.None:
		case f.Permanent:
			at = max(at, f.injected)
		case f.healed == history.None:
			doubts = append(doubts, f.String()+" was not healed")
		case f.healVerified == history.None:
			doubts = append(doubts, "the heal of "+f.String()+" was not verified")
		default:
			at = max(at, f.healed, f.healVerified)
		}
	}
	if len(doubts) > 0 {
		at = history.None
	}
	return at, doubts
}

// inForce is when f can have kept a lock from being granted. A client that is
// killed for good keeps others from it only until its session expires, which
// the bound allows for; what a server's loss does to the rest is not known here.
func (l *live) inForce(f *fault) (from, until int64) {
	from = f.began()
	switch {
	case f.healVerified != history.None:
		until = max(f.healed, f.healVerified)
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

func (l *live) stalls(lock string, all []*history.Acquisition) []Finding {
	var changes []change
	span := func(from, until int64, c change) {
		if until <= from {
			return
		}
		c.at = from
		changes = append(changes, c)
		c.at, c.waiting, c.busy, c.blocked = until, -c.waiting, -c.busy, -c.blocked
		changes = append(changes, c)
	}
	for _, a := range all {
		from, until := l.waited(a)
		span(from, until, change{waiting: 1})
		if a.Granted() {
			changes = append(changes, change{at: a.Returned, grant: true})
			span(a.Returned, l.believedUntil(a), change{busy: 1})
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
		if waiting > 0 && busy == 0 && blocked == 0 {
			if waited == 0 {
				began = last
			}
			waited += c.at - last
		}
		if c.grant || c.busy > 0 || c.blocked > 0 {
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
	return f
}

// afterHeal says why it is not known that lock recovered after the last heal:
// somebody wanted it then, nobody got it, and it was not free for long enough
// to be a stall.
func (l *live) afterHeal(lock string, all []*history.Acquisition, heal int64) []string {
	wanted, held := false, false
	for _, a := range all {
		if a.Granted() && a.Returned >= heal {
			return nil
		}
		_, until := l.waited(a)
		wanted = wanted || until > heal
		held = held || a.Granted() && l.believedUntil(a) > heal
	}
	switch {
	case !wanted:
		return nil
	case held:
		return []string{fmt.Sprintf("nobody got %s after the last heal: who had it kept it", lock)}
	}
	return []string{fmt.Sprintf("nobody got %s in the %s after the last heal, too short to tell (%s)", lock, seconds(l.stop-heal), seconds(l.bound))}
}

// longestTimeout is the session timeout that bounds how long the service
// remembers a dead client, 0 if nothing says.
func (d *digest) longestTimeout() int64 {
	t := int64(d.facts.SessionTimeout)
	if t == 0 {
		for s := range d.sessions {
			t = max(t, d.timeout(s))
		}
	}
	return t
}
