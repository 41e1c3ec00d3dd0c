package check

import (
	"fmt"
	"slices"
	"strings"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

var beliefExclusionCheck = evidence.Check{
	Name: evidence.BeliefExclusion,
	Asks: "did two clients believe at once that they held the lock (of a read/write lock at least one " +
		"of them to write; of a semaphore more permits than it has)? Each such overlap is explained: " +
		"the servers had ended the older hold before they granted the newer one, and a verified fault" +
		" or a recorded standstill says why. An overlap without an explanation is a bug",
	Subject: "which clients believed that they held the lock",
	Judge:   judgeBeliefExclusion,
}

// judgeBeliefExclusion looks for clients that believed at once what cannot be true at once: that they held one lock,
// unless all of them read it (model M3), or more permits of it than there are (model M4, see [eachExcess]). No
// lock service can rule that out while a client can stop. So overlaps are counted and measured, and only one without an
// explanation condemns a recipe: see [evidence.Digest.explain]. The verdict is unknown where a fault would explain an
// overlap, but nothing confirmed that the fault took effect; and where the record does not show which hold the service
// ended, so that the overlap cannot be attributed to anything; and where processes stood still that nobody had planned
// to stop, which is the machine's doing and not the lock's.
//
// A recipe that promises no exclusion has nothing to explain. Its overlaps are counted all the same, because such a
// recipe is there to show them.
//
// Permits and other modes of one lock are judged apart. So are the locks that one acquisition takes together, because
// each of them is held, lost and released by itself.
func judgeBeliefExclusion(d *evidence.Digest, s *evidence.Safety) evidence.Verdict {
	b := belief{Digest: d, harms: evidence.Harms{}, crowd: map[effect.HandOver]bool{}, slots: slotsOf(d)}
	var doubts string
	for _, l := range d.Locks {
		var holds, permits, awake []effect.Hold
		unseen := false // some of permits may have been granted earlier, if a driver stood still
		for _, a := range l.Grants {
			h := effect.Hold{From: a.Returned, Until: d.BelievedUntil(a), By: a}
			switch {
			case history.Exclusive(a.Mode) || a.Mode == history.ModeRead:
				if holds == nil {
					holds = make([]effect.Hold, 0, len(l.Grants))
				}
				holds = append(holds, h)
			case a.Mode != history.ModePermit:
				doubts = fmt.Sprintf("holds of mode %s are not judged", a.Mode)
			case d.Facts.Permits <= 0:
				doubts = "the number of permits is not known"
			default:
				var since int64
				h.Since, since = d.GrantedSince(a)
				permits = append(permits, h)
				unseen = unseen || since != h.Since
				h.Since = since
				awake = append(awake, h)
			}
		}
		if b.holds += len(holds) + len(permits); d.Facts.Exclusive && mixed(holds, permits) {
			doubts = fmt.Sprintf("%s was held by permits and otherwise at once, and how these exclude each other is not known",
				l.Lock)
		}
		effect.EachOverlap(holds, b.overlap)
		limit := func(from, until int64) int64 { return d.MostPermits(l.Lock, from, until) }
		eachExcess(permits, limit, b.canBeGone, b.excess)
		if unseen {
			eachExcess(awake, limit, b.canBeGone, b.excessUnseen)
		}
		b.inSlots(l.Grants)
		b.hidden(holds, nil)
		b.hidden(permits, limit)
	}
	s.Overlaps, s.MaxOverlapNs = &b.count, &b.longest
	if d.Facts.Exclusive {
		s.OverlapsUnexplained = &b.unexplained
	}

	among := evidence.Count(int64(b.holds), "hold", "holds")
	v := evidence.Verdict{Count: b.count, Findings: append(b.bad, b.good...), Harms: b.harms,
		Violation: d.Facts.Exclusive && b.unexplained > 0}
	switch {
	case b.unsure+b.unattributed > 0 && b.unexplained == 0:
		v.Result, v.Summary = evidence.Unknown, b.summary()
	case b.count > 0 && b.perhaps+b.late > 0 && b.unexplained == 0:
		v.Setf(evidence.Unknown, "%s; %s", b.summary(), b.open())
	case b.count > 0 && b.unplanned == b.count && d.Facts.Expect[evidence.BeliefExclusion] != evidence.ExpectAny:
		v.Setf(evidence.Unknown, "%s; nothing but standstills that nobody planned explains them", b.summary())
	case b.count > 0:
		v.Result, v.Summary = evidence.Fail, b.summary()
	case doubts != "":
		v.Setf(evidence.Unknown, "no overlap among %s, but %s", among, doubts)
	case b.holds == 0:
		v.Setf(evidence.Unknown, "no client got a lock")
	case b.open() != "":
		v.Setf(evidence.Unknown, "no certain overlap among %s, but %s", among, b.open())
	case !d.Whole:
		v.Setf(evidence.Unknown, "no overlap among %s, but the history is not complete", among)
	default:
		v.Setf(evidence.Pass, "no overlap among %s%s", among, b.close())
	}
	return v
}

// belief is the sum of the overlaps seen so far.
type belief struct {
	*evidence.Digest
	holds                              int
	count, unexplained, total, longest int64
	unsure                             int64  // overlaps that a fault would explain that was not verified
	unseen                             int64  // of these, those that only a standstill of an unwatched driver would
	unplanned                          int64  // overlaps that only a standstill explains that no fault caused
	unattributed                       int64  // overlaps that cannot be attributed to anything
	leftOut, perhaps                   int64  // pairs that may overlap or not, and of these others than faults explain
	within                             int64  // by how much the clocks of such pairs may be off
	late                               int64  // pairs that are an excess unless a driver stood still unseen
	firstLate                          string // the first of these in words
	worst                              string // the longest overlap in words
	bad, good                          []evidence.Finding
	harms                              evidence.Harms
	slots                              slots
	crowd                              map[effect.HandOver]bool // pairs of holds of too many permits
}

func (b *belief) overlap(first, second *effect.Hold) {
	older, newer := first.By, second.By
	if b.GrantedFirst(newer, older) {
		older, newer = newer, older // an acquire can return late
	}
	b.add(older, newer, second.From, min(first.Until, second.Until), func() string {
		return fmt.Sprintf("%s and %s both believed that they held %s", evidence.Holder(older), evidence.Holder(newer),
			older.Lock)
	})
}

// canBeGone reports whether a fault can have cost older its session before newer was granted its permits.
func (b *belief) canBeGone(older, newer *history.Acquisition) bool {
	if !b.Facts.Exclusive {
		return false
	}
	if b.Apart(older.Process, newer.Process) > 0 && handedOver(b.Digest, older, newer) {
		return true
	}
	why := b.Taken(older, newer)
	return why.Explained() || why.Unsure()
}

func (b *belief) excess(older, newer *effect.Hold, from, until, taken, limit int64) {
	b.crowd[effect.HandOver{Older: older.By, Newer: newer.By}] = true
	b.add(older.By, newer.By, from, until, func() string { return excessText(older, newer, taken, limit) })
}

// excessText says what the clients of two holds believed.
func excessText(older, newer *effect.Hold, taken, limit int64) string {
	lead := fmt.Sprintf("%s believed that it held %s of %s", evidence.Holder(older.By),
		evidence.Count(older.By.Permits, "permit", "permits"), older.By.Lock)
	if older != newer {
		lead += fmt.Sprintf(", and %s believed that it held %d", evidence.Holder(newer.By), newer.By.Permits)
	}
	return fmt.Sprintf("%s: %d were taken of %d", lead, taken, limit)
}

// excessUnseen notes more permits than there are, which may be no excess: a driver that declares no pings may have
// stood still, so that its client was told late of permits that it was granted while there were more.
func (b *belief) excessUnseen(older, newer *effect.Hold, from, until, taken, limit int64) {
	pair := effect.HandOver{Older: older.By, Newer: newer.By}
	if b.crowd[pair] || !b.Facts.Exclusive || b.Explain(older.By, newer.By, until).Explained() {
		return
	}
	if b.late++; b.late == 1 {
		b.firstLate = excessText(older, newer, taken, limit) + evidence.UnlessStood
	}
}

// inSlots looks for clients that believed that they held one slot of a semaphore, though the service had not taken it
// from the first of them. Their permits may be no more than there are all the same.
func (b *belief) inSlots(grants []*history.Acquisition) {
	slots := b.slots.grants(grants)
	for _, slot := range evidence.SortedKeys(slots) {
		var holds []effect.Hold
		for _, a := range slots[slot] {
			if a.Permits <= 1 {
				holds = append(holds, effect.Hold{From: a.Returned, Until: b.BelievedUntil(a), By: a})
			}
		}
		one := func(_, _ int64) int64 { return 1 }
		eachExcess(holds, one, b.canBeGone, func(older, newer *effect.Hold, from, until, _, _ int64) {
			pair := effect.HandOver{Older: older.By, Newer: newer.By}
			if !b.crowd[pair] && older != newer && !b.canBeGone(older.By, newer.By) {
				b.add(older.By, newer.By, from, until, func() string {
					return fmt.Sprintf("%s and %s both believed that they held %s of %s", evidence.Holder(older.By),
						evidence.Holder(newer.By), slot, newer.By.Lock)
				})
			}
		})
	}
}

// add counts an overlap; lead says what the clients believed. There may be millions, so texts are made only of those
// that are kept.
func (b *belief) add(older, newer *history.Acquisition, from, until int64, lead func() string) {
	apart := b.Apart(older.Process, newer.Process)
	if apart > 0 && b.certainFor(older, newer, from, until) <= apart {
		b.uncertain(older, newer, apart)
		return
	}
	if !b.Facts.Exclusive && len(b.bad) == evidence.MaxFindings && until-from <= b.longest {
		b.count, b.total = b.count+1, b.total+until-from
		return
	}
	why := evidence.Explanation{Cause: evidence.CauseNone, Text: "the recipe promises no exclusion"}
	if b.Facts.Exclusive {
		why = b.Explain(older, newer, until)
		if lasted := b.certainFor(older, newer, from, until); !why.Explained() &&
			lasted <= b.Clocks().Between(older.Process, newer.Process) && older.Process != newer.Process {
			why = b.Clocks().Within(older.Process, newer.Process, lasted)
		}
		switch {
		case why.Open:
			b.unattributed++
		case why.Unsure():
			b.unsure++
			if why.Unseen() {
				b.unseen++
			}
		case !why.Explained():
			b.unexplained++
		case why.Cause == evidence.CauseSlowClient:
			b.unplanned++
		}
	}
	b.harms.Overlap(why)
	b.count++
	b.total += until - from
	longest := until-from > b.longest
	if longest {
		b.longest = until - from
		b.worst = fmt.Sprintf("%s and %s on %s for %s from %s", older.Client, newer.Client, older.Lock,
			evidence.Millis(until-from), evidence.Seconds(from))
	}
	list := &b.bad
	if why.Explained() {
		list = &b.good
	}
	if len(*list) < evidence.MaxFindings {
		*list = append(*list, b.finding(older, newer, from, until, why, lead()))
	}
}

// certainFor is by how much the clocks of the two holders may differ before the overlap might not have been one. Of
// exclusive holds that is more than the overlap itself where one of them lies within the other.
func (b *belief) certainFor(older, newer *history.Acquisition, from, until int64) int64 {
	if older.Mode == history.ModePermit {
		return until - from
	}
	return min(b.BelievedUntil(older)-newer.Returned, b.BelievedUntil(newer)-older.Returned)
}

// close says how many hand-offs between hosts took less than their clocks can differ, so that an overlap may be hidden
// there. The servers' transactions show that there is none, if they were read.
func (b *belief) close() string {
	if b.Servers != nil && b.Transactions.Whole() {
		return ""
	}
	var n, most int64
	for _, l := range b.Locks {
		var last *history.Acquisition
		for _, a := range l.Grants {
			if last != nil && history.Conflict(last.Mode, a.Mode) {
				gap, apart := a.Returned-b.BelievedUntil(last), b.Clocks().Between(last.Process, a.Process)
				if b.Apart(last.Process, a.Process) > 0 {
					apart = 0 // see hidden
				}
				if gap >= 0 && gap < apart {
					n, most = n+1, max(most, apart-gap)
				}
			}
			if last == nil || b.BelievedUntil(a) > b.BelievedUntil(last) {
				last = a
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; by the clocks alone, %s may hide an overlap of up to %s",
		evidence.Count(n, "hand-off", "hand-offs"), evidence.Millis(most))
}

func (b *belief) finding(older, newer *history.Acquisition, from, until int64, why evidence.Explanation,
	lead string) evidence.Finding {
	f := evidence.Finding{
		Kind: evidence.KindOverlap, Lock: older.Lock, At: from, Until: until,
		Clients: []string{older.Client, newer.Client}, Tokens: []int64{older.Token, newer.Token},
		Events: b.EventsOf(older),
	}
	if newer != older {
		f.Events = append(f.Events, b.EventsOf(newer)...)
	}
	f.Cause, f.Explained, f.Zxids = why.Cause, why.Explained(), evidence.ZxidWords(why.Zxids)
	if why.Fault != nil {
		f.Fault = why.Fault.ID
		f.Events = append(f.Events, why.Fault.Events...)
	}
	if why.Hiccup != nil {
		f.Events = append(f.Events, *why.Hiccup)
	}
	f.Text = fmt.Sprintf("%s, for %s from %s; %s", lead, evidence.Millis(until-from), evidence.Seconds(from), why.Text)
	return f
}

func (b *belief) summary() string {
	s, may := evidence.Count(b.count, "overlap", "overlaps"), "a fault"
	if b.unseen == b.unsure {
		may = evidence.Unwatched
	}
	switch {
	case !b.Facts.Exclusive:
	case b.unexplained == 0 && b.unattributed == b.count:
		s += ", not attributable"
	case b.unexplained == 0 && b.unsure == b.count:
		s += fmt.Sprintf(", which %s may explain", may)
	case b.unexplained == 0 && b.unsure+b.unattributed > 0:
		s += fmt.Sprintf(", %d of which %s may explain and %d of which are not attributable", b.unsure, may,
			b.unattributed)
	case b.unexplained == 0:
		s += ", explained"
	case b.unexplained == b.count:
		s += ", unexplained"
	default:
		s += fmt.Sprintf(", %d of them unexplained", b.unexplained)
	}
	if b.count > 1 {
		s += fmt.Sprintf("; %s in all, the longest by", evidence.Millis(b.total))
	} else {
		s += ":"
	}
	return s + " " + b.worst
}

// uncertain notes a pair of holds that may have overlapped, or not, because of the clocks of their hosts.
func (b *belief) uncertain(older, newer *history.Acquisition, by int64) {
	if handedOver(b.Digest, older, newer) || handedOver(b.Digest, newer, older) {
		return
	}
	b.within = max(b.within, by)
	if !b.Facts.Exclusive || b.Taken(older, newer).Explained() {
		b.leftOut++
	} else {
		b.perhaps++
	}
}

// hidden looks for holds that followed each other by their clocks, and by so little that they may have overlapped.
// Those of permits are many at once; limit is how many there may be.
func (b *belief) hidden(holds []effect.Hold, limit func(from, until int64) int64) {
	most := b.Slack()
	if most == 0 {
		return
	}
	wide := slices.DeleteFunc(slices.Clone(holds), func(h effect.Hold) bool { return h.Until <= h.From })
	for i := range wide {
		wide[i].Until += most
	}
	visit := func(first, second *effect.Hold) {
		apart := b.Apart(first.By.Process, second.By.Process)
		if gap := second.From - (first.Until - most); gap >= 0 && gap < apart {
			b.uncertain(first.By, second.By, apart)
		}
	}
	if limit == nil {
		effect.EachOverlap(wide, visit)
		return
	}
	over := func(older, newer *history.Acquisition) bool { return b.BelievedUntil(older) <= newer.Returned }
	eachExcess(wide, limit, over, func(older, newer *effect.Hold, _, _, _, _ int64) {
		if older.From > newer.From {
			older, newer = newer, older
		}
		visit(older, newer)
	})
}

// open says how many pairs of holds are not judged because nobody watched a driver, or because of their hosts' clocks;
// empty if there are none.
func (b *belief) open() string {
	var parts []string
	switch {
	case b.late == 1:
		parts = append(parts, b.firstLate)
	case b.late > 1:
		parts = append(parts, fmt.Sprintf("%s; and %d more", b.firstLate, b.late-1))
	}
	if b.perhaps+b.leftOut > 0 {
		parts = append(parts, b.unsureOfClocks())
	}
	return strings.Join(parts, "; ")
}

// unsureOfClocks is what [belief.open] says of clocks.
func (b *belief) unsureOfClocks() string {
	return fmt.Sprintf("%s of holds may have overlapped, or not, because the clocks of their hosts are only known to %s",
		evidence.Count(b.perhaps+b.leftOut, "pair", "pairs"), evidence.Millis(b.within))
}

// handedOver reports whether older had called release before newer's acquire returned, whatever their clocks show: by
// the servers' transactions, older's own session deleted its znode, in a release that succeeded, before newer's became
// eligible.
func handedOver(d *evidence.Digest, older, newer *history.Acquisition) bool {
	if d.Servers == nil || !d.Transactions.Whole() || older.ReleaseInvoked == history.None ||
		!evidence.EndedCleanly(older) {
		return false
	}
	o, n := d.Servers.Proof(older), d.Servers.Proof(newer)
	if o.Answer != nodes.Witnessed || n.Answer != nodes.Witnessed {
		return false
	}
	end := o.End()
	from, _ := n.From()
	return end != nil && end.Cause != txnlog.CloseSession && end.By == int64(older.Session) && end.Zxid <= from
}
