package effect

import (
	"fmt"
	"math"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// Effects is what the accesses of a run came to.
type Effects struct {
	permits int64                                      // how many there are at first; 0 = not known, or none
	Most    func(lock string, from, until int64) int64 // see [evidence.Digest.MostPermits]
	since   func(*history.Event) (since, awake int64)  // see [evidence.Digest.GrantedSince]
	// taken reports whether what cost the holder of the first access its hold before the second one's is known.
	taken func(older, newer *history.Event) bool

	Locks                                         map[string]*LockEffect
	used, recorded, tokens, reads, permitted      bool
	zkMulti                                       bool // what locks protect is in ZooKeeper
	lists                                         bool // it consists of lists
	duplicated, unexpected                        int64
	early, unread                                 int64
	StaleAccepted, StaleRejected, FalseRejections int64
	lost, overwritten, miscounted, torn, crowded  int64
	crowdedAwake                                  int64 // uses that are crowded unless a driver stood still unseen
	underRead                                     int64 // writes under read holds
	bare                                          bool  // some holds have no token, and others have one
	shared                                        int64 // pairs of uses at once, one at least under a hold without a token
	acknowledged, unknown, final                  int64
	lateAccepted                                  int64 // accepted of a hold that had ended, and not stale
	afterEnd                                      int64 // acknowledged by ZooKeeper though called after the hold had ended
	lateReleased, lateKnown                       int64 // of these: after the call of release, or the news of the loss
	broken                                        int64 // accesses that clients made though their guard knew of the loss
	outlasted                                     int64 // accesses that clients made though their lease clocks had run out
	released                                      int64 // accesses that clients made after they called release
	staleReads                                    int64 // reads that did not see the newest write
	staleWrites, untold, lostOfOthers             int64
	untraced                                      bool                      // it is not known whose updates were lost
	notices                                       map[loss]int64            // when clients learned of losses
	calls                                         map[string]*history.Event // by client: its latest write
	unsent                                        map[writeCall]bool        // see [unsentWrites]
	restarted                                     map[string]bool           // the processes that were started again
	findings                                      []evidence.Finding
	shown                                         map[evidence.Kind]int // findings by kind

	collect    int64                                         // when all clients were done
	excludes   bool                                          // the recipe promises exclusion
	Apart      func(p, q string) int64                       // see [evidence.Digest.apart]
	asks       bool                                          // clients ask their guard before each access
	expired    func(*history.Event) int64                    // see [evidence.Digest.expiredBy]
	stood      func(process string, from, until int64) int64 // see [evidence.Digest.StoodFor]
	attributed bool                                          // damages are to be attributed
	damages    []damage                                      // in the order of the record
	harms      evidence.Harms                                // of faults
	gone       func(*history.Event) bool                     // whether the access's hold had ended; nil if not known
}

type LockEffect struct {
	fences    Fences
	lastWrite *history.Event
	wrote     history.Event // what lastWrite points to
	updates   updateTrace
	accepted  int64                      // writes, by the resource's record
	shared    bool                       // writers need not have excluded each other
	seen      map[holdKey]*history.Event // the first read of each read hold
	uses      map[holdKey]*use           // of permits
	sections  map[holdKey]*use           // of holds that exclude others, where some have no token
	ends      holdEnds

	// Where ZooKeeper keeps the counter:
	granted map[string]granted       // by client: its latest grant
	highest *history.Event           // the acknowledged write of the highest value
	stale   map[holdKey]staleCall    // by hold: a write that was stale when it was called
	values  map[int64]*history.Event // by value: the write of it
	open    []*history.Event         // the writes of unknown outcome

	elements map[int64]*history.Event // of lists: the last event of a client about each
	depth    map[int64]int64          // of lists: by element, how long the list was that ended with it
	outdated map[int64]bool           // of lists: the elements of stale writes

	invoked, acknowledged, refused int64 // writes, by the clients' record
	lost                           int64 // of its acknowledged updates
}

// kept returns a copy of an event, whose memory is used again for the next one.
func kept(e *history.Event) *history.Event {
	own := *e
	return &own
}

// keep keeps a copy of an event in the place of the one that was kept before under the same key, if there is one.
func keep[K comparable](as map[K]*history.Event, key K, e *history.Event) {
	if was := as[key]; was != nil {
		*was = *e
	} else {
		as[key] = kept(e)
	}
}

// Add judges the next event. Its memory is the caller's.
func (x *Effects) Add(e *history.Event) {
	switch e.Op {
	case history.OpEnter, history.OpRead, history.OpWrite, history.OpExit:
	case history.OpAcquire:
		x.takes(e)
		x.grants(e)
		return
	case history.OpRelease, history.OpLost:
		x.ended(e)
		return
	default:
		return
	}
	l := x.of(e.Lock)
	if e.Process == history.HostOf(e.Client) {
		x.used = true
		x.afterHold(l, e)
		x.client(l, e)
		if x.lists && e.Op == history.OpWrite {
			l.elements[e.Access().Value] = kept(e)
		}
		if e.Op == history.OpWrite && e.Kind == history.Invoke {
			keep(x.calls, e.Client, e)
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

func (x *Effects) of(lock string) *LockEffect {
	l := x.Locks[lock]
	if l == nil {
		l = &LockEffect{
			seen:     map[holdKey]*history.Event{},
			uses:     map[holdKey]*use{},
			sections: map[holdKey]*use{},
			ends:     holdEnds{},
			granted:  map[string]granted{},
			stale:    map[holdKey]staleCall{},
			values:   map[int64]*history.Event{},
			elements: map[int64]*history.Event{},
			depth:    map[int64]int64{},
		}
		x.Locks[lock] = l
	}
	return l
}

// client counts a write as its client saw it.
func (x *Effects) client(l *LockEffect, e *history.Event) {
	if e.Op != history.OpWrite {
		return
	}
	switch e.Kind {
	case history.Invoke:
		l.invoked++
	case history.OK:
		l.acknowledged++
		x.acknowledged++
	case history.Fail:
		l.refused++
	}
}

func (x *Effects) accepted(l *LockEffect, e *history.Event) {
	stale := l.fences.Stale(e)
	if stale && e.Op != history.OpExit {
		x.StaleAccepted++
		by := l.fences.Bound(e)
		x.note(damage{lock: l, e: e, by: by, until: history.None,
			finding: x.findStale(evidence.KindStaleAccepted, "was accepted", e, by, x.callOf(e))})
	} else if x.late(l, e) {
		x.lateAccepted++
	}
	x.staleRead(l, e)
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
		x.find(evidence.KindWriteUnderRead, e, nil, "%s wrote under a read hold", e.Client)
	}
	l.shared = l.shared || e.Mode == history.ModePermit && x.Most(e.Lock, math.MinInt64, math.MaxInt64) != 1
	if x.lists {
		x.appended(l, e, stale)
	} else if l.lastWrite != nil && !l.shared {
		if wrote, last := e.Access().Value, l.lastWrite.Access().Value; wrote <= last {
			x.overwritten++
			finding := x.find(evidence.KindLostUpdate, e, l.lastWrite, "%s wrote %d over the %d of %s", e.Client, wrote, last,
				l.lastWrite.Client)
			for _, m := range x.tookAway(l, e) {
				m.lock, m.e, m.until, m.finding = l, e, history.None, finding
				x.note(m)
				finding = -1
			}
		}
	}
	l.wrote = *e
	l.lastWrite = &l.wrote
}

func (x *Effects) refused(l *LockEffect, e *history.Event) {
	by := l.fences.Bound(e)
	switch {
	case !l.fences.Stale(e):
		x.FalseRejections++
		bounds := ""
		if e.Mode == history.ModeRead || e.Mode == history.ModePermit {
			bounds = " that bounds it"
		}
		served := "nothing" + bounds + " had been served"
		if by != nil {
			served = fmt.Sprintf("the highest token served%s was %d", bounds, by.Token)
		}
		x.find(evidence.KindFalseRejection, e, by, "the %s of %s was refused with token %d, though %s", e.Op, e.Client,
			e.Token, served)
	case e.Op != history.OpExit:
		x.StaleRejected++
		finding := x.findStale(evidence.KindStaleRejected, "was refused", e, by, x.callOf(e))
		if e.Mode == history.ModePermit { // beliefs in other holds show whether one was taken wrongly
			x.note(damage{lock: l, e: e, by: by, refused: true, until: history.None, finding: finding})
		}
	}
}

// exclusive reports whether the writers of some lock exclude each other, so that they must not lose updates.
func (x *Effects) exclusive() bool {
	for _, l := range x.Locks {
		if !l.shared {
			return true
		}
	}
	return false
}

// settle compares the clients' count of each lock's writes with its counter. In a history that is not complete,
// acknowledged writes may be missing: then at least as many are lost as seems, and a surplus proves nothing.
func (x *Effects) settle(final, versions map[string]int64, whole bool) {
	for _, lock := range evidence.SortedKeys(x.Locks) {
		l := x.Locks[lock]
		unknown := l.invoked - l.acknowledged - l.refused
		x.unknown += unknown
		at, by := &history.Event{Lock: lock}, ""
		if l.lastWrite != nil {
			at, by = l.lastWrite, fmt.Sprintf("; the last write was %s's", l.lastWrite.Client)
		}
		if l.acknowledged > l.accepted && whole && !x.zkMulti {
			x.miscounted += l.acknowledged - l.accepted
			x.find(evidence.KindAccounting, at, nil, "clients have %d acknowledged writes, the resource's record has %d",
				l.acknowledged, l.accepted)
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
				evidence.Count(l.acknowledged, "write was", "writes were"), value, n, by)
		} else if last := l.lastWrite; last != nil && !x.zkMulti && whole && last.At < x.collect &&
			value < last.Access().Value {
			x.miscounted++
			x.find(evidence.KindAccounting, at, nil, "by the resource's record its last write was %d, and its final value is %d",
				last.Access().Value, value)
		}
		if n := value - l.acknowledged - unknown; n > 0 && whole {
			x.miscounted += n
			x.find(evidence.KindAccounting, at, nil, "the final value is %d, but only %s acknowledged and %s an unknown outcome",
				value, evidence.Count(l.acknowledged, "write was", "writes were"), evidence.Count(unknown, "has", "have"))
		}
	}
}

// find adds a finding and returns its index, -1 if there are enough of its kind.
func (x *Effects) find(kind evidence.Kind, e, before *history.Event, format string, args ...any) int {
	if x.shown == nil {
		x.shown = map[evidence.Kind]int{}
	}
	if x.shown[kind]++; x.shown[kind] > evidence.MaxFindings {
		return -1
	}
	f := evidence.Finding{Kind: kind, Lock: e.Lock, At: e.At, Until: e.At, Text: e.Lock + ": " +
		fmt.Sprintf(format, args...)}
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
func (x *Effects) findStale(kind evidence.Kind, happened string, e, by, call *history.Event) int {
	o := x.outdatedAccess(e, call)
	i := x.find(kind, e, by, "the %s of %s %s with token %d, after %s with token %d; %v",
		e.Op, e.Client, happened, e.Token, by.Client, by.Token, o)
	if i >= 0 {
		x.findings[i].Untold = e.Op == history.OpWrite && o.untold()
	}
	return i
}

// A holdKey names a hold in the resource's record.
type holdKey struct {
	client  string
	n       int64
	session history.SessionID
}

func keyOf(e *history.Event) holdKey { return holdKey{e.Client, e.Acq, e.Session} }
