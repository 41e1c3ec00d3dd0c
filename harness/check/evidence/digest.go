package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"locklab/harness/check/memo"
	"locklab/harness/check/service"
	"locklab/harness/check/spans"
	"locklab/harness/hiccups"
	"locklab/harness/history"
	"locklab/reports/words"
)

// A Digest is what the checks have in common: the history sorted into which client held what, which faults struck
// which hosts, and when the run was in which phase. Checks use it at the same time, and nothing but what its methods
// find out for all of them changes meanwhile.
type Digest struct {
	Facts  Facts
	Events *history.Log

	Acquisitions []history.Acquisition // in order of invocation
	Locks        []LockGrants          // by lock, in name order
	Faults       []*Fault              // in order of injection, see faultsOf
	sessions     map[history.SessionID][]connection
	ClientHosts  map[string]bool // hosts with a client that recorded something
	ClientOf     map[history.SessionID]string
	Hiccups      map[string][]*history.Event           // by process, see [hiccups.Standstills]
	Connections  map[string][]connection               // by client, in order
	Unconnected  map[string][]spans.Span               // by client, in order: it told that it had no connection
	unwatched    map[string]history.Driver             // see [Digest.Driver]
	unreleased   map[*history.Acquisition]bool         // holds of which the end is missing
	ClientsOf    map[history.SessionID]map[string]bool // the clients that share it
	permits      map[string]permitCount                // by lock, of semaphores that were resized
	Transactions *Transactions                         // nil if the servers' logs cannot be used
	Servers      *evidence                             // nil if they cannot be used to judge single grants

	// What follows is found out when it is first needed, by whichever check needs it.
	contacts      memo.Map[history.SessionID, []int64]         // see contactsOf
	expiries      memo.Map[*history.Acquisition, Explanation]  // see expiryCause
	never         memo.Map[*history.Acquisition, *Explanation] // see neverGranted
	stood         memo.Map[string, []*history.Event]           // see standstills
	longest       memo.Map[struct{}, int64]                    // see LongestTimeout
	servers       memo.Map[string, map[string]bool]            // see serversOf
	periods       memo.Map[string, []PermitPeriod]             // see PermitPeriods
	servedThrough memo.Map[*Fault, int64]
	// lastRecorded is the last event of a process before its death; see unrecorded.
	lastRecorded memo.Map[death, int64]
	bySession    memo.Once[map[history.SessionID][]*history.Acquisition] // see acquisitionsOf
	answered     memo.Once[map[history.SessionID][]contact]              // see answeredOf
	idles        memo.Once[map[string]spans.List]                        // by driver; see idle
	bound        memo.Once[*clockBound]                                  // see [Digest.Clocks]
	lastUses     memo.Once[map[*history.Acquisition]int64]               // see usedAtOnce
	looked       memo.Once[[]service.Unserved]                           // see [Digest.Unserveds]
	unserved     memo.Map[bool, []spans.Span]                            // see [Digest.Unserved]
	serversStood memo.Once[[]standstill]                                 // see standstillsOfServers
	skewed       memo.Once[[]skew]                                       // see skews
	together     memo.Once[map[*history.Acquisition]bool]                // see TakenTogether

	Conditions     []ConditionCount // that the scenario names, once [check.judgeSometimes] has counted them
	Contradictions []string         // of the record with itself, which are known before any check begins

	// Instants, None if the history does not tell.
	Measure, Closed, Drain, Collect int64 // closed: the measured window is over, and clients continue

	Final *history.Event // the final heal; nil if none is recorded

	history.Beliefs
	Whole bool // it came to its planned end and recorded that
	// EndedUnserved says that the run ended itself because servers that were up did not serve.
	EndedUnserved bool
}

// GrantsOf returns the grants of a lock in the order in which acquire returned.
func (d *Digest) GrantsOf(lock string) []*history.Acquisition {
	i, found := slices.BinarySearchFunc(d.Locks, lock, func(l LockGrants, lock string) int {
		return cmp.Compare(l.Lock, lock)
	})
	if !found {
		return nil
	}
	return d.Locks[i].Grants
}

// LockGrants are the grants of one lock in the order in which acquire returned.
type LockGrants struct {
	Lock   string
	Grants []*history.Acquisition
}

// A connection says that a client had a session, which was connected to a server, from some time on.
type connection struct {
	At      int64
	Session history.SessionID
	server  string
	timeout int64 // negotiated, in ns; 0 if not recorded
}

