package check

import (
	"fmt"
	"math"
	"strings"

	"locklab/harness/history"
)

// Effect names the check that this file defines.
const Effect = "effect"

var effectCheck = Check{
	Name: Effect,
	Asks: "did the resource accept outdated accesses, lose acknowledged updates, let a client write " +
		"beside a reader, serve more permits than there are, or refuse a legal holder?",
	Subject: "what the resource accepted",
	judge:   judgeEffect,
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
//   - Crowded: more of a semaphore's permits were used at once than there are, see [effects.crowd].
//   - Accounting: acknowledged ≤ final ≤ acknowledged + unknown, where unknown are the writes of which the client
//     never learned the outcome. A final value below that range means lost updates; one above it means that the
//     resource counted something that no client wrote.
//
// Each element of a list is accounted for: see [effects.account].
//
// Each stale access and each lost update must belong to an overlap of holds that a verified fault explains, or it is a
// violation, whatever the scenario expects: see [digest.attribute]. A scenario that wants to see damage wants that of
// its fault, and not any.
//
// Without tokens nothing is stale, but updates can still be lost.
//
// Data that is kept in ZooKeeper ([GuardZKMulti]) has no record except the clients' own and the final value: see
// [effects.inZooKeeper].
func judgeEffect(d *digest, s *Safety) Verdict {
	e := effects{
		locks:   map[string]*lockEffect{},
		permits: int64(d.facts.Permits),
		most:    d.mostPermits,
		zkMulti: d.facts.Guard == GuardZKMulti,
		lists:   d.facts.Lists,
		notices: noticesOf(d.acquisitions),
		calls:   map[string]*history.Event{},

		attributed: d.facts.Exclusive && d.facts.Guard != GuardZKMulti,
	}
	if e.attributed {
		e.gone = d.goneBy()
	}
	for i := range d.events {
		e.add(&d.events[i])
	}
	e.crowd()
	if d.facts.Exclusive {
		e.together()
	}
	if !e.used && !e.recorded {
		return Verdict{Result: NotApplicable, Summary: "no client used the resource"}
	}
	switch {
	case !e.recorded && e.zkMulti:
		return Verdict{Result: Unknown, Summary: "ZooKeeper acknowledged nothing"}
	case !e.recorded:
		return Verdict{Result: Unknown, Summary: "there is no record of the resource"}
	}
	if !e.zkMulti {
		s.FalseRejections = &e.falseRejections
	}
	if e.tokens {
		s.StaleAccepted, s.StaleRejected, s.StaleWritesUntold = &e.staleAccepted, &e.staleRejected, &e.untold
	}
	if e.gone != nil {
		s.LateAccepted = &e.late
	}
	if e.reads {
		s.TornReads = &e.torn
	}
	if e.permitted && e.permits > 0 {
		s.Crowded = &e.crowded
	}
	known := d.facts.FinalValues != nil || d.whole && !e.zkMulti
	if e.lists {
		known = d.facts.FinalLists != nil
		e.account(d.facts.FinalLists, d.whole)
	} else if known {
		e.resolve(d.facts.FinalVersions, d.whole)
		e.settle(d.facts.FinalValues, d.facts.FinalVersions, d.whole)
	}
	if known && e.unread == 0 && e.exclusive() && !e.permitted {
		s.LostUpdates = &e.lost
		if e.tokens && !e.untraced && !(e.zkMulti && e.lost > 0) {
			s.LostUpdatesOfOthers = &e.lostOfOthers
		}
	}

	damage := e.staleAccepted + e.falseRejections + max(e.lost, e.overwritten) + e.torn + e.crowded + e.underRead +
		e.shared
	bad, open := d.attribute(&e)
	v := Verdict{Count: damage + e.miscounted, Findings: e.findings}
	v.Violation = e.miscounted > 0 || bad > 0 || promises(d.facts.Guard) && damage > 0
	switch {
	case open > 0 && !v.Violation && d.facts.Expect[Effect] == ExpectFail:
		v.Result = Unknown // it may not be the damage that was to be shown
	case v.Count > 0:
		v.Result = Fail
	case !known || e.unread > 0:
		v.Result = Unknown
	case !d.whole:
		v.Result = Unknown
	default:
		v.Result = Pass
	}
	v.Summary = e.summary(known)
	if bad > 0 {
		v.Summary += fmt.Sprintf("; no overlap that a fault explains covers %d of these", bad)
	}
	if open > 0 {
		v.Summary += fmt.Sprintf("; not attributable: %d of these", open)
	}
	if !d.whole {
		v.Summary += "; the history is not complete"
	}
	return v
}

// effects is what the accesses of a run came to.
type effects struct {
	permits int64                                      // how many there are at first; 0 = not known, or none
	most    func(lock string, from, until int64) int64 // see [digest.mostPermits]

	locks                                         map[string]*lockEffect
	used, recorded, tokens, reads, permitted      bool
	zkMulti                                       bool // what locks protect is in ZooKeeper
	lists                                         bool // it consists of lists
	duplicated, unexpected                        int64
	early, unread                                 int64
	staleAccepted, staleRejected, falseRejections int64
	lost, overwritten, miscounted, torn, crowded  int64
	underRead                                     int64 // writes under read holds
	shared                                        int64 // pairs of uses at once under holds without tokens
	acknowledged, unknown, final                  int64
	late                                          int64 // accepted of a hold that had ended, and not stale
	staleWrites, untold, lostOfOthers             int64
	untraced                                      bool                      // it is not known whose updates were lost
	notices                                       map[loss]int64            // when clients learned of losses
	calls                                         map[string]*history.Event // by client: its latest write
	findings                                      []Finding
	shown                                         map[string]int // findings by kind

	attributed bool                      // damages are to be attributed
	damages    []damage                  // in the order of the record
	gone       func(*history.Event) bool // whether the access's hold had ended; nil if that is not known
}

type lockEffect struct {
	fences    Fences
	lastWrite *history.Event
	updates   updateTrace
	accepted  int64                      // writes, by the resource's record
	shared    bool                       // writers need not have excluded each other
	seen      map[holdKey]*history.Event // the first read of each read hold
	uses      map[holdKey]*use           // of permits
	sections  map[holdKey]*use           // of holds that exclude others and have no token
	called    map[calledKey]int64        // when permits were asked for, by client and number

	// Where ZooKeeper keeps the counter:
	stale  map[holdKey]staleCall    // by hold: a write that was stale when it was called
	values map[int64]*history.Event // by value: the write of it
	open   []*history.Event         // the writes of unknown outcome

	elements map[int64]*history.Event // of lists: the last event of a client about each
	depth    map[int64]int64          // of lists: by element, how long the list was that ended with it
	outdated map[int64]bool           // of lists: the elements of stale writes

	invoked, acknowledged, refused int64 // writes, by the clients' record
	// By hold: how many of its writes were acknowledged, and of how many its client does not know the outcome.
	settled, unsettled map[holdKey]int64
	lost               int64 // of its acknowledged updates
}

func (x *effects) add(e *history.Event) {
	switch e.Op {
	case history.OpEnter, history.OpRead, history.OpWrite, history.OpExit:
	case history.OpAcquire:
		x.takes(e)
		return
	default:
		return
	}
	l := x.of(e.Lock)
	if e.Process == hostOf(e.Client) {
		x.used = true
		if l.client(e) {
			x.acknowledged++
		}
		if e.Op == history.OpWrite && e.Kind == history.Invoke {
			x.calls[e.Client] = e
		}
		if x.zkMulti {
			x.inZooKeeper(l, e)
		}
		return
	}
	switch e.Kind {
	case history.OK:
		x.accepted(l, e)
	case history.Fail:
		x.refused(l, e)
	default:
		return
	}
	x.recorded = true
	x.tokens = x.tokens || e.Token != 0
}

func (x *effects) of(lock string) *lockEffect {
	l := x.locks[lock]
	if l == nil {
		l = &lockEffect{
			seen:     map[holdKey]*history.Event{},
			uses:     map[holdKey]*use{},
			called:   map[calledKey]int64{},
			sections: map[holdKey]*use{},
			stale:    map[holdKey]staleCall{},
			values:   map[int64]*history.Event{},
			elements: map[int64]*history.Event{},
			depth:    map[int64]int64{},
			settled:  map[holdKey]int64{}, unsettled: map[holdKey]int64{},
		}
		x.locks[lock] = l
	}
	return l
}

// client counts a write as its client saw it, and reports whether it was acknowledged.
func (l *lockEffect) client(e *history.Event) bool {
	if e.Op != history.OpWrite {
		return false
	}
	l.elements[e.Access().Value] = e
	switch e.Kind {
	case history.Invoke:
		l.invoked++
		l.unsettled[keyOf(e)]++
	case history.OK:
		l.acknowledged++
		l.unsettled[keyOf(e)]--
		l.settled[keyOf(e)]++
	case history.Fail:
		l.refused++
		l.unsettled[keyOf(e)]--
	}
	return e.Kind == history.OK
}

func (x *effects) accepted(l *lockEffect, e *history.Event) {
	stale := l.fences.Stale(e)
	if stale && e.Op != history.OpExit {
		x.staleAccepted++
		by := l.fences.Bound(e)
		x.note(l, e, by, 0, x.findStale("stale-accepted", "was accepted", e, by, x.callOf(e)))
	} else if x.gone != nil && e.Op != history.OpExit && x.gone(e) {
		x.late++
	}
	x.inSection(l, e)
	l.fences.Serve(e) // a stale write too, because it bounds reads that are older still
	if e.Mode != history.ModePermit && !x.lists {
		l.updates.serve(e, stale)
	}
	switch {
	case e.Mode == history.ModeRead:
		x.reader(l, e)
	case e.Mode == history.ModePermit:
		x.user(l, e)
	}
	if e.Op != history.OpWrite {
		return
	}
	l.accepted++
	if e.Mode == history.ModeRead {
		x.underRead++
		x.find("write-under-read", e, nil, "%s wrote under a read hold", e.Client)
	}
	l.shared = l.shared || e.Mode == history.ModePermit && x.most(e.Lock, math.MinInt64, math.MaxInt64) != 1
	if x.lists {
		x.appended(l, e, stale)
	} else if l.lastWrite != nil && !l.shared {
		if wrote, last := e.Access().Value, l.lastWrite.Access().Value; wrote <= last {
			x.overwritten++
			x.note(l, e, l.lastWrite, last-wrote+1, x.find("lost-update", e, l.lastWrite, "%s wrote %d over the %d of %s",
				e.Client, wrote, last, l.lastWrite.Client))
		}
	}
	l.lastWrite = e
}

func (x *effects) refused(l *lockEffect, e *history.Event) {
	by := l.fences.Bound(e)
	switch {
	case !l.fences.Stale(e):
		x.falseRejections++
		bounds := ""
		if e.Mode == history.ModeRead || e.Mode == history.ModePermit {
			bounds = " that bounds it"
		}
		served := "nothing" + bounds + " had been served"
		if by != nil {
			served = fmt.Sprintf("the highest token served%s was %d", bounds, by.Token)
		}
		x.find("false-rejection", e, by, "the %s of %s was refused with token %d, though %s", e.Op, e.Client, e.Token,
			served)
	case e.Op != history.OpExit:
		x.staleRejected++
		x.findStale("stale-rejected", "was refused", e, by, x.callOf(e))
	}
}

// exclusive reports whether the writers of some lock exclude each other, so that they must not lose updates.
func (x *effects) exclusive() bool {
	for _, l := range x.locks {
		if !l.shared {
			return true
		}
	}
	return false
}

// settle compares the clients' count of each lock's writes with its counter. In a history that is not complete,
// acknowledged writes may be missing: then at least as many are lost as seems, and a surplus proves nothing.
func (x *effects) settle(final, versions map[string]int64, whole bool) {
	for _, lock := range sortedKeys(x.locks) {
		l := x.locks[lock]
		unknown := l.invoked - l.acknowledged - l.refused
		x.unknown += unknown
		at, by := &history.Event{Lock: lock}, ""
		if l.lastWrite != nil {
			at, by = l.lastWrite, fmt.Sprintf("; the last write was %s's", l.lastWrite.Client)
		}
		if l.acknowledged > l.accepted && whole && !x.zkMulti {
			x.miscounted += l.acknowledged - l.accepted
			x.find("accounting", at, nil, "clients have %d acknowledged writes, the resource's record has %d", l.acknowledged,
				l.accepted)
		}
		value, ok := final[lock]
		switch {
		case !ok && x.zkMulti:
			x.unread++
			continue
		case !ok && l.lastWrite != nil:
			value = l.lastWrite.Access().Value
		}
		x.final += value
		if executed, counted := versions[lock]; counted && x.zkMulti && executed >= l.acknowledged {
			x.compare(l, at, value, executed)
		} else if n := l.acknowledged - value; n > 0 && !l.shared {
			x.lost += n
			l.lost = n
			if lost, traced := l.updates.lost(n); !traced {
				x.untraced = true
			} else if x.tokens {
				x.lostOfOthers += int64(len(lost.ofOthers))
				by += fmt.Sprintf("; lost writes: %v", lost)
			}
			x.find("lost-updates", at, nil, "%s acknowledged, but the final value is %d: %d lost%s",
				count(l.acknowledged, "write was", "writes were"), value, n, by)
		}
		if n := value - l.acknowledged - unknown; n > 0 && whole {
			x.miscounted += n
			x.find("accounting", at, nil, "the final value is %d, but only %s acknowledged and %s an unknown outcome",
				value, count(l.acknowledged, "write was", "writes were"), count(unknown, "has", "have"))
		}
	}
}

// find adds a finding and returns its index, -1 if there are enough of its kind.
func (x *effects) find(kind string, e, before *history.Event, format string, args ...any) int {
	if x.shown == nil {
		x.shown = map[string]int{}
	}
	if x.shown[kind]++; x.shown[kind] > maxFindings {
		return -1
	}
	f := Finding{Kind: kind, Lock: e.Lock, At: e.At, Until: e.At, Text: e.Lock + ": " + fmt.Sprintf(format, args...)}
	for _, by := range [...]*history.Event{before, e} {
		if by == nil || by.Op == "" {
			continue
		}
		f.Events = append(f.Events, *by)
		f.Clients = append(f.Clients, by.Client)
		f.Tokens = append(f.Tokens, by.Token)
	}
	x.findings = append(x.findings, f)
	return len(x.findings) - 1
}

// findStale records what happened to an access that another with a higher token had made stale. The call is its
// invocation, nil if none is recorded.
func (x *effects) findStale(kind, happened string, e, by, call *history.Event) int {
	return x.find(kind, e, by, "the %s of %s %s with token %d, after %s with token %d; %v",
		e.Op, e.Client, happened, e.Token, by.Client, by.Token, x.outdatedAccess(e, call))
}

func (x *effects) summary(known bool) string {
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if x.tokens {
		say("%d stale accepted, %d rejected", x.staleAccepted, x.staleRejected)
		if x.staleWrites > 0 {
			say("%d of %s invoked before the client was told of its loss", x.untold,
				count(x.staleWrites, "stale write", "stale writes"))
		}
	} else {
		say("no tokens, so nothing is stale")
	}
	if x.late > 0 {
		say("%d late but not outdated", x.late)
	}
	if x.early > 0 {
		say("%d refused before a later holder was known", x.early)
	}
	if x.falseRejections > 0 {
		say("%s refused", count(x.falseRejections, "legal access", "legal accesses"))
	}
	if x.shared > 0 {
		say("%s of the resource at once that exclude each other", count(x.shared, "pair of uses", "pairs of uses"))
	}
	if x.underRead > 0 {
		say("%s under a read hold", count(x.underRead, "write", "writes"))
	}
	if x.reads {
		say("%s", count(x.torn, "torn read", "torn reads"))
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
		say("%s beyond the permits", count(x.crowded, "use", "uses"))
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
	if x.unread > 0 {
		say("%s not known", count(x.unread, "final value", "final values"))
	}
	if x.miscounted > 0 {
		say("the account does not balance")
	}
	return strings.Join(parts, "; ")
}

// A holdKey names a hold in the resource's record.
type holdKey struct {
	client  string
	n       int64
	session history.SessionID
}

func keyOf(e *history.Event) holdKey { return holdKey{e.Client, e.Acq, e.Session} }
