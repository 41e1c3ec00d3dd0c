package check

import (
	"fmt"
	"slices"
	"sort"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

var tokensCheck = evidence.Check{
	Name:    evidence.Tokens,
	Asks:    "did fencing tokens rise strictly from grant to grant?",
	Subject: "rising tokens",
	Judge:   judgeTokens,
}

// judgeTokens asks whether the tokens of a lock's grants exist, are unique, and rise among grants that exclude each
// other.
//
// The clients do not know the order of the grants: the acquire of a paused client can return long after the service
// granted it, and even after the service gave the lock to the next client. So the order in which acquires returned
// proves nothing by itself; it is counted, in the summary. A was certainly granted before B if
//
//   - A's acquire had returned when B's was called. A's place in the queue, and its grant, are then older than B's,
//     which only came into being during B's call. (This also holds at one and the same instant, because a return is
//     stamped after it and a call before it.) Or
//   - A's acquire returned first, and B had the lock at the servers when its own returned (see held). Had B been
//     granted it before A, it would have had it all the time, also when A was granted it, which two clients that
//     cannot have it at once were not. What became of A, and of B afterwards, does not matter.
//
// In both cases B's token must be the higher one. The second rule is why tokens that go backwards among clients that
// waited together are found. It takes the exclusion of the service for granted; if that were broken, it would be the
// greater find. In calm it demands that tokens rise in the order of the returns.
//
// Two reads do not bound each other. A read and a write do, as two writes do, because a fence would refuse the later
// one otherwise. A writer that continues as a reader must keep its token, because its new node is younger than those
// of writers that are queued already. So a read may have the token of a write of the same client and session if it was
// called for while that write was held ([keptToken]).
//
// A lock of which it is not known beforehand whether it gives tokens may give some kinds of grants none: see
// [tokenOrder.missing].
//
// The tokens of permits belong to their slots and have no order among each other. They must rise within each slot,
// see [evidence.Digest.bySlot].
func judgeTokens(d *evidence.Digest, _ *evidence.Safety) evidence.Verdict {
	if !d.Facts.Tokens {
		return evidence.Verdict{Result: evidence.NotApplicable, Summary: "the recipe has no tokens"}
	}
	t := tokenOrder{Digest: d}
	t.missing()
	bySlot := slotsOf(d)
	var late int64
	others := false
	for _, l := range d.Locks {
		others = others || slices.ContainsFunc(l.Grants, func(a *history.Acquisition) bool { return !ordered(a) })
		grants := withTokens(l.Grants, returnedAt)
		t.judge(grants, false)
		t.grants += int64(len(grants))
		slots := bySlot.grants(l.Grants)
		for _, slot := range evidence.SortedKeys(slots) {
			t.judge(slots[slot], true)
			t.grants += int64(len(slots[slot]))
		}
		late += sum(overtaken(grants, returnedAt, 0))
	}
	v := evidence.Verdict{Count: t.bad, Findings: t.findings}
	switch {
	case t.bad > 0:
		v.Setf(evidence.Fail, "%s with a token that is missing, was used before, or is not higher than those before",
			evidence.Count(t.bad, "grant", "grants"))
	case t.unsure > 0:
		v.Setf(evidence.Unknown, "%s of grants that came against the order of their tokens%s",
			evidence.Count(t.unsure, "pair", "pairs"), t.doubt)
	case t.grants == 0 && others:
		return evidence.Verdict{
			Result:  evidence.NotApplicable,
			Summary: "the tokens of permits have no order, and no access says which slot they were for",
		}
	case t.grants == 0:
		v.Setf(evidence.Unknown, "no client got a token")
	case !d.Whole:
		v.Setf(evidence.Unknown, "rising as far as the history goes, which is not complete")
	default:
		v.Setf(evidence.Pass, "rising over %s", evidence.Count(t.grants, "grant", "grants"))
	}
	if t.bare > 0 {
		v.Summary += "; " + evidence.Count(t.bare, "grant is", "grants are") + " of a kind that never has a token"
	}
	if late > 0 {
		v.Summary += "; " + evidence.Count(late, "pair of acquires", "pairs of acquires") +
			" returned out of the tokens' order"
	}
	return v
}

type tokenOrder struct {
	*evidence.Digest
	grants, bad int64
	bare        int64 // grants of a kind that never has a token
	unsure      int64 // pairs of grants of which it is not known which was first
	doubt       string
	findings    []evidence.Finding
}

// close reports whether a may have been granted before b: because the clocks of two hosts can differ by so much, or
// because a driver may have stood still unseen and lost the hold that is to prove the order.
func (t *tokenOrder) close(b, a *history.Acquisition) bool {
	apart := t.Clocks().Between(b.Process, a.Process)
	after := a.Invoked
	if b.Returned > after {
		after = a.Returned
		if certain, _ := held(t.Digest, a); !certain {
			t.doubt = ", which " + evidence.Unwatched + " may explain"
			return true
		}
	}
	t.doubt = " by less than the clocks can differ"
	return apart > 0 && b.Returned+apart >= after
}

// A tokenKind is a kind of grants that all have a token, or none of them: by their mode, and whether the client may
// have kept the token of a hold that it has already.
type tokenKind struct {
	mode history.Mode
	kept bool
}

// missing looks for grants without a token. Where a lock may leave it out, it must do so for all grants of a kind: that
// some of them have one shows that it means to give it.
func (t *tokenOrder) missing() {
	gives := map[tokenKind]bool{}
	var without []*history.Acquisition
	var kinds []tokenKind // of those
	for _, l := range t.Locks {
		latest := map[string]*history.Acquisition{} // by client: its latest hold for itself
		for _, a := range l.Grants {
			had := latest[a.Client]
			kind := tokenKind{a.Mode, had != nil && keptToken(had, a)}
			if history.Exclusive(a.Mode) {
				latest[a.Client] = a
			}
			if gives[kind] = gives[kind] || a.Token != 0; a.Token == 0 && ordered(a) {
				without, kinds = append(without, a), append(kinds, kind)
			}
		}
	}
	for i, a := range without {
		if t.Facts.MayToken && !gives[kinds[i]] {
			t.bare++
		} else {
			t.find(evidence.KindTokenMissing, a, nil, fmt.Sprintf("%s was granted %s without a token", a.Client, a.Lock))
		}
	}
}

// judge looks, for each grant in the order of return, at the highest token of those that exclude it and were certainly
// granted before it. A grant is counted once, however much is wrong with it.
//
// The grants of one slot of a semaphore exclude each other.
func (t *tokenOrder) judge(grants []*history.Acquisition, oneSlot bool) {
	if risesStrictly(grants) {
		return
	}
	// A read is bound by exclusive grants only, an exclusive one by all.
	all := highest(grants, func(*history.Acquisition) bool { return true })
	exclusive := highest(grants, func(a *history.Acquisition) bool { return history.Exclusive(a.Mode) })
	owner := map[int64]*history.Acquisition{}
	for i, a := range grants {
		bounds := all
		if !oneSlot && !history.Exclusive(a.Mode) {
			bounds = exclusive
		}
		called := sort.Search(i, func(k int) bool { return grants[k].Returned > a.Invoked })
		told := sort.Search(i, func(k int) bool { return grants[k].Returned >= a.Returned })
		before := bounds[called]
		if b := bounds[max(called, told)]; b != before && b.Token > a.Token {
			if certain, perhaps := held(t.Digest, a); certain || perhaps {
				before = b
			}
		}
		first := owner[a.Token]
		switch {
		case first != nil && !keptToken(first, a):
			t.find(evidence.KindTokenReused, a, first,
				fmt.Sprintf("%s was granted %s with token %d, which %s had before", a.Client, a.Lock, a.Token, first.Client))
		case before != nil && before.Token > a.Token && t.close(before, a):
			t.unsure++
		case before != nil && before.Token > a.Token:
			t.find(evidence.KindTokenFell, a, before, fmt.Sprintf("%s was granted %s with token %d, after %s with token %d",
				a.Client, a.Lock, a.Token, before.Client, before.Token))
		}
		if first == nil {
			owner[a.Token] = a
		}
	}
}

// risesStrictly reports whether each grant has a higher token than the one before it.
func risesStrictly(grants []*history.Acquisition) bool {
	for i := range len(grants) - 1 {
		if grants[i].Token >= grants[i+1].Token {
			return false
		}
	}
	return true
}

// keptToken reports whether b is a read that the holder of the write a was granted, in the same session, while it held
// a, or the same lock once more, as a re-entrant lock grants it: such a hold has a's token rightly. A client that knew
// that it had lost the write had nothing to keep.
func keptToken(a, b *history.Acquisition) bool {
	held := func(t int64) bool { return t == history.None || t >= b.Invoked }
	return history.Exclusive(a.Mode) && (b.Mode == history.ModeRead || b.Mode == a.Mode) && a.Client == b.Client &&
		a.Process == b.Process && a.Session == b.Session && a.Returned <= b.Invoked && held(a.ReleaseInvoked) && held(a.Lost)
}

// highest returns the grant with the highest token among the first 0, 1, … of the grants, of those that count.
func highest(grants []*history.Acquisition, counts func(*history.Acquisition) bool) []*history.Acquisition {
	all := make([]*history.Acquisition, 1, len(grants)+1)
	for i, a := range grants {
		if h := all[i]; !counts(a) || h != nil && h.Token >= a.Token {
			a = h
		}
		all = append(all, a)
	}
	return all
}

// held reports whether a's client certainly had the lock at the servers when its acquire returned, or would have had it
// but for a standstill that nobody sees.
//
// It had it unless something can have cost it the lock before, as for [evidence.Digest.LostUntold]. It had it as well
// if its release succeeded: that deletes the holder's own node, which hence was there, and first in line, all the time
// since acquire returned. But a lock may say so of a release that came after the end of its session. So by the servers'
// transactions the hold must not have ended before; where there are none, nothing may have cost a its session before.
func held(d *evidence.Digest, a *history.Acquisition) (certain, perhaps bool) {
	at, end := d.EndAtServers(a)
	var lost []evidence.Explanation // each of which would show that it had it, if there is none
	if d.Timeout(a.Session) > 0 && (end == nil || at-2*d.Transactions.Clock.Err > a.Returned) {
		lost = append(lost, d.LostUntold(a))
	}
	if a.ReleaseReturned != history.None && a.ReleaseOutcome == history.OK && a.Lost == history.None {
		if d.Transactions.Whole() {
			certain = end == nil || at >= a.ReleaseInvoked
		} else {
			lost = append(lost, d.Outage(a, a.ReleaseInvoked))
		}
	}
	for _, x := range lost {
		certain = certain || !x.Explained() && !x.Unsure()
		perhaps = perhaps || x.Unseen()
	}
	return certain, perhaps
}

func (t *tokenOrder) find(kind evidence.Kind, a, before *history.Acquisition, text string) {
	t.bad++
	if len(t.findings) >= evidence.MaxFindings {
		return
	}
	f := evidence.Finding{Kind: kind, Lock: a.Lock, At: a.Returned, Until: a.Returned, Text: text}
	for _, g := range [...]*history.Acquisition{before, a} {
		if g != nil {
			f.Clients = append(f.Clients, g.Client)
			f.Tokens = append(f.Tokens, g.Token)
			f.Events = append(f.Events, t.EventsOf(g)...)
		}
	}
	t.findings = append(t.findings, f)
}
