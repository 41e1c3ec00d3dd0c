package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"locklab/harness/history"
	"locklab/reports/words"
)

// A digest is what the checks have in common: the history sorted into which client held what, which faults struck
// which hosts, and when the run was in which phase. Checks use it at the same time, and nothing but what its methods
// find out for all of them changes meanwhile.
type digest struct {
	facts  Facts
	events *history.Log

	acquisitions []history.Acquisition // in order of invocation
	locks        []lockGrants          // by lock, in name order
	faults       []*fault              // in order of injection, see faultsOf
	sessions     map[history.SessionID][]connection
	clientHosts  map[string]bool // hosts with a client that recorded something
	clientOf     map[history.SessionID]string
	hiccups      map[string][]*history.Event           // by process
	connections  map[string][]sessionStart             // by client, in order
	clientsOf    map[history.SessionID]map[string]bool // the clients that share it
	slots        map[slotKey]history.Slot              // of holds of permits
	permits      map[string]permitCount                // by lock, of semaphores that were resized
	transactions *transactions                         // nil if the servers' logs cannot be used
	servers      *evidence                             // nil if they cannot be used to judge single grants

	// What follows is found out when it is first needed, by whichever check needs it.
	contacts memo[history.SessionID, []int64]        // see contactsOf
	expiries memo[*history.Acquisition, explanation] // see expiryCause
	stood    memo[string, []*history.Event]          // see standstills
	// lastRecorded is the last event of a process before its death; see unrecorded.
	lastRecorded memo[death, int64]
	bySession    struct { // see [digest.acquisitionsOf]
		once sync.Once
		all  map[history.SessionID][]*history.Acquisition
	}
	bound struct { // see [digest.clocks]
		once sync.Once
		clockBound
	}
	skewed struct { // see [digest.skews]
		once sync.Once
		all  []skew
	}

	conditions []ConditionCount // that the scenario names, once [judgeSometimes] has counted them

	// Instants, None if the history does not tell.
	measure, closed, drain, collect int64 // closed: the measured window is over, and clients continue

	final *history.Event // the final heal; nil if none is recorded

	end     int64            // of the history
	horizon map[string]int64 // by process: its last event, if the run is not complete
	whole   bool             // it came to its planned end and recorded that
	// endedUnserved says that the run ended itself because servers that were up did not serve.
	endedUnserved bool
}

// lockGrants are the grants of one lock in the order in which acquire returned.
type lockGrants struct {
	lock   string
	grants []*history.Acquisition
}

// A connection says that a session was connected to a server from some time on.
type connection struct {
	at      int64
	server  string
	timeout int64 // negotiated, in ns; 0 if not recorded
}

// A sessionStart says that a client had a session from some time on.
type sessionStart struct {
	at      int64
	session history.SessionID
}

func newDigest(events *history.Log, facts Facts) *digest {
	d := &digest{
		facts: facts, events: events,
		acquisitions: history.Acquisitions(events),
		sessions:     map[history.SessionID][]connection{},
		clientHosts:  map[string]bool{},
		clientOf:     map[history.SessionID]string{},
		hiccups:      map[string][]*history.Event{},
		connections:  map[string][]sessionStart{},
		clientsOf:    map[history.SessionID]map[string]bool{},
		measure:      history.None, closed: history.None, drain: history.None, collect: history.None,
	}
	d.end = events.End()
	for process, client := range events.Sides() {
		if client != "" && process == hostOf(client) {
			d.clientHosts[process] = true
		}
	}
	for _, e := range events.Of(history.OpConnected, history.OpHiccup, history.OpPhase, history.OpFinalHeal,
		history.OpEnd) {
		switch e.Op {
		case history.OpConnected:
			change := e.SessionChange()
			d.sessions[e.Session] = append(d.sessions[e.Session], connection{e.At, change.Server, int64(change.Timeout)})
			d.has(e.Session, e.Client)
			d.connections[e.Client] = append(d.connections[e.Client], sessionStart{e.At, e.Session})
		case history.OpHiccup:
			d.hiccups[e.Process] = append(d.hiccups[e.Process], &e)
		case history.OpPhase:
			d.phase(&e)
		case history.OpFinalHeal:
			d.final = &e
		case history.OpEnd:
			d.whole = e.Ending() == history.EndComplete
			d.endedUnserved = e.Ending() == history.EndUnserved
		}
	}
	d.whole = d.whole && !facts.Partial && len(facts.Incomplete) == 0
	if !d.whole {
		d.horizon = map[string]int64{}
		for _, e := range events.All() {
			d.horizon[e.Process] = e.At
		}
	}
	if slices.ContainsFunc(d.acquisitions, func(a history.Acquisition) bool { return a.Mode == history.ModePermit }) {
		d.slots = slotsOf(events)
	}
	d.permits = permitCounts(events, int64(facts.Permits))
	d.faults = faultsOf(events, &facts)
	for _, grants := range history.Grants(events) {
		d.locks = append(d.locks, lockGrants{grants[0].Lock, grants})
	}
	had := map[*history.Claimant]bool{}
	for i := range d.acquisitions {
		if a := &d.acquisitions[i]; a.Session != 0 && !had[a.Claimant] {
			d.has(a.Session, a.Client)
			had[a.Claimant] = true
		}
	}
	// How far the clocks agree does not depend on what the servers say, and takes as long to find out.
	var clocks sync.WaitGroup
	var broken error
	clocks.Go(func() { _, broken = safely(d.clocks) })
	d.transactions = newTransactions(d)
	d.servers = newEvidence(d)
	if clocks.Wait(); broken != nil {
		panic(broken)
	}
	return d
}

