package check

import (
	"fmt"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// BeliefExclusion names the check that this file defines.
const BeliefExclusion = "belief-exclusion"

var beliefExclusionCheck = Check{
	Name: BeliefExclusion,
	Asks: "did two clients believe at once that they held the lock (of a read/write lock at least one " +
		"of them to write; of a semaphore more permits than it has)? Each such overlap is explained: " +
		"the servers had ended the older hold before they granted the newer one, and a verified fault" +
		" or a recorded standstill says why. An overlap without an explanation is a bug",
	Subject: "which clients believed that they held the lock",
	judge:   judgeBeliefExclusion,
}

// maxFindings bounds the findings of one kind that a verdict keeps. Counts include all of them.
const maxFindings = 100

// judgeBeliefExclusion looks for clients that believed at once what cannot be true at once: that they held one lock,
// unless all of them read it (model M3), or more permits of it than there are (model M4, see [eachExcess]). No lock
// service can rule that out while a client can stop. So overlaps are counted and measured, and only one without an
// explanation condemns a recipe: see [digest.explain]. The verdict is unknown where a fault would explain an overlap,
// but nothing confirmed that the fault took effect; and where the record does not show which hold the service ended, so
// that the overlap cannot be attributed to anything; and where processes stood still that nobody had planned to stop,
// which is the machine's doing and not the lock's.
//
// A recipe that promises no exclusion has nothing to explain. Its overlaps are counted all the same, because such a
// recipe is there to show them.
//
// Permits and other modes of one lock are judged apart. So are the locks that one acquisition takes together, because
// each of them is held, lost and released by itself.
func judgeBeliefExclusion(d *digest, s *Safety) Verdict {
	b := belief{digest: d, harms: harms{}, crowd: map[handOver]bool{}}
	var doubts string
	for _, l := range d.locks {
		var holds, permits []hold
		for _, a := range l.grants {
			h := hold{a.Returned, d.believedUntil(a), a}
			switch {
			case history.Exclusive(a.Mode) || a.Mode == history.ModeRead:
				if holds == nil {
					holds = make([]hold, 0, len(l.grants))
				}
				holds = append(holds, h)
			case a.Mode != history.ModePermit:
				doubts = fmt.Sprintf("holds of mode %s are not judged", a.Mode)
			case d.facts.Permits <= 0:
				doubts = "the number of permits is not known"
			default:
				permits = append(permits, h)
			}
		}
		b.holds += len(holds) + len(permits)
		eachOverlap(holds, b.overlap)
		limit := func(from, until int64) int64 { return d.mostPermits(l.lock, from, until) }
		eachExcess(permits, limit, b.canBeGone, b.excess)
		b.inSlots(l.grants)
		b.hidden(holds, nil)
		b.hidden(permits, limit)
	}
	s.Overlaps, s.MaxOverlapNs = &b.count, &b.longest
	if d.facts.Exclusive {
		s.OverlapsUnexplained = &b.unexplained
	}

	v := Verdict{Count: b.count, Findings: append(b.bad, b.good...), harms: b.harms,
		Violation: d.facts.Exclusive && b.unexplained > 0}
	switch {
	case b.unsure+b.unattributed > 0 && b.unexplained == 0:
		v.Result, v.Summary = Unknown, b.summary()
	case b.count > 0 && b.perhaps > 0 && b.unexplained == 0:
		v.setf(Unknown, "%s; %s", b.summary(), b.open())
	case b.count > 0 && b.unplanned == b.count && d.facts.Expect[BeliefExclusion] != ExpectAny:
		v.setf(Unknown, "%s; nothing but standstills that nobody planned explains them", b.summary())
	case b.count > 0:
		v.Result, v.Summary = Fail, b.summary()
	case doubts != "":
		v.setf(Unknown, "no overlap among %s, but %s", count(int64(b.holds), "hold", "holds"), doubts)
	case b.holds == 0:
		v.setf(Unknown, "no client got a lock")
	case b.open() != "":
		v.setf(Unknown, "no certain overlap among %s, but %s", count(int64(b.holds), "hold", "holds"), b.open())
	case !d.whole:
		v.setf(Unknown, "no overlap among %s, but the history is not complete", count(int64(b.holds), "hold", "holds"))
	default:
		v.setf(Pass, "no overlap among %s%s", count(int64(b.holds), "hold", "holds"), b.close())
	}
	return v
}

// belief is the sum of the overlaps seen so far.
type belief struct {
	*digest
	holds                              int
	count, unexplained, total, longest int64
	unsure                             int64  // overlaps that a fault would explain that was not verified
	unplanned                          int64  // overlaps that only a standstill explains that no fault caused
	unattributed                       int64  // overlaps that cannot be attributed to anything
	leftOut, perhaps                   int64  // pairs that may overlap or not, and of these others than faults explain
	within                             int64  // by how much the clocks of such pairs may be off
	worst                              string // the longest overlap in words
	bad, good                          []Finding
	harms                              harms
	crowd                              map[handOver]bool // pairs of holds of too many permits
}

func (b *belief) overlap(first, second *hold) {
	older, newer := first.by, second.by
	if b.grantedFirst(newer, older) {
		older, newer = newer, older // an acquire can return late
	}
	b.add(older, newer, second.from, min(first.until, second.until), func() string {
		return fmt.Sprintf("%s and %s both believed that they held %s", holder(older), holder(newer), older.Lock)
	})
}

// grantedFirst reports whether it is known that the service granted a before b, by the tokens or by the znodes.
func (d *digest) grantedFirst(a, b *history.Acquisition) bool {
	if a.Token != 0 && b.Token != 0 {
		return a.Token < b.Token
	}
	if d.servers == nil {
		return false
	}
	p, q := d.servers.proof(a), d.servers.proof(b)
	if p.answer != nodes.Witnessed || q.answer != nodes.Witnessed {
		return false
	}
	first, _ := p.from()
	second, _ := q.from()
	return first < second
}

// canBeGone reports whether a fault can have cost older its session before newer was granted its permits.
func (b *belief) canBeGone(older, newer *history.Acquisition) bool {
	if !b.facts.Exclusive {
		return false
	}
	if b.apart(older.Process, newer.Process) > 0 && b.handedOver(older, newer) {
		return true
	}
	why := b.taken(older, newer)
	return why.explained() || why.unsure()
}

func (b *belief) excess(older, newer *hold, from, until, taken, limit int64) {
	b.crowd[handOver{older.by, newer.by}] = true
	b.add(older.by, newer.by, from, until, func() string {
		lead := fmt.Sprintf("%s believed that it held %s of %s", holder(older.by),
			count(older.by.Permits, "permit", "permits"), older.by.Lock)
		if older != newer {
			lead += fmt.Sprintf(", and %s believed that it held %d", holder(newer.by), newer.by.Permits)
		}
		return fmt.Sprintf("%s: %d were taken of %d", lead, taken, limit)
	})
}

// inSlots looks for clients that believed that they held one slot of a semaphore, though the service had not taken it
// from the first of them. Their permits may be no more than there are all the same.
func (b *belief) inSlots(grants []*history.Acquisition) {
	slots := b.bySlot(grants)
	for _, slot := range sortedKeys(slots) {
		var holds []hold
		for _, a := range slots[slot] {
			if a.Permits <= 1 {
				holds = append(holds, hold{a.Returned, b.believedUntil(a), a})
			}
		}
		one := func(_, _ int64) int64 { return 1 }
		eachExcess(holds, one, b.canBeGone, func(older, newer *hold, from, until, _, _ int64) {
			if pair := (handOver{older.by, newer.by}); !b.crowd[pair] && older != newer && !b.canBeGone(older.by, newer.by) {
				b.add(older.by, newer.by, from, until, func() string {
					return fmt.Sprintf("%s and %s both believed that they held %s of %s", holder(older.by), holder(newer.by), slot,
						newer.by.Lock)
				})
			}
		})
	}
}

// add counts an overlap; lead says what the clients believed. There may be millions, so texts are made only of those
// that are kept.
func (b *belief) add(older, newer *history.Acquisition, from, until int64, lead func() string) {
	apart := b.apart(older.Process, newer.Process)
	if apart > 0 && b.certainFor(older, newer, from, until) <= apart {
		b.uncertain(older, newer, apart)
		return
	}
	if !b.facts.Exclusive && len(b.bad) == maxFindings && until-from <= b.longest {
		b.count, b.total = b.count+1, b.total+until-from
		return
	}
	why := explanation{cause: CauseNone, text: "the recipe promises no exclusion"}
	if b.facts.Exclusive {
		why = b.explain(older, newer, until)
		if lasted := b.certainFor(older, newer, from, until); !why.explained() &&
			lasted <= b.clocks().between(older.Process, newer.Process) && older.Process != newer.Process {
			why = b.clocks().within(older.Process, newer.Process, lasted)
		}
		switch {
		case why.open:
			b.unattributed++
		case why.unsure():
			b.unsure++
		case !why.explained():
			b.unexplained++
		case why.cause == CauseSlowClient:
			b.unplanned++
		}
	}
	b.harms.overlap(why)
	b.count++
	b.total += until - from
	longest := until-from > b.longest
	if longest {
		b.longest = until - from
		b.worst = fmt.Sprintf("%s and %s on %s for %s from %s", older.Client, newer.Client, older.Lock, millis(until-from),
			seconds(from))
	}
	list := &b.bad
	if why.explained() {
		list = &b.good
	}
	if len(*list) < maxFindings {
		*list = append(*list, b.finding(older, newer, from, until, why, lead()))
	}
}

// certainFor is by how much the clocks of the two holders may differ before the overlap might not have been one. Of
// exclusive holds that is more than the overlap itself where one of them lies within the other.
func (b *belief) certainFor(older, newer *history.Acquisition, from, until int64) int64 {
	if older.Mode == history.ModePermit {
		return until - from
	}
	return min(b.believedUntil(older)-newer.Returned, b.believedUntil(newer)-older.Returned)
}

// close says how many hand-offs between hosts took less than their clocks can differ, so that an overlap may be hidden
// there. The servers' transactions show that there is none, if they were read.
func (b *belief) close() string {
	if b.servers != nil && b.transactions.whole() {
		return ""
	}
	var n, most int64
	for _, l := range b.locks {
		var last *history.Acquisition
		for _, a := range l.grants {
			if last != nil && history.Conflict(last.Mode, a.Mode) {
				gap, apart := a.Returned-b.believedUntil(last), b.clocks().between(last.Process, a.Process)
				if b.apart(last.Process, a.Process) > 0 {
					apart = 0 // see hidden
				}
				if gap >= 0 && gap < apart {
					n, most = n+1, max(most, apart-gap)
				}
			}
			if last == nil || b.believedUntil(a) > b.believedUntil(last) {
				last = a
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; by the clocks alone, %s may hide an overlap of up to %s", count(n, "hand-off", "hand-offs"),
		millis(most))
}

func (b *belief) finding(older, newer *history.Acquisition, from, until int64, why explanation, lead string) Finding {
	f := Finding{
		Kind: KindOverlap, Lock: older.Lock, At: from, Until: until,
		Clients: []string{older.Client, newer.Client}, Tokens: []int64{older.Token, newer.Token},
		Events: b.eventsOf(older),
	}
	if newer != older {
		f.Events = append(f.Events, b.eventsOf(newer)...)
	}
	f.Cause, f.Explained, f.Zxids = why.cause, why.explained(), zxidWords(why.zxids)
	if why.fault != nil {
		f.Fault = why.fault.ID
		f.Events = append(f.Events, why.fault.events...)
	}
	if why.hiccup != nil {
		f.Events = append(f.Events, *why.hiccup)
	}
	f.Text = fmt.Sprintf("%s, for %s from %s; %s", lead, millis(until-from), seconds(from), why.text)
	return f
}

func (b *belief) summary() string {
	s := count(b.count, "overlap", "overlaps")
	switch {
	case !b.facts.Exclusive:
	case b.unexplained == 0 && b.unattributed == b.count:
		s += ", not attributable"
	case b.unexplained == 0 && b.unsure == b.count:
		s += ", which a fault may explain"
	case b.unexplained == 0 && b.unsure+b.unattributed > 0:
		s += fmt.Sprintf(", %d of which a fault may explain and %d of which are not attributable", b.unsure,
			b.unattributed)
	case b.unexplained == 0:
		s += ", explained"
	case b.unexplained == b.count:
		s += ", unexplained"
	default:
		s += fmt.Sprintf(", %d of them unexplained", b.unexplained)
	}
	if b.count > 1 {
		s += fmt.Sprintf("; %s in all, the longest by", millis(b.total))
	} else {
		s += ":"
	}
	return s + " " + b.worst
}

// holder names the client that holds a, for a sentence.
func holder(a *history.Acquisition) string {
	if a.Token == 0 {
		return a.Client
	}
	return fmt.Sprintf("%s (token %d)", a.Client, a.Token)
}
