package check

import (
	"fmt"
	"strings"

	"locklab/harness/history"
)

// effect judges what reached the resource, by the resource's own record, which
// is in the order in which it served.
//
//   - stale accepted, stale rejected: an access with a token below one that the
//     resource had served before and that bounds it ([Fences]), let in or refused.
//     Leaving (exit) is no use of the resource and counts as neither.
//   - false rejection: an access refused although no higher token that bounds it
//     had been served: a legal holder turned away.
//   - lost updates: increments acknowledged to clients, less the counter's final
//     value. A counter starts at 0. Where writers need not exclude each other,
//     because there is more than one permit or because readers write, updates are
//     lost by right, and none are counted.
//   - torn reads: under one read hold the counter was read as two values, so that
//     somebody wrote beside the reader.
//   - crowded: more of a semaphore's permits were used at once than there are, see
//     [effects.crowd].
//   - accounting: acknowledged ≤ final ≤ acknowledged + unknown, where unknown
//     are the writes of which the client never learned the outcome. Below is
//     lost; above, the resource counted what nobody wrote.
//
// Of lists, each element is accounted for: see [effects.account].
//
// Without tokens nothing is stale, but updates can still be lost.
//
// What is kept in ZooKeeper ([GuardZKMulti]) has no record but the clients' own and the final value: see
// [effects.kept].
func effect(d *digest, s *Safety) Verdict {
	e := effects{locks: map[string]*lockEffect{}, permits: int64(d.facts.Permits), keeps: d.facts.Guard == GuardZKMulti, lists: d.facts.Lists}
	for i := range d.events {
		e.add(&d.events[i])
	}
	e.crowd()
	if !e.used && !e.recorded {
		return Verdict{Result: NotApplicable, Summary: "nobody used the resource"}
	}
	if !e.recorded {
		return Verdict{Result: Unknown, Summary: map[bool]string{false: "there is no record of the resource", true: "ZooKeeper acknowledged nothing"}[e.keeps]}
	}
	if !e.keeps {
		s.FalseRejections = &e.falseRejections
	}
	if e.tokens {
		s.StaleAccepted, s.StaleRejected = &e.staleAccepted, &e.staleRejected
	}
	if e.reads {
		s.TornReads = &e.torn
	}
	if e.permitted && e.permits > 0 {
		s.Crowded = &e.crowded
	}
	known := d.facts.FinalValues != nil || d.whole && !e.keeps
	if e.lists {
		known = d.facts.FinalLists != nil
		e.account(d.facts.FinalLists, d.whole)
	} else if known {
		e.resolve(d.facts.FinalVersions, d.whole)
		e.settle(d.facts.FinalValues, d.whole)
	}
	if known && e.unread == 0 && e.exclusive() && !e.permitted {
		s.LostUpdates = &e.lost
	}

	damage := e.staleAccepted + e.falseRejections + max(e.lost, e.overwritten) + e.torn + e.crowded
	v := Verdict{Count: damage + e.miscounted, Findings: e.findings}
	v.Violation = e.miscounted > 0 || promises(d.facts.Guard) && damage > 0
	switch {
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
	if !d.whole {
		v.Summary += "; the history is not complete"
	}
	return v
}

// effects is what the accesses of a run came to.
type effects struct {
	locks                                         map[string]*lockEffect
	permits                                       int64 // that there are; 0 = not known, or none
	used, recorded, tokens, reads, permitted      bool
	keeps                                         bool // what locks protect is in ZooKeeper
	lists                                         bool // it is lists
	duplicated, unexpected                        int64
	early, unread                                 int64
	staleAccepted, staleRejected, falseRejections int64
	lost, overwritten, miscounted, torn, crowded  int64
	acknowledged, unknown, final                  int64
	findings                                      []Finding
	shown                                         map[string]int // findings by kind
}

type lockEffect struct {
	fences    Fences
	lastWrite *history.Event
	accepted  int64                      // writes, by the resource's record
	shared    bool                       // writers need not have excluded each other
	seen      map[holdKey]*history.Event // by readers: their first reads
	uses      map[holdKey]*use           // of permits

	stale  map[holdKey]*history.Event // of what ZooKeeper keeps: by writes that were stale when called, what made them so
	values map[int64]*history.Event   // and by values, who wrote them
	open   []*history.Event           // and the writes of unknown outcome

	elements map[int64]*history.Event // of lists: the last that clients said of each

	invoked, acknowledged, refused int64 // writes, by the clients' record
}

func (x *effects) add(e *history.Event) {
	switch e.Op {
	case history.OpEnter, history.OpRead, history.OpWrite, history.OpExit:
	case history.OpAcquire:
		if e.Mode == history.ModePermit && e.Kind == history.OK {
			x.of(e.Lock).uses[keyOf(e)] = &use{units: max(e.Value, 1)}
		}
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
		if x.keeps {
			x.kept(l, e)
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
		l = &lockEffect{seen: map[holdKey]*history.Event{}, uses: map[holdKey]*use{}, stale: map[holdKey]*history.Event{}, values: map[int64]*history.Event{}, elements: map[int64]*history.Event{}}
		x.locks[lock] = l
	}
	return l
}

// client counts a write as the client saw it, and reports one acknowledged.
func (l *lockEffect) client(e *history.Event) bool {
	if e.Op != history.OpWrite {
		return false
	}
	l.elements[e.Value] = e
	switch e.Kind {
	case history.Invoke:
		l.invoked++
	case history.OK:
		l.acknowledged++
	case history.Fail:
		l.refused++
	}
	return e.Kind == history.OK
}

func (x *effects) accepted(l *lockEffect, e *history.Event) {
	if l.fences.Stale(e) && e.Op != history.OpExit {
		x.staleAccepted++
		by := l.fences.Bound(e)
		x.find("stale-accepted", e, by, "%s of %s was accepted with token %d, after %s with token %d", e.Op, e.Client, e.Token, by.Client, by.Token)
	}
	l.fences.Serve(e) // a stale write too: it bounds the reads that are older still
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
	l.shared = l.shared || e.Mode == history.ModeRead || e.Mode == history.ModePermit && x.permits != 1
	if x.lists {
		x.appended(l, e)
	} else if l.lastWrite != nil && e.Value <= l.lastWrite.Value && !l.shared {
		x.overwritten++
		x.find("lost-update", e, l.lastWrite, "%s wrote %d over the %d of %s", e.Client, e.Value, l.lastWrite.Value, l.lastWrite.Client)
	}
	l.lastWrite = e
}

func (x *effects) refused(l *lockEffect, e *history.Event) {
	by := l.fences.Bound(e)
	switch {
	case !l.fences.Stale(e):
		x.falseRejections++
		served := "nothing had been served"
		if by != nil {
			served = fmt.Sprintf("the highest token served was %d", by.Token)
		}
		if e.Mode == history.ModeRead || e.Mode == history.ModePermit {
			served += " that bounds it"
		}
		x.find("false-rejection", e, by, "%s of %s was refused with token %d, though %s", e.Op, e.Client, e.Token, served)
	case e.Op != history.OpExit:
		x.staleRejected++
		x.find("stale-rejected", e, by, "%s of %s was refused with token %d, after %s with token %d", e.Op, e.Client, e.Token, by.Client, by.Token)
	}
}

// exclusive reports whether the writers of some lock exclude each other, so that
// updates can be lost that must not be.
func (x *effects) exclusive() bool {
	for _, l := range x.locks {
		if !l.shared {
			return true
		}
	}
	return false
}

// settle compares the clients' count of each lock with what the counter says. Of
// a history that is not whole, acknowledged writes may be missing: then what is
// lost is at least what it seems, and a surplus proves nothing.
func (x *effects) settle(final map[string]int64, whole bool) {
	for _, lock := range sortedKeys(x.locks) {
		l := x.locks[lock]
		unknown := l.invoked - l.acknowledged - l.refused
		x.unknown += unknown
		at, by := &history.Event{Lock: lock}, ""
		if l.lastWrite != nil {
			at, by = l.lastWrite, fmt.Sprintf("; the last write was %s's", l.lastWrite.Client)
		}
		if l.acknowledged > l.accepted && whole && !x.keeps {
			x.miscounted += l.acknowledged - l.accepted
			x.find("accounting", at, nil, "clients have %d acknowledged writes, the resource's record has %d", l.acknowledged, l.accepted)
		}
		value, ok := final[lock]
		switch {
		case !ok && x.keeps:
			x.unread++
			continue
		case !ok && l.lastWrite != nil:
			value = l.lastWrite.Value
		}
		x.final += value
		if n := l.acknowledged - value; n > 0 && !l.shared {
			x.lost += n
			x.find("lost-updates", at, nil, "%d acknowledged, final value %d: %d lost%s", l.acknowledged, value, n, by)
		}
		if n := value - l.acknowledged - unknown; n > 0 && whole {
			x.miscounted += n
			x.find("accounting", at, nil, "final value %d, but only %d acknowledged and %d of unknown outcome", value, l.acknowledged, unknown)
		}
	}
}

func (x *effects) find(kind string, e, before *history.Event, format string, args ...any) {
	if x.shown == nil {
		x.shown = map[string]int{}
	}
	if x.shown[kind]++; x.shown[kind] > maxFindings {
		return
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
}

func (x *effects) summary(known bool) string {
	var parts []string
	if x.tokens {
		parts = append(parts, fmt.Sprintf("%d stale accepted, %d rejected", x.staleAccepted, x.staleRejected))
	} else {
		parts = append(parts, "no tokens, so nothing is stale")
	}
	if x.early > 0 {
		parts = append(parts, count(x.early, "refused before anybody was known to come after", "refused before anybody was known to come after"))
	}
	if x.falseRejections > 0 {
		parts = append(parts, count(x.falseRejections, "legal access refused", "legal accesses refused"))
	}
	if x.reads {
		parts = append(parts, fmt.Sprintf("%d torn", x.torn))
	}
	switch {
	case x.lists && known:
		parts = append(parts, fmt.Sprintf("%d lost of %d acknowledged elements (final %d, %d unknown)", x.lost, x.acknowledged, x.final, x.unknown))
		if x.duplicated+x.unexpected > 0 {
			parts = append(parts, fmt.Sprintf("%d duplicated, %d unexpected", x.duplicated, x.unexpected))
		}
	case x.lists:
		parts = append(parts, fmt.Sprintf("final lists not known, %d acknowledged, %d overwritten", x.acknowledged, x.overwritten))
	case x.permitted && x.permits > 0 && x.acknowledged == 0:
		parts = append(parts, fmt.Sprintf("%d too many at once", x.crowded))
	case !x.exclusive():
		parts = append(parts, fmt.Sprintf("%d acknowledged of writers that do not exclude each other", x.acknowledged))
	case known:
		parts = append(parts, fmt.Sprintf("%d lost of %d acknowledged (final %d, %d unknown)", x.lost, x.acknowledged, x.final, x.unknown))
	default:
		parts = append(parts, fmt.Sprintf("final value not known, %d acknowledged, %d overwritten", x.acknowledged, x.overwritten))
	}
	if x.unread > 0 {
		parts = append(parts, count(x.unread, "final value", "final values")+" not known")
	}
	if x.miscounted > 0 {
		parts = append(parts, "the account does not balance")
	}
	return strings.Join(parts, "; ")
}
