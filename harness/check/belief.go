package check

import (
	"fmt"
	"strings"

	"locklab/harness/history"
)

// maxFindings bounds the findings of one kind that a verdict keeps. Counts have
// them all.
const maxFindings = 100

// beliefExclusion looks for clients that believed at once what cannot be true at
// once: that they held one lock, unless all of them read it (model M3), or more
// permits of it than there are (M4, see [eachExcess]). No lock service can rule
// that out while a client can stop, so overlaps are counted and measured, and what
// condemns a recipe is one without an explanation: see [digest.explain].
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
	return b.facts.Exclusive && b.explain(older, newer) != nil
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
	var why *fault
	if b.facts.Exclusive {
		if why = b.explain(older, newer); why == nil {
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
	if why != nil {
		list = &b.good
	}
	if len(*list) < maxFindings {
		*list = append(*list, b.finding(older, newer, from, until, why, lead))
	}
}

func (b *belief) finding(older, newer *history.Acquisition, from, until int64, why *fault, lead string) Finding {
	f := Finding{
		Kind: "overlap", Lock: older.Lock, At: from, Until: until, Cause: CauseNone,
		Clients: []string{older.Client, newer.Client}, Tokens: []int64{older.Token, newer.Token},
		Events: b.eventsOf(older),
	}
	if newer != older {
		f.Events = append(f.Events, b.eventsOf(newer)...)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s, for %s from %s", lead, millis(until-from), seconds(from))
	switch {
	case why != nil:
		f.Cause, f.Fault, f.Explained = why.Kind, why.ID, true
		f.Events = append(f.Events, why.events...)
		fmt.Fprintf(&text, "; %s struck %s before %s was granted it", why, seconds(newer.Returned-why.injected), newer.Client)
		if t := b.timeout(older.Session); t > 0 {
			fmt.Fprintf(&text, ", %.2f of the session timeout", float64(newer.Returned-why.injected)/float64(t))
		}
	case !b.facts.Exclusive:
		text.WriteString("; the recipe promises nothing else")
	case older.Token == 0 || newer.Token == 0:
		text.WriteString("; without tokens nothing can explain it")
	case newer == older:
		text.WriteString("; there are not so many")
	case newer.Token == older.Token:
		text.WriteString("; they have the same token")
	default:
		text.WriteString("; no fault explains it")
	}
	f.Text = text.String()
	return f
}

func (b *belief) summary() string {
	s := count(b.count, "overlap", "overlaps")
	switch {
	case !b.facts.Exclusive:
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
