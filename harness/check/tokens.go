package check

import (
	"fmt"
	"slices"
	"sort"

	"locklab/harness/history"
)

// tokens asks whether the tokens of a lock's grants rise from grant to grant that
// exclude each other, are unique, and exist.
//
// The order of the grants is not known to the clients: a paused one can see its
// acquire return long after the service granted it, and after the service gave
// the lock to the next. So the order in which acquires returned accuses nobody;
// it is only counted, in the summary. A was certainly granted before B if
//
//   - A's acquire had returned when B's was called: A's place in the queue, and
//     its grant, are older than B's, which began to exist within the call
//     (at one and the same instant, too: returning comes after, calling before); or
//   - both were released with success and A's acquire returned first. A release
//     that succeeds deletes the holder's own node, which hence was there, and
//     first in line, all the time since acquire returned. Each held the lock at
//     the service at the instant of its return, and two who cannot hold it at
//     once held it in the order of these instants.
//
// In both cases B's token must be the higher. The second rule is why tokens that
// go backwards among clients that waited together are found; it takes the
// service's own exclusion for granted, whose breach would be the greater find.
//
// Two reads bound nothing of each other's. A read and a write do, as two writes:
// otherwise a fence would refuse the later one. A writer that goes on as a reader
// must keep its token, because its new node is younger than those of writers that
// queue already. So a read may have the token of a write of the same client and
// session, if it was called for while that write was held ([keptToken]).
//
// The tokens of permits are their slots', and no order at all: they are not judged.
func tokens(d *digest, _ *Safety) Verdict {
	if !d.facts.Tokens {
		return Verdict{Result: NotApplicable, Summary: "the recipe has no tokens"}
	}
	t := tokenOrder{digest: d}
	var late int64
	others := false
	for _, l := range d.locks {
		others = others || slices.ContainsFunc(l.grants, func(a *history.Acquisition) bool { return !ordered(a) })
		t.missing(l)
		grants := withTokens(l.grants, returnedAt)
		t.judge(grants)
		t.grants += int64(len(grants))
		late += sum(overtaken(grants))
	}
	v := Verdict{Count: t.bad, Findings: t.findings}
	switch {
	case t.bad > 0:
		v.Result = Fail
		v.Summary = count(t.bad, "grant", "grants") + " with a token that is missing, used or not higher than those before"
	case t.grants == 0 && others:
		return Verdict{Result: NotApplicable, Summary: "tokens of permits are no order"}
	case t.grants == 0:
		v.Result, v.Summary = Unknown, "nobody got a token"
	case !d.whole:
		v.Result, v.Summary = Unknown, "rising as far as the history goes, which is not complete"
	default:
		v.Result, v.Summary = Pass, fmt.Sprintf("rising over %s", count(t.grants, "grant", "grants"))
	}
	if late > 0 {
		v.Summary += "; " + count(late, "pair of acquires", "pairs of acquires") + " returned out of token order"
	}
	return v
}

type tokenOrder struct {
	*digest
	grants, bad int64
	findings    []Finding
}

func (t *tokenOrder) missing(l lockGrants) {
	for _, a := range l.grants {
		if a.Token == 0 && ordered(a) {
			t.find("token-missing", a, nil, fmt.Sprintf("%s was granted %s without a token", a.Client, a.Lock))
		}
	}
}

// judge looks for each grant, in order of return, at the highest token of those
// that exclude it and were certainly granted before it. A grant is counted once,
// whatever is wrong.
func (t *tokenOrder) judge(grants []*history.Acquisition) {
	// A read is bound by exclusive grants only, an exclusive one by all.
	all, exclusive := newBounds(len(grants)), newBounds(len(grants))
	owner := make(map[int64]*history.Acquisition, len(grants))
	for i, a := range grants {
		returned := sort.Search(len(grants), func(k int) bool { return grants[k].Returned > a.Invoked })
		before := all.before(a, min(returned, i))
		if !history.Exclusive(a.Mode) {
			before = exclusive.before(a, min(returned, i))
		}
		first := owner[a.Token]
		switch {
		case first != nil && !keptToken(first, a):
			t.find("token-reused", a, first, fmt.Sprintf("%s was granted %s with token %d, which %s had", a.Client, a.Lock, a.Token, first.Client))
		case before != nil && before.Token > a.Token:
			t.find("token-fell", a, before, fmt.Sprintf("%s was granted %s with token %d, after %s with token %d", a.Client, a.Lock, a.Token, before.Client, before.Token))
		}
		if first == nil {
			owner[a.Token] = a
		}
		all.add(a, true)
		exclusive.add(a, history.Exclusive(a.Mode))
	}
}

// keptToken reports whether b is a read that the holder of the write a was granted
// while it held it, by the same session: the token is a's by right. One that knew
// that it had lost the write had nothing to keep.
func keptToken(a, b *history.Acquisition) bool {
	held := func(t int64) bool { return t == history.None || t >= b.Invoked }
	return history.Exclusive(a.Mode) && b.Mode == history.ModeRead && a.Client == b.Client && a.Process == b.Process &&
		a.Session == b.Session && a.Returned <= b.Invoked && held(a.ReleaseInvoked) && held(a.Lost)
}

// bounds is the highest tokens among some of the grants, in order of return.
type bounds struct {
	highest []*history.Acquisition // among the first i to return
	proven  *history.Acquisition   // among those released with success
}

func newBounds(grants int) *bounds {
	return &bounds{highest: make([]*history.Acquisition, 1, grants+1)}
}

// add takes note of the next grant to return, if it is one that counts.
func (b *bounds) add(a *history.Acquisition, counts bool) {
	highest := b.highest[len(b.highest)-1]
	if counts && (highest == nil || a.Token > highest.Token) {
		highest = a
	}
	b.highest = append(b.highest, highest)
	if counts && released(a) && (b.proven == nil || a.Token > b.proven.Token) {
		b.proven = a
	}
}

// before is the highest of those certainly granted before a, of which returned had
// returned when a was called for.
func (b *bounds) before(a *history.Acquisition, returned int) *history.Acquisition {
	before, proven := b.highest[returned], b.proven
	if released(a) && proven != nil && proven.Returned < a.Returned && (before == nil || proven.Token > before.Token) {
		before = proven
	}
	return before
}

// released reports whether a was released with success after its grant.
func released(a *history.Acquisition) bool {
	return a.ReleaseReturned != history.None && a.ReleaseOutcome == history.OK && a.Lost == history.None
}

func (t *tokenOrder) find(kind string, a, before *history.Acquisition, text string) {
	t.bad++
	if len(t.findings) >= maxFindings {
		return
	}
	f := Finding{Kind: kind, Lock: a.Lock, At: a.Returned, Until: a.Returned, Text: text}
	for _, g := range [...]*history.Acquisition{before, a} {
		if g != nil {
			f.Clients = append(f.Clients, g.Client)
			f.Tokens = append(f.Tokens, g.Token)
			f.Events = append(f.Events, t.eventsOf(g)...)
		}
	}
	t.findings = append(t.findings, f)
}
