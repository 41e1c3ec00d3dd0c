package effect

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

var EffectCheck = evidence.Check{
	Name: evidence.Effect,
	Asks: "did the resource accept outdated accesses, lose acknowledged updates, let a client write " +
		"beside a reader, serve more permits than there are, or refuse a legal holder?",
	Subject: "what the resource accepted",
	Judge:   judgeEffect,
}

// judgeEffect judges what reached the resource. It goes by the resource's own record, which is in the order in which
// it served.
//
//   - Stale accepted, stale rejected: an access with a token below one that the resource had served before and that
//     bounds it ([Fences]) was let in, or refused. Leaving (exit) does not use the resource and counts as neither.
//   - False rejection: an access was refused although no higher token that bounds it had been served, so a legal
//     holder was turned away.
//   - Lost updates: the increments acknowledged to clients, less the counter's final value. A counter starts at 0.
//     Where writers need not exclude each other, because there is more than one permit, they may legally lose updates,
//     and none are counted. A write under a read hold is damage by itself, and updates are counted all the same.
//   - Whose they were: an update of a client whose write was stale when it was served, or another's, see
//     [updateTrace]. Not counted where the record does not tell.
//   - Untold: a stale write that was invoked before its client learned of the loss, see [outdated].
//   - Torn reads: the counter was read as two values under one read hold, so a client wrote beside the reader.
//   - Crowded: more of a semaphore's permits were used at once than there are, see [Effects.crowd].
//   - Late: accepted and not stale, but served after the hold had ended: at the servers, by the client's call of
//     release, or by the news of the loss. It harms nobody, unless the client made the access after that call.
//   - In spite of the guard: a client whose guard asks before each access made one after it had learned of its loss,
//     see [Effects.afterHold].
//   - Stale reads: a read did not see the newest write, see [Effects.staleRead].
//   - Accounting: acknowledged ≤ final ≤ acknowledged + unknown, where unknown are the writes of which the client
//     never learned the outcome. A final value below that range means lost updates; one above it means that the
//     resource counted something that no client wrote.
//
// Each element of a list is accounted for: see [Effects.account].
//
// All damage must belong to an overlap of holds that a verified fault explains, or it is a violation, whatever the
// scenario expects: see [evidence.Digest.attribute]. A scenario that wants to see damage wants that of its fault, and
// not any.
//
// Without tokens nothing is stale, but updates can still be lost.
//
// Data that is kept in ZooKeeper ([evidence.GuardZKMulti]) has no record except the clients' own and the final value:
// see [Effects.inZooKeeper].
func judgeEffect(d *evidence.Digest, s *evidence.Safety) evidence.Verdict {
	e := Effects{
		Locks:   map[string]*LockEffect{},
		permits: int64(d.Facts.Permits),
		Most:    d.MostPermits,
		since: func(e *history.Event) (since, awake int64) {
			if a := at(d, e); a != nil {
				return d.GrantedSince(a)
			}
			return 0, 0 // its hold is not recorded
		},
		taken: func(older, newer *history.Event) bool {
			a, b := at(d, older), at(d, newer)
			return a != nil && b != nil && d.Explain(a, b, newer.At).Explained()
		},
		zkMulti: d.Facts.Guard == evidence.GuardZKMulti,
		lists:   d.Facts.Lists,
		asks:    d.Facts.Guard != "" && d.Facts.Guard != evidence.GuardNone && !evidence.Promises(d.Facts.Guard),
		stood:   d.StoodFor,
		expired: func(e *history.Event) int64 { return expiredBy(d, e) },
		notices: noticesOf(d.Acquisitions),
		calls:   map[string]*history.Event{},
		unsent:  unsentWrites(d.Events),
		harms:   evidence.Harms{},

		restarted: restarted(d.Events),

		Apart:      d.Apart,
		collect:    d.Collect,
		bare:       d.Facts.Tokens && slices.ContainsFunc(d.Acquisitions, bare),
		excludes:   d.Facts.Exclusive,
		attributed: d.Facts.Exclusive && d.Facts.Guard != evidence.GuardZKMulti,
	}
	e.gone = goneBy(d)
	var one history.Event // for all, because effects are on the heap and keep copies of few
	for _, one = range d.Events.Of(history.OpEnter, history.OpRead, history.OpWrite, history.OpExit, history.OpAcquire,
		history.OpRelease, history.OpLost) {
		e.Add(&one)
	}
	e.crowd()
	if d.Facts.Exclusive {
		e.together()
	}
	if !e.used && !e.recorded {
		return evidence.Verdict{Result: evidence.NotApplicable, Summary: "no client used the resource"}
	}
	switch {
	case !e.recorded && e.zkMulti:
		return evidence.Verdict{Result: evidence.Unknown, Summary: "ZooKeeper acknowledged nothing"}
	case !e.recorded:
		return evidence.Verdict{Result: evidence.Unknown, Summary: "there is no record of the resource"}
	}
	if !e.zkMulti {
		s.FalseRejections = &e.FalseRejections
	}
	if e.tokens {
		s.StaleAccepted, s.StaleRejected, s.StaleWritesUntold = &e.StaleAccepted, &e.StaleRejected, &e.untold
	}
	if e.gone != nil && e.attributed {
		s.LateAccepted = &e.lateAccepted
	}
	if e.reads {
		s.TornReads = &e.torn
	}
	if e.permitted && e.permits > 0 {
		s.Crowded = &e.crowded
	}
	known := d.Facts.FinalValues != nil || d.Whole && !e.zkMulti
	if e.lists {
		known = d.Facts.FinalLists != nil
		e.account(d.Facts.FinalLists, d.Whole)
	} else if known {
		e.resolve(d.Facts.FinalVersions, d.Whole)
		e.settle(d.Facts.FinalValues, d.Facts.FinalVersions, d.Whole)
	}
	if known && e.unread == 0 && e.exclusive() && !e.permitted {
		s.LostUpdates = &e.lost
		if e.tokens && !e.untraced && !(e.zkMulti && e.lost > 0) {
			s.LostUpdatesOfOthers = &e.lostOfOthers
		}
	}

	bad, open, unplanned := attribute(d, &e)
	unplanned = unplanned && d.Facts.Expect[evidence.Effect] != evidence.ExpectAny
	damage := e.StaleAccepted + e.FalseRejections + max(e.lost, e.overwritten) + e.torn + e.crowded + e.underRead +
		e.shared + e.afterEnd
	if e.attributed {
		s.DamageUnexplained = &bad
	}
	wrong := e.miscounted + e.released + e.broken + e.outlasted + e.staleReads // no overlap of holds explains any of these
	v := evidence.Verdict{Count: damage + wrong, Findings: e.findings, Harms: e.harms}
	v.Violation = wrong > 0 || bad > 0 || evidence.Promises(d.Facts.Guard) && damage > 0
	switch {
	case open > 0 && !v.Violation && d.Facts.Expect[evidence.Effect] == evidence.ExpectFail:
		v.Result = evidence.Unknown // it may not be the damage that was to be shown
	case unplanned && !v.Violation:
		v.Result = evidence.Unknown
	case v.Count > 0:
		v.Result = evidence.Fail
	case !known || e.unread > 0:
		v.Result = evidence.Unknown
	case !d.Whole || e.crowdedAwake > 0:
		v.Result = evidence.Unknown
	default:
		v.Result = evidence.Pass
	}
	v.Summary = e.summary(known)
	if bad > 0 {
		v.Summary += fmt.Sprintf("; no overlap that a fault explains covers %d of these", bad)
	}
	switch {
	case unplanned && open > 0:
		v.Summary += fmt.Sprintf("; %s may explain %d of these", evidence.Unwatched, open)
	case unplanned:
		v.Summary += "; nothing but standstills that nobody planned explains them"
	case open > 0:
		v.Summary += fmt.Sprintf("; not attributable: %d of these", open)
	}
	if !d.Whole {
		v.Summary += "; the history is not complete"
	}
	return v
}

