package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/harness/history"
)

// Liveness names the check that this file defines.
const Liveness = "liveness"

var livenessCheck = Check{
	Name: Liveness,
	Asks: "did the lock move on, in calm and after every heal, was it handed on in time and never refused " +
		"or failed while it was free, did nobody in a queue have to wait for those who came later, was no hold lost " +
		"without a cause, did every client get the lock once all faults were healed, and did no client leave znodes " +
		"behind?",
	Subject: "progress",
	judge:   judgeLiveness,
}

// handOff is how long a hand-off may take on a busy machine, in addition to what the protocol needs.
const handOff = time.Second

// impatient is how long an attempt must last to prove anything. A shorter one may have given up before the service
// could answer, even on a free lock.
const impatient = int64(250 * time.Millisecond)

// StallBound is how long a lock may stay free while a client waits for it.
func StallBound(timeout, tick time.Duration) time.Duration { return timeout + 2*tick + handOff }

// Standstill is how long a process must have stood still for a stall to be excused.
func Standstill(tick time.Duration) time.Duration { return cmp.Or(tick, handOff) }

// judgeLiveness asks whether a lock that is free and wanted is granted in time. Free means that no client believes that
// it has the lock, or has yet to give it back. [livenessJudge.serverFindings] says what the servers' transactions add.
//
// A stall is a time of more than the session timeout + 2 ticks + 1 s in which a client waited, no client held the
// lock, and neither a fault nor a standstill can have kept it from being granted ([livenessJudge.blocks]). Within the
// timeout and 1.5 ticks the service forgets any dead holder, and the rest is for the hand-off. Faults are in force
// until their heal was confirmed, so a lock that does not recover from a fault is a stall too. A stall does not end
// when a waiter gives up and comes back, but attempts that give up within a quarter of a second, or within 50 ms of
// having a place in the queue, are too impatient to prove anything. Many of them in vain are a doubt, see
// [livenessJudge.refusals], which judges refused attempts as well.
//
// Hand-offs after a clean release are judged more strictly, by what the run itself shows to be plausible: see
// [livenessJudge.handOffs].
//
// A lock that is held may still have to be granted: to a reader beside readers, or a permit while others are left.
// That needs the queue's order and the recipe's rules to judge, so a stall is only a doubt there, and the check is
// unknown: if readers waited beside readers with no writer in sight, or if permits were wanted while as many were free
// as any client that waited for so long asked for. And a lock that is free need not be available: a client that wants
// several locks at once may have one long before acquire returns, or may not have asked for it yet. Its waits are not
// stalls, and no lock is free while such a client waits for it. If it would be a stall otherwise, perhaps a deadlock,
// that is a doubt as well.
//
// A lock that fails every attempt for as long as a stall takes is not live either, see [livenessJudge.failing]. A run
// in which no client ever got a lock proves nothing, see [livenessJudge.neverGranted].
//
// A queue must pass nobody over, see [livenessJudge.passedOver], and each loss of a hold has a cause, see
// [livenessJudge.lostWithoutCause].
//
// Where every client asks again and again, each must get a lock once more after the last heal, see
// [livenessJudge.progress].
//
// It is unknown whether a lock recovers if the last heal was not confirmed, or if no client got a wanted lock after it
// and the time was too short to tell. So it is whether faults left anything behind, see
// [livenessJudge.recoveryDoubts].
func judgeLiveness(d *digest, _ *Safety) Verdict {
	t := d.longestTimeout()
	if t == 0 {
		return Verdict{Result: Unknown, Summary: "the session timeout is not known"}
	}
	if len(d.acquisitions) == 0 {
		return Verdict{Result: Unknown, Summary: "no client asked for a lock"}
	}
	l := livenessJudge{digest: d, bound: int64(StallBound(time.Duration(t), d.facts.Tick)) + d.slack(),
		stop: d.end}
	if d.collect != history.None {
		l.stop = d.collect
	}
	heal, doubts := l.lastHeal()
	l.several = takenTogether(d.acquisitions)
	l.aftermath = l.aftermaths()
	byLock := history.ByLock(d.acquisitions, nil)
	v := Verdict{}
	var censored int64
	var ordinary []handedOver
	l.grants = map[string][]*history.Acquisition{}
	for _, of := range d.locks {
		l.grants[of.lock] = of.grants
	}
	var refused, failing, passed, lost []Finding
	for _, lock := range sortedKeys(byLock) {
		stalls := l.stalls(lock, byLock[lock])
		if d.whole { // else a holder may only be missing from the record
			ordinary = l.ordinary(ordinary, byLock[lock], l.grants[lock])
			wrongly, inVain := l.refusals(lock, byLock[lock])
			refused = append(refused, wrongly...)
			passed = append(passed, l.passedOver(lock, byLock[lock])...)
			losses, unsure := l.lostWithoutCause(byLock[lock])
			lost, doubts = append(lost, losses...), append(doubts, unsure...)
			if len(stalls) == 0 {
				doubts = append(doubts, inVain...)
				for _, f := range l.failing(lock, byLock[lock]) {
					switch {
					case f.Cause == CauseServer:
						doubts = append(doubts, f.Text)
					case d.facts.Tries:
						doubts = append(doubts, f.Text+", and it is not known whether the lock can be tried")
					default:
						failing = append(failing, f)
					}
				}
			}
		}
		if len(stalls) > 0 && stalls[0].Cause == CauseServer {
			doubts = append(doubts, stalls[0].Text)
		} else {
			v.Count += int64(len(stalls))
		}
		v.Findings = append(v.Findings, stalls[:min(len(stalls), maxFindings)]...)
		if len(stalls) == 0 {
			doubts = append(doubts, l.stallDoubts(lock, byLock[lock])...)
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
	slow, said, unsureOf := l.handOffs(ordinary)
	doubts = append(doubts, unsureOf...)
	var first string // finding of the servers' logs
	var excused int64
	for _, f := range l.serverFindings(byLock) {
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
	doubts = append(doubts, append(l.perhapsOrphans, l.recoveryDoubts(heal)...)...)
	stuck, unsure := l.progress(heal)
	share, little := l.judged(byLock)
	doubts = slices.Concat(doubts, unsure, l.neverGranted(), little)
	switch {
	case v.Count > stalled && stalled == 0:
		v.setf(Fail, "%s in the servers' logs: %s",
			count(v.Count, "orphan or unnoticed grant", "orphans and unnoticed grants"), first)
	case v.Count > stalled:
		v.setf(Fail, "%s of a free lock that clients waited for, the first: %s; and in the servers' logs: %s",
			count(stalled, "stall", "stalls"), v.Findings[0].Text, first)
	case v.Count > 0 && v.Findings[0].Kind == KindDeadlock:
		v.setf(Fail, "%s, the first: %s", count(stalled, "deadlock", "deadlocks and stalls"), v.Findings[0].Text)
	case v.Count > 0:
		v.setf(Fail, "%s of a free lock that clients waited for, the first: %s", count(v.Count, "stall", "stalls"),
			v.Findings[0].Text)
	case len(failing) > 0:
		v.Count, v.Findings = int64(len(failing)), append(failing[:min(len(failing), maxFindings)], v.Findings...)
		v.setf(Fail, "a free lock only failed, %s, the first: %s", count(v.Count, "time", "times"), failing[0].Text)
	case len(refused)+len(slow) > 0:
		late := append(refused, slow...)
		v.Count, v.Findings = int64(len(late)), append(late[:min(len(late), maxFindings)], v.Findings...)
		v.setf(Fail, "%s, the first: %s", lateWords(len(refused), len(slow)), late[0].Text)
	case len(passed) > 0:
		v.Count, v.Findings = int64(len(passed)), append(passed[:min(len(passed), maxFindings)], v.Findings...)
		v.setf(Fail, "%s passed over in the queue, the first: %s", count(v.Count, "wait was", "waits were"), passed[0].Text)
	case len(lost) > 0:
		v.Count, v.Findings = int64(len(lost)), append(lost[:min(len(lost), maxFindings)], v.Findings...)
		v.setf(Fail, "%s without a cause, the first: %s", count(v.Count, "hold was lost", "holds were lost"), lost[0].Text)
	case len(stuck) > 0:
		v.Count, v.Findings = int64(len(stuck)), append(stuck[:min(len(stuck), maxFindings)], v.Findings...)
		v.setf(Fail, "%s without progress after the last heal, the first: %s", count(v.Count, "client", "clients"),
			stuck[0].Text)
	case len(doubts) > 0:
		v.Result, v.Summary = Unknown, strings.Join(doubts, "; ")
	case !d.whole:
		v.setf(Unknown, "no stall as far as the history goes, which is not complete")
	default:
		v.setf(Pass, "no client waited for a free lock for longer than %s", length(l.bound))
	}
	if excused > 0 {
		v.Summary += fmt.Sprintf("; a server is to blame for %s", count(excused, "finding", "findings"))
	}
	if v.Count == 0 {
		v.Summary += said
	}
	if v.Result != Fail {
		v.Summary += share
	}
	if heal != history.None {
		v.Summary += l.gotAfter(heal)
	}
	if censored > 0 {
		v.Summary += "; " + count(censored, "acquire was", "acquires were") + " still waiting at the end"
	}
	return v
}

// lateWords says how many refusals and slow hand-offs there were.
func lateWords(refused, slow int) string {
	refusals := count(int64(refused), "refusal of a free lock", "refusals of a free lock")
	switch {
	case slow == 0:
		return refusals
	case refused == 0:
		return count(int64(slow), "slow hand-off", "slow hand-offs")
	}
	return fmt.Sprintf("%s and %d slow hand-offs", refusals, slow)
}

// A livenessJudge looks for stalls of longer than bound until stop.
type livenessJudge struct {
	*digest
	bound, stop int64
	several     map[*history.Acquisition]bool // those that take several locks at once
	aftermath   []spell                       // see [livenessJudge.aftermaths]
	grants      map[string][]*history.Acquisition

	perhapsOrphans []string
	disturbs       []spell // see disturbances
}

// takenTogether returns the acquisitions that were called for before the others of the same number had returned.
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

// inForce is when f can have kept a lock from being granted. A client that is killed for good keeps others from it
// only until its session expires, which the bound allows for; what the loss of a server does to the rest is not known
// here.
//
// A fault that never happened is over as soon as that is known. An injection that failed may have taken effect all the
// same; the final heal ends what it left.
func (l *livenessJudge) inForce(f *fault) (from, until int64) {
	from = f.began()
	known := f.neverHappened()
	switch {
	case f.HealVerified != history.None:
		until = max(f.Healed, f.HealVerified)
	case known != history.None && (f.missed || f.unsupported || l.final == nil):
		until = known
	case known != history.None && l.final.Kind == history.OK:
		until = max(known, l.final.At)
	case f.Permanent && f.Injected != history.None && l.onlyClients(f):
		until = f.Injected
	default:
		until = l.stop
	}
	return from, until
}

// waited is the interval for which a waited, as far as it counts.
func (l *livenessJudge) waited(a *history.Acquisition) (from, until int64) {
	until = l.stop
	if h, ok := l.horizon[a.Process]; ok {
		until = min(until, h)
	}
	for _, t := range [...]int64{a.Returned, a.Died} {
		if t != history.None {
			until = min(until, t)
		}
	}
	patience := min(impatient, int64(l.facts.Tick))
	if a.Queued != history.None {
		patience = a.Queued - a.Invoked + patience/5 // it is known how long the service took to give it its place
	}
	if a.Reason == history.FailBusy || !a.Granted() && until-a.Invoked < patience {
		until = a.Invoked // it did not wait
	}
	return a.Invoked, until
}

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
type role struct{ waits, busyWaiting, busyHolding int }

// stalls finds where lock was free, wanted and not granted.
func (l *livenessJudge) stalls(lock string, all []*history.Acquisition) []Finding {
	return l.stallsOf(lock, all, 0, l.blocks(all, false), l.alone)
}

// alone is the role of an acquisition of a lock that only one client can have.
func (l *livenessJudge) alone(a *history.Acquisition) role {
	switch {
	case l.several[a]:
		return role{busyWaiting: 1, busyHolding: 1}
	case l.facts.Permits > 0 && a.Permits > l.fewestPermits(a.Lock):
		return role{busyHolding: 1} // it asks for more than there are
	}
	return role{waits: 1, busyHolding: 1}
}

// stallDoubts says where lock may have stalled.
func (l *livenessJudge) stallDoubts(lock string, all []*history.Acquisition) (doubts []string) {
	blocks := l.blocks(all, true)
	doubt := func(when string, spare int, f func(*history.Acquisition) role) {
		if found := l.stallsOf(lock, all, spare, blocks, f); len(found) > 0 {
			doubts = append(doubts, fmt.Sprintf(
				"clients waited for %s for %s from %s %s, so it is not known whether the lock stalled",
				lock, length(found[0].Until-found[0].At), seconds(found[0].At), when))
		}
	}
	doubt("beside faults or standstills that need not have kept it from them", 0, l.alone)
	blocks = l.blocks(all, false)
	var several, reads bool
	var most int64
	for _, a := range all {
		several = several || l.several[a]
		reads = reads || a.Mode == history.ModeRead
		if from, until := l.waited(a); a.Mode == history.ModePermit && until-from > l.bound {
			most = max(most, a.Permits) // who waits for less cannot be in the way for so long
		}
	}
	if several {
		doubt("while a client wanted it together with other locks", 0,
			func(*history.Acquisition) role { return role{waits: 1, busyHolding: 1} })
	}
	if reads && (l.servers == nil || len(l.servers.doubts()) > 0) { // else the logs tell which znodes were eligible
		doubt("to read while others were reading", 0, func(a *history.Acquisition) role {
			if a.Mode == history.ModeRead && !l.several[a] {
				return role{waits: 1}
			}
			return role{busyWaiting: 1, busyHolding: 1}
		})
	}
	if spare := l.fewestPermits(lock) - most; most > 0 && spare > 0 {
		doubt("while it had permits left", int(spare), func(a *history.Acquisition) role {
			if a.Mode == history.ModePermit && !l.several[a] {
				return role{waits: 1, busyHolding: int(a.Permits)}
			}
			return role{busyWaiting: int(spare) + 1, busyHolding: int(spare) + 1}
		})
	}
	return doubts
}

// stallsOf finds where a lock was wanted and not granted outside of blocks though no more than spare kept it from being
// granted.
func (l *livenessJudge) stallsOf(
	lock string,
	all []*history.Acquisition,
	spare int,
	blocks []spell,
	as func(*history.Acquisition) role,
) []Finding {
	gaps := l.gaps(lock, all)
	if len(gaps) == 0 {
		return nil
	}
	var changes []change
	span := func(from, until int64, c change) {
		if c == (change{}) {
			return
		}
		for part := range gaps.cut(from, until) {
			c.at = part.from
			changes = append(changes, c)
			c.at = part.until
			changes = append(changes, c.back())
		}
	}
	for _, gap := range gaps { // which begin and end with grants
		changes = append(changes, change{at: gap.from, grant: true})
		if gap.until != math.MaxInt64 {
			changes = append(changes, change{at: gap.until, grant: true})
		}
	}
	for _, a := range all {
		r := as(a)
		from, until := l.waited(a)
		span(from, until, change{waiting: r.waits, busy: r.busyWaiting})
		for deaf := range l.silenced(a).cut(from, until) {
			span(deaf.from, deaf.until, change{waiting: -r.waits})
		}
		if a.Granted() {
			span(a.Returned, l.keptUntil(a), change{busy: r.busyHolding})
		}
	}
	for _, t := range blocks {
		span(t.from, t.until, change{blocked: 1})
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

// keptUntil is until when a kept the lock from others. A client that lost its hold by its own clock keeps its znode
// until it calls release, however late: nobody may follow it while its requests may be on their way. Where the servers'
// transactions do not tell when the znode was gone, every lost hold is kept until then.
func (l *livenessJudge) keptUntil(a *history.Acquisition) int64 {
	until := min(l.believedUntil(a), l.stoppedOut(a))
	if a.Lost == history.None || a.ReleaseInvoked == history.None {
		return until
	}
	kept := a.ReleaseInvoked
	if at, end := l.digest.gone(a); end != nil {
		kept = min(kept, at)
	}
	return max(until, kept)
}

// stoppedOut is when a's session must have expired while a fault kept its process from doing anything, so that others
// are owed the lock though its client goes on believing; [math.MaxInt64] if there is no such fault, or if the servers
// may not have been able to expire it.
func (l *livenessJudge) stoppedOut(a *history.Acquisition) int64 {
	for _, f := range l.faults {
		from, until := f.effect()
		from = max(from, f.Verified, a.Returned)
		by := later(from, l.bound)
		if f.certain() && f.stops() && f.hits(a.Process) && l.onlyClients(f) && until > by &&
			!slices.ContainsFunc(l.faults, func(g *fault) bool {
				began, over := l.inForce(g)
				return g.possible() && !l.onlyClients(g) && began <= by && over >= from
			}) {
			return by
		}
	}
	return math.MaxInt64
}

// gaps are the times that are long enough for a stall and in which a lock was not granted: from its first call to its
// first grant, from one grant to the next, and from the last one on. Nothing outside of them can make a stall. There
// are few, though a lock may be granted a million times.
func (l *livenessJudge) gaps(lock string, all []*history.Acquisition) spells {
	var gaps spells
	last := l.stop
	for _, a := range all {
		last = min(last, a.Invoked)
	}
	for _, a := range l.grants[lock] {
		if a.Returned-last > l.bound {
			gaps = append(gaps, spell{last, a.Returned})
		}
		last = a.Returned
	}
	if l.stop-last > l.bound {
		gaps = append(gaps, spell{last, math.MaxInt64})
	}
	return gaps
}

// stall describes a stall by the client that had been waiting longest when it began.
func (l *livenessJudge) stall(lock string, all []*history.Acquisition, began, until, waited int64) Finding {
	f := Finding{
		Kind: KindStall, Lock: lock, At: began, Until: until, Cause: CauseNone,
		Text: fmt.Sprintf("%s was free for %s from %s while clients waited for it", lock, length(waited), seconds(began)),
	}
	for _, a := range all {
		if from, until := l.waited(a); from <= began && began < until {
			f.Clients, f.Tokens, f.Events = []string{a.Client}, []int64{a.Token}, l.eventsOf(a)
			f.Text += ", at least " + a.Client
			break
		}
	}
	l.witnessStall(&f)
	l.deadlock(&f, all)
	return f
}