// acquisitionsOf returns the acquisitions of a session.
func (d *digest) acquisitionsOf(session history.SessionID) []*history.Acquisition {
	d.bySession.once.Do(func() {
		d.bySession.all = map[history.SessionID][]*history.Acquisition{}
		for i := range d.acquisitions {
			if a := &d.acquisitions[i]; a.Session != 0 {
				d.bySession.all[a.Session] = append(d.bySession.all[a.Session], a)
			}
		}
	})
	return d.bySession.all[session]
}

// has notes that a session is that client's.
func (d *digest) has(s history.SessionID, client string) {
	if d.clientsOf[s] == nil {
		d.clientsOf[s] = map[string]bool{}
		d.clientOf[s] = client
	}
	d.clientsOf[s][client] = true
}

func (d *digest) phase(e *history.Event) {
	switch e.Phase() {
	case history.PhaseMeasure:
		d.measure = e.At
	case history.PhaseHeal, history.PhaseLiveness:
		if d.closed == history.None {
			d.closed = e.At
		}
	case history.PhaseDrain:
		d.drain = e.At
	case history.PhaseCollect:
		d.collect = e.At
	}
}

// believedUntil is when a's client stopped believing that it held the lock. In a history that is not complete, a
// belief is known to have lasted only until the last event of its process; assuming more would make overlaps out of
// lost records.
func (d *digest) believedUntil(a *history.Acquisition) int64 {
	end := d.end
	if h, ok := d.horizon[a.Process]; ok {
		end = h
	}
	return a.BelievedUntil(end)
}

// timeout is the session's timeout in ns, 0 if it is not known.
func (d *digest) timeout(s history.SessionID) int64 {
	if d.facts.SessionTimeout > 0 {
		return int64(d.facts.SessionTimeout)
	}
	for _, c := range d.sessions[s] {
		if c.timeout > 0 {
			return c.timeout
		}
	}
	return 0
}

// longestTimeout is the session timeout that bounds how long the service remembers a dead client, 0 if it is not
// known.
func (d *digest) longestTimeout() int64 {
	t := int64(d.facts.SessionTimeout)
	if t == 0 {
		for s := range d.sessions {
			t = max(t, d.timeout(s))
		}
	}
	return t
}

// serverAt is the server that a session was connected to at an instant.
func (d *digest) serverAt(s history.SessionID, at int64) string {
	server := ""
	for _, c := range d.sessions[s] {
		if c.at > at {
			break
		}
		server = c.server
	}
	return server
}

// eventsOf returns the events that make up a: how it was granted and how it ended.
func (d *digest) eventsOf(a *history.Acquisition) []history.Event {
	var found []history.Event
	for _, at := range [...]int64{a.Invoked, a.Returned, a.ReleaseInvoked, a.Lost, a.Died} {
		if at == history.None {
			continue
		}
		for _, e := range d.events.Since(at) {
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

// number sets the numbers that the findings' events have in the history.
func (d *digest) number(all []Finding) {
	for i := range all {
		f := &all[i]
		f.Numbers = nil
		for k := range f.Events {
			for n, e := range d.events.Since(f.Events[k].At) {
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

// hostOf is the host of a client, whose name is host/number.
func hostOf(client string) string {
	if i := strings.LastIndexByte(client, '/'); i >= 0 {
		return client[:i]
	}
	return client
}

// onlyClients reports whether f struck client processes and nothing else.
func (d *digest) onlyClients(f *fault) bool {
	for _, host := range f.targets {
		if !d.clientHosts[host] {
			return false
		}
	}
	return len(f.targets) > 0
}

// stillness are the times in which a process recorded that it stood still for at least a tick.
func (d *digest) stillness() []spell {
	var all []spell
	for _, process := range sortedKeys(d.hiccups) {
		all = append(all, d.stillnessOf(process)...)
	}
	return all
}

// stillnessOf is the stillness of one process.
func (d *digest) stillnessOf(process string) (all []spell) {
	for _, e := range d.hiccups[process] {
		if over := e.Hiccup(); over >= Standstill(d.facts.Tick) {
			all = append(all, spell{e.At - int64(over), e.At})
		}
	}
	return all
}

// stoodWithin reports whether a process may have stood still between two instants: by its own record, or because of a
// fault.
func (d *digest) stoodWithin(process string, from, until int64) bool {
	return slices.ContainsFunc(d.faults, func(f *fault) bool {
		return f.possible() && f.stops() && f.hits(process) && f.began() <= until && f.until() >= from
	}) || slices.ContainsFunc(d.hiccups[process], func(e *history.Event) bool {
		return e.At-int64(e.Hiccup()) <= until && e.At >= from
	})
}

// seconds renders an instant for people.
func seconds(ns int64) string {
	if ns == history.None || ns == math.MaxInt64 {
		return "never"
	}
	return fmt.Sprintf("%.6g s", float64(ns)/1e9)
}

// length renders a length of time for people, which deserves fewer digits than an instant.
func length(ns int64) string {
	if ns == history.None || ns == math.MaxInt64 {
		return "never"
	}
	return words.Digits3(float64(ns)/1e9) + " s"
}

// millis is [length] in milliseconds.
func millis(ns int64) string { return words.Digits3(float64(ns)/1e6) + " ms" }

// count renders a number with its noun.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