func NewDigest(events *history.Log, facts Facts) *Digest {
	d := &Digest{
		Facts: facts, Events: events,
		Acquisitions: history.Acquisitions(events), Beliefs: history.NewBeliefs(events, true),
		sessions:    map[history.SessionID][]connection{},
		ClientHosts: map[string]bool{},
		ClientOf:    map[history.SessionID]string{},
		Hiccups:     hiccups.Standstills(events),
		Connections: map[string][]connection{},
		Unconnected: map[string][]spans.Span{}, unwatched: unwatched(events),
		ClientsOf: map[history.SessionID]map[string]bool{},
		Measure:   history.None, Closed: history.None, Drain: history.None, Collect: history.None,
	}
	for process, client := range events.Sides() {
		if client != "" && process == history.HostOf(client) {
			d.ClientHosts[process] = true
		}
	}
	for _, e := range events.Of(history.OpConnected, history.OpDisconnected, history.OpPhase,
		history.OpFinalHeal, history.OpEnd) {
		switch e.Op {
		case history.OpDisconnected:
			d.Unconnected[e.Client] = append(d.Unconnected[e.Client], spans.Span{From: e.At, Until: d.End})
		case history.OpConnected:
			if spans := d.Unconnected[e.Client]; len(spans) > 0 {
				last := &spans[len(spans)-1]
				last.Until = min(last.Until, e.At)
			}
			change := e.SessionChange()
			c := connection{e.At, e.Session, change.Server, int64(change.Timeout)}
			d.sessions[e.Session] = append(d.sessions[e.Session], c)
			d.Connections[e.Client] = append(d.Connections[e.Client], c)
			d.has(e.Session, e.Client)
		case history.OpPhase:
			d.phase(&e)
		case history.OpFinalHeal:
			d.Final = &e
		case history.OpEnd:
			d.Whole = e.Ending() == history.EndComplete
			d.EndedUnserved = e.Ending() == history.EndUnserved
		}
	}
	d.unreleased = d.findUnreleased()
	d.Whole = d.Whole && !facts.Partial && len(facts.Incomplete) == 0
	if !d.Whole {
		d.Beliefs = history.NewBeliefs(events, false)
	}
	d.permits = permitCounts(events, int64(facts.Permits))
	d.Faults = faultsOf(events, &facts)
	for _, f := range d.Faults {
		if f.Injected == history.None && d.Final != nil && d.Final.Kind == history.OK && d.Final.Leftovers() == "" {
			f.final = d.Final.At
		}
	}
	for _, grants := range history.Grants(events) {
		d.Locks = append(d.Locks, LockGrants{grants[0].Lock, grants})
	}
	had := map[*history.Claimant]bool{}
	for i := range d.Acquisitions {
		if a := &d.Acquisitions[i]; a.Session != 0 && !had[a.Claimant] {
			d.has(a.Session, a.Client)
			had[a.Claimant] = true
		}
	}
	// How far the clocks agree does not depend on what the servers say, and takes as long to find out.
	var clocks sync.WaitGroup
	var broken error
	clocks.Go(func() { _, broken = Safely(d.Clocks) })
	d.Transactions = newTransactions(d)
	d.Servers = newEvidence(d)
	if clocks.Wait(); broken != nil {
		panic(broken)
	}
	return d
}

// acquisitionsOf returns the acquisitions of a session.
func (d *Digest) acquisitionsOf(session history.SessionID) []*history.Acquisition {
	return d.bySession.Of(func() map[history.SessionID][]*history.Acquisition {
		all := map[history.SessionID][]*history.Acquisition{}
		for i := range d.Acquisitions {
			if a := &d.Acquisitions[i]; a.Session != 0 {
				all[a.Session] = append(all[a.Session], a)
			}
		}
		return all
	})[session]
}

// has notes that a session is that client's.
func (d *Digest) has(s history.SessionID, client string) {
	if d.ClientsOf[s] == nil {
		d.ClientsOf[s] = map[string]bool{}
		d.ClientOf[s] = client
	}
	d.ClientsOf[s][client] = true
}

func (d *Digest) phase(e *history.Event) {
	switch e.Phase() {
	case history.PhaseMeasure:
		d.Measure = e.At
	case history.PhaseHeal, history.PhaseLiveness:
		if d.Closed == history.None {
			d.Closed = e.At
		}
	case history.PhaseDrain:
		d.Drain = e.At
	case history.PhaseCollect:
		d.Collect = e.At
	}
}

// Timeout is the session's timeout in ns: by the servers' logs, else as its client said, else that of the run. It is 0
// if it is not known.
func (d *Digest) Timeout(s history.SessionID) int64 {
	if s != 0 && d.Transactions.Whole() {
		if logged := d.Transactions.History.Sessions[int64(s)]; logged != nil && logged.Timeout > 0 {
			return int64(logged.Timeout)
		}
	}
	for _, c := range d.sessions[s] {
		if c.timeout > 0 {
			return c.timeout
		}
	}
	return int64(d.Facts.SessionTimeout)
}

// LongestTimeout is the session timeout that bounds how long the service remembers a dead client, 0 if it is not known.
func (d *Digest) LongestTimeout() int64 {
	return d.longest.Of(struct{}{}, func() int64 {
		t := int64(d.Facts.SessionTimeout)
		for s := range d.sessions {
			t = max(t, d.Timeout(s))
		}
		return t
	})
}

