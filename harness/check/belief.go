package check

import (
	"fmt"

	"locklab/harness/history"
)

// maxFindings bounds the findings of one kind that a verdict keeps. Counts have
// them all.
const maxFindings = 100

// beliefExclusion looks for clients that believed at once what cannot be true at
// once: that they held one lock, unless all of them read it (model M3), or more
// permits of it than there are (M4, see [eachExcess]). No lock service can rule
// that out while a client can stop, so overlaps are counted and measured, and what
// condemns a recipe is one without an explanation: see [digest.explain]. Where a fault would explain it that nobody
// saw take effect, or fail to, it is unknown.
//
// A recipe that promises no exclusion has nothing to explain; its overlaps are
// counted all the same, for that is what such a control is for.
//
// Permits and other modes of one lock are judged apart. So are the locks that one
// acquisition takes together: each is held, lost and released by itself.
func beliefExclusion(d *digest, s *Safety) Verdict {
	b := belief{digest: d}
	var doubts string
	for _, l := range d.locks {
		var holds, permits []hold
		for _, a := range l.grants {
			h := hold{a.Returned, d.believedUntil(a), a}
			switch {
			case history.Exclusive(a.Mode) || a.Mode == history.ModeRead:
				holds = append(holds, h)
			case a.Mode != history.ModePermit:
				doubts = fmt.Sprintf("holds of mode %s are not judged", a.Mode)
			case d.facts.Permits <= 0:
				doubts = "how many permits there are is not known"
			default:
				permits = append(permits, h)
			}
		}
		b.holds += len(holds) + len(permits)
		eachOverlap(holds, b.overlap)
		eachExcess(permits, int64(d.facts.Permits), b.canBeGone, b.excess)
	}
	s.Overlaps, s.MaxOverlapNs = &b.count, &b.longest
	if d.facts.Exclusive {
		s.OverlapsUnexplained = &b.unexplained
	}

	v := Verdict{Count: b.count, Findings: append(b.bad, b.good...), Violation: d.facts.Exclusive && b.unexplained > 0}
	switch {
	case b.unsure > 0 && b.unexplained == 0:
		v.Result, v.Summary = Unknown, b.summary()
	case b.count > 0:
		v.Result, v.Summary = Fail, b.summary()
	case doubts != "":
		v.Result, v.Summary = Unknown, fmt.Sprintf("no overlap among %s, but %s", count(int64(b.holds), "hold", "holds"), doubts)
	case b.holds == 0:
		v.Result, v.Summary = Unknown, "nobody got a lock"
	case !d.whole:
		v.Result, v.Summary = Unknown, fmt.Sprintf("no overlap among %s, but the history is not complete", count(int64(b.holds), "hold", "holds"))
	default:
		v.Result, v.Summary = Pass, fmt.Sprintf("no overlap among %s", count(int64(b.holds), "hold", "holds"))
	}
	return v
}

// belief is the sum of the overlaps seen so far.
type belief struct {
	*digest
	holds                              int
	count, unexplained, total, longest int64
	unsure                             int64  // that a fault would explain that was not verified
	worst                              string // the longest overlap in words
	bad, good                          []Finding
}

func (b *belief) overlap(first, second *hold) {
	older, newer := first.by, second.by
	if newer.Token != 0 && newer.Token < older.Token {
		older, newer = newer, older // an acquire can return late; the token says who was granted first
	}
	b.add(older, newer, second.from, min(first.until, second.until),
		fmt.Sprintf("%s and %s both believed that they held %s", holder(older), holder(newer), older.Lock))
}

// canBeGone reports whether a fault can have cost older its session before newer
// was granted its permits.
func (b *belief) canBeGone(older, newer *history.Acquisition) bool {
	if !b.facts.Exclusive {
		return false
	}
	why := b.explain(older, newer)
	return why.explained() || why.unsure()
}

func (b *belief) excess(older, newer *hold, from, until, taken int64) {
	lead := fmt.Sprintf("%s believed that it held %s of %s, and %s %d", holder(older.by), count(older.by.Permits, "permit", "permits"), older.by.Lock, holder(newer.by), newer.by.Permits)
	if older == newer {
		lead = fmt.Sprintf("%s believed that it held %s of %s", holder(older.by), count(older.by.Permits, "permit", "permits"), older.by.Lock)
	}
	b.add(older.by, newer.by, from, until, fmt.Sprintf("%s: %d taken of %d", lead, taken, b.facts.Permits))
}

// add counts an overlap, of which lead says what was believed.
func (b *belief) add(older, newer *history.Acquisition, from, until int64, lead string) {
	why := unexplained(nil, "the recipe promises nothing else")
	if b.facts.Exclusive {
		switch why = b.explain(older, newer); {
		case why.unsure():
			b.unsure++
		case !why.explained():
			b.unexplained++
		}
	}
	b.count++
	b.total += until - from
	longest := until-from > b.longest
	if longest {
		b.longest = until - from
		b.worst = fmt.Sprintf("%s and %s on %s for %s from %s", older.Client, newer.Client, older.Lock, millis(until-from), seconds(from))
	}
	list := &b.bad
	if why.explained() {
		list = &b.good
	}
	if len(*list) < maxFindings {
		*list = append(*list, b.finding(older, newer, from, until, why, lead))
	}
}

func (b *belief) finding(older, newer *history.Acquisition, from, until int64, why explanation, lead string) Finding {
	f := Finding{
		Kind: "overlap", Lock: older.Lock, At: from, Until: until,
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
	case b.unexplained == 0 && b.unsure == b.count:
		s += ", perhaps explained by a fault"
	case b.unexplained == 0 && b.unsure > 0:
		s += fmt.Sprintf(", %d of them perhaps explained by a fault", b.unsure)
	case b.unexplained == 0:
		s += ", explained"
	case b.unexplained == b.count:
		s += ", unexplained"
	default:
		s += fmt.Sprintf(", %d of them unexplained", b.unexplained)
	}
	if b.count > 1 {
		s += fmt.Sprintf("; %s in all, longest", millis(b.total))
	} else {
		s += ":"
	}
	return s + " " + b.worst
}

// holder names the holder in a sentence.
func holder(a *history.Acquisition) string {
	if a.Token == 0 {
		return a.Client
	}
	return fmt.Sprintf("%s (token %d)", a.Client, a.Token)
}