// bare reports whether an acquisition was granted without a token.
func bare(a history.Acquisition) bool { return a.Granted() && a.Token == 0 }

func (x *Effects) summary(known bool) string {
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	some := func(n int64, format string) {
		if n > 0 {
			say(format, n)
		}
	}
	many := func(n int64, one, several, what string) {
		if n > 0 {
			say("%s %s", evidence.Count(n, one, several), what)
		}
	}
	if x.tokens {
		say("%d stale accepted, %d rejected", x.StaleAccepted, x.StaleRejected)
		if x.staleWrites > 0 {
			say("%d of %s invoked before the client was told of its loss", x.untold,
				evidence.Count(x.staleWrites, "stale write", "stale writes"))
		}
	} else {
		say("no tokens, so nothing is stale")
	}
	some(x.lateAccepted, "%d late but not outdated")
	some(x.lateReleased, "%d of them served after release was called")
	some(x.lateKnown, "%d of them served after the client had learned of its loss")
	many(x.afterEnd, "write", "writes", "acknowledged after the hold had ended at the servers")
	many(x.broken, "access", "accesses", "made after the client had learned of its loss, in spite of its guard")
	many(x.outlasted, "access", "accesses",
		"made after the session had expired at the servers, in spite of the lease clock")
	many(x.released, "access", "accesses", "made after release was called")
	many(x.staleReads, "read", "reads", "that did not see the newest write")
	some(x.early, "%d refused before a later holder was known")
	many(x.FalseRejections, "legal access", "legal accesses", "refused")
	many(x.shared, "pair of uses", "pairs of uses", "of the resource at once that exclude each other")
	many(x.underRead, "write", "writes", "under a read hold")
	if x.reads {
		say("%s", evidence.Count(x.torn, "torn read", "torn reads"))
	}
	switch {
	case x.lists && known:
		say("%d lost of %d acknowledged elements (final %d, %d unknown)", x.lost, x.acknowledged, x.final, x.unknown)
		if x.duplicated+x.unexpected > 0 {
			say("%d duplicated, %d unexpected", x.duplicated, x.unexpected)
		}
	case x.lists:
		say("final lists not known, %d acknowledged, %d overwritten", x.acknowledged, x.overwritten)
	case x.permitted && x.permits > 0 && x.acknowledged == 0:
		say("%s beyond the permits", evidence.Count(x.crowded, "use", "uses"))
	case !x.exclusive():
		say("%d acknowledged to writers that do not exclude each other", x.acknowledged)
	case known:
		say("%d lost of %d acknowledged (final %d, %d unknown)", x.lost, x.acknowledged, x.final, x.unknown)
		if x.lost > 0 && x.tokens && !x.untraced && !x.zkMulti {
			say("%d of the lost updates belonged to clients that were not outdated", x.lostOfOthers)
		}
	default:
		say("final value not known, %d acknowledged, %d overwritten", x.acknowledged, x.overwritten)
	}
	many(x.crowdedAwake, "use", "uses", "beyond the permits unless "+evidence.Unwatched+" delayed the news of a grant")
	many(x.unread, "final value", "final values", "not known")
	if x.miscounted > 0 {
		say("the account does not balance")
	}
	return strings.Join(parts, "; ")
}