// ServerAt is the server that a session was connected to at an instant.
func (d *Digest) ServerAt(s history.SessionID, at int64) string {
	server := ""
	for _, c := range d.sessions[s] {
		if c.At > at {
			break
		}
		server = c.server
	}
	return server
}

// SessionAt is the session that a client had at an instant, 0 if none is known.
func (d *Digest) SessionAt(client string, at int64) history.SessionID {
	var last history.SessionID
	for _, c := range d.Connections[client] {
		if c.At > at {
			break
		}
		last = c.Session
	}
	return last
}

// EventsOf returns the events that make up a: how it was granted and how it ended.
func (d *Digest) EventsOf(a *history.Acquisition) []history.Event {
	var found []history.Event
	for _, at := range [...]int64{a.Invoked, a.Returned, a.ReleaseInvoked, a.Lost, a.Died} {
		if at == history.None {
			continue
		}
		for _, e := range d.Events.Since(at) {
			if e.At != at {
				break
			}
			if e.Client == a.Client && e.Acq == a.N && e.Lock == a.Lock && e.Process == a.Process ||
				e.Op == history.OpProcess && e.Process == a.Process {
				if !slices.Contains(found, e) {
					found = append(found, e)
				}
			}
		}
	}
	return found
}

// FindingOf is a finding about an acquisition, from one instant to another, that nothing explains.
func (d *Digest) FindingOf(kind Kind, a *history.Acquisition, from, until int64, format string, args ...any) Finding {
	return Finding{Kind: kind, Lock: a.Lock, At: from, Until: until, Cause: CauseNone, Clients: []string{a.Client},
		Tokens: []int64{a.Token}, Events: d.EventsOf(a), Text: fmt.Sprintf(format, args...)}
}

// Number sets the numbers that the findings' events have in the history.
func (d *Digest) Number(all []Finding) {
	for i := range all {
		f := &all[i]
		f.Numbers = nil
		for k := range f.Events {
			for n, e := range d.Events.Since(f.Events[k].At) {
				if e == f.Events[k] {
					f.Numbers = append(f.Numbers, n+1)
				}
				if e == f.Events[k] || e.At != f.Events[k].At {
					break
				}
			}
		}
	}
}

// OnlyClients reports whether f struck client processes and nothing else.
func (d *Digest) OnlyClients(f *Fault) bool {
	for _, host := range f.Targets {
		if !d.ClientHosts[host] {
			return false
		}
	}
	return len(f.Targets) > 0
}

// Stillness are the times in which a process, and so perhaps the machine, recorded that it stood still for that long.
func (d *Digest) Stillness(least time.Duration) (all []spans.Span) {
	for _, process := range SortedKeys(d.Hiccups) {
		all = append(all, d.stillnessOf(process, least)...)
	}
	return all
}

// StillnessOf are the times in which one process recorded that it stood still for at least a tick.
func (d *Digest) StillnessOf(process string) []spans.Span {
	return d.stillnessOf(process, Standstill(d.Facts.Tick))
}

func (d *Digest) stillnessOf(process string, least time.Duration) (all []spans.Span) {
	for _, e := range d.Hiccups[process] {
		if over := e.Hiccup(); over >= least {
			all = append(all, spans.Span{From: e.At - int64(over), Until: e.At})
		}
	}
	return all
}

// StoodFor is for how long a process may have stood still between two instants: by its own record, or because of a
// fault.
func (d *Digest) StoodFor(process string, from, until int64) int64 {
	var all []spans.Span
	for _, f := range d.Faults {
		if f.Possible() && f.Stops() && f.Hits(process) {
			all = append(all, spans.Span{From: f.Began(), Until: f.Until()})
		}
	}
	for _, e := range d.Hiccups[process] {
		all = append(all, spans.Span{From: e.At - int64(e.Hiccup()), Until: e.At})
	}
	return spans.Merged(all).Within(from, until)
}

// Seconds renders an instant for people.
func Seconds(ns int64) string {
	if ns == history.None || ns == math.MaxInt64 {
		return "never"
	}
	return fmt.Sprintf("%.6g s", float64(ns)/1e9)
}

// Length renders a length of time for people, which deserves fewer digits than an instant.
func Length(ns int64) string {
	if ns == history.None || ns == math.MaxInt64 {
		return "never"
	}
	return words.Digits3(float64(ns)/1e9) + " s"
}

// Millis is [Length] in milliseconds.
func Millis(ns int64) string { return words.Digits3(float64(ns)/1e6) + " ms" }

// Count renders a number with its noun.
func Count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// A ConditionCount says how often a condition was met.
type ConditionCount struct {
	Condition string `json:"condition"`
	Means     string `json:"means"`
	Met       bool   `json:"met"`
	Count     *int64 `json:"count"` // nil if it could not be measured
}

func Safely[T any](f func() T) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f(), nil
}

// Holder names the client that holds a, for a sentence.
func Holder(a *history.Acquisition) string {
	if a.Token == 0 {
		return a.Client
	}
	return fmt.Sprintf("%s (token %d)", a.Client, a.Token)
}
