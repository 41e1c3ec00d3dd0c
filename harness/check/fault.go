package check

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/ensembles/txnlog"
	"locklab/harness/history"
)

// A fault is a planned fault and what became of it.
type fault struct {
	PlannedFault
	history.FaultTimes
	nature  FaultNature
	targets []string
	session history.SessionID // the one it was done to, if that is recorded
	detail  string
	done    string // what it was done to, beside hosts
	// unsupported says that the machine could not do it.
	unsupported bool
	// missed says that there was nothing that it could strike.
	missed bool

	trigger *history.Event // by the client that stopped itself for it
	events  []history.Event
}

// faultsOf collects the faults of a history and those that were planned.
func faultsOf(events *history.Log, facts *Facts) []*fault {
	var all []*fault
	told := history.Faults(events)
	for _, p := range facts.Faults {
		i := slices.IndexFunc(told, func(f *history.Fault) bool { return f.ID == p.ID })
		if i < 0 {
			all = append(all, newFault(p, history.NewFault(p.ID), facts))
			continue
		}
		all = append(all, newFault(p, told[i], facts))
		told = slices.Delete(told, i, i+1)
	}
	for _, f := range told {
		all = append(all, newFault(PlannedFault{ID: f.ID}, f, facts))
	}
	slices.SortStableFunc(all, func(a, b *fault) int { return cmp.Compare(a.order(), b.order()) })
	return all
}

func newFault(planned PlannedFault, told *history.Fault, facts *Facts) *fault {
	f := &fault{PlannedFault: planned, FaultTimes: told.FaultTimes, targets: splitHosts(planned.Target),
		events: told.Steps}
	f.Kind = cmp.Or(told.Kind, f.Kind)
	f.nature = facts.Natures[f.Kind]
	for i := range f.events {
		f.read(&f.events[i])
	}
	return f
}

// read takes from an event what is told of the fault besides its times.
func (f *fault) read(e *history.Event) {
	if e.Op == history.OpTrigger {
		f.trigger = e
		return
	}
	step := e.FaultStep()
	if len(step.Hosts) > 0 { // what it struck, where the plan may only have named a role
		f.Target, f.targets = strings.Join(step.Hosts, ","), step.Hosts
	}
	switch e.Op {
	case history.OpFaultAim:
		if step.Leads {
			f.Role = RoleLeader
		}
		return
	case history.OpFaultInject, history.OpFaultVerify:
		f.session = cmp.Or(e.Session, f.session)
	case history.OpFaultUnsupported:
		f.unsupported = true
	case history.OpFaultMissed:
		f.missed = true
	}
	if e.Kind == history.Fail || e.Kind == history.Info {
		f.detail = step.Detail
	} else if e.Op == history.OpFaultInject && e.Kind == history.OK {
		f.done = step.Detail
	}
}

// order puts faults in the order of injection, or of the request if a fault was not injected.
func (f *fault) order() int64 {
	switch {
	case f.Injected != history.None:
		return f.Injected
	case f.Requested != history.None:
		return f.Requested
	}
	return math.MaxInt64
}

// cause is what the damage of the fault is put down to.
func (f *fault) cause() string { return cmp.Or(f.nature.Cause, f.Kind) }

// began is the first instant that is known of f: nothing of it happened before.
func (f *fault) began() int64 {
	at := f.order()
	if f.Requested != history.None {
		at = min(at, f.Requested)
	}
	if f.trigger != nil {
		at = min(at, f.trigger.At)
	}
	return at
}

// neverHappened is the instant since when it is known that f was not injected and will not be; None if that is not
// known.
func (f *fault) neverHappened() int64 {
	known := history.None
	for i := range f.events {
		e := &f.events[i]
		switch e.Op {
		case history.OpFaultInject, history.OpFaultUnsupported, history.OpFaultMissed:
			if f.Injected == history.None && e.Kind != history.Invoke {
				known = max(known, e.At)
			}
		}
	}
	return known
}

// hits reports whether host was among those that the fault struck.
func (f *fault) hits(host string) bool { return host != "" && slices.Contains(f.targets, host) }

// until is when the fault was over: when it was healed, or never.
func (f *fault) until() int64 {
	if f.Healed == history.None {
		return math.MaxInt64
	}
	return f.Healed
}

// effect is from when to when f did harm, as far as is known.
func (f *fault) effect() (from, until int64) {
	from, until = f.Injected, f.until()
	if from == history.None {
		from = f.began()
	}
	switch {
	case !f.nature.Lingers || until == math.MaxInt64:
	case f.HealVerified == history.None:
		until = math.MaxInt64
	default:
		until = max(until, f.HealVerified)
	}
	return from, until
}

// certain reports whether it was confirmed that f took effect.
func (f *fault) certain() bool { return f.Injected != history.None && f.Verified != history.None }

// possible reports whether f took effect, or may have: an injection that failed may have taken effect all the same.
func (f *fault) possible() bool { return !f.missed && !f.unsupported && f.began() != math.MaxInt64 }

// seen is when it was confirmed that f took effect, or else the last instant that is known of it.
func (f *fault) seen() int64 {
	last := f.Verified
	if last == history.None {
		for i := range f.events {
			last = max(last, f.events[i].At)
		}
	}
	return last
}

func (f *fault) String() string {
	s := "fault " + f.ID
	if f.Kind != "" {
		s = f.Kind + " " + f.ID
	}
	if f.Target != "" {
		s += " of " + f.Target
	}
	return s
}

func (d *digest) faultRecords() []FaultRecord {
	all := make([]FaultRecord, 0, len(d.faults))
	for _, f := range d.faults {
		all = append(all, FaultRecord{
			ID: f.ID, Kind: f.Kind, Target: f.Target, Detail: f.detail, Done: f.done, Unsupported: f.unsupported,
			RequestedNs: instant(f.Requested), InjectedNs: instant(f.Injected), HealedNs: instant(f.Healed),
			Verified: f.Verified != history.None, HealVerified: f.HealVerified != history.None,
		})
	}
	return all
}

func instant(at int64) *int64 {
	if at == history.None {
		return nil
	}
	return &at
}

func splitHosts(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// A FaultNature says what faults of a kind can do to sessions and znodes, as far as an explanation can rest on it.
// The catalogue of faults has one for each kind. The zero value is a fault that can keep a session from being
// heard of only where it strikes the session's client or server, and that is over as soon as it is healed.
type FaultNature struct {
	// Cause is what the damage is put down to: pause, kill, partition or [CauseAdministrator]; empty means the kind.
	Cause string
	// SparesSessions says that such a fault cannot keep a session's client, its server and the leader from hearing
	// of each other: znodes in a lock's directory cannot, nor can a wall clock, which sessions do not go by.
	SparesSessions bool
	// SilencesLeader says that such a fault of the leader keeps the followers' word of their sessions from it. A
	// leader that is only slow to clients, or cut off from them, still hears of all other sessions.
	SilencesLeader bool
	// HampersLeader says that such a fault of the leader may keep the followers' word from it for a while: what is
	// lost on the way is sent again, sooner or later.
	HampersLeader bool
	// Passes says that such a fault lets packets through, however late or few, so that it silences nobody unless it
	// delays answers by too much: see [PlannedFault].
	Passes bool
	// Lingers says that what such a fault broke is not back as soon as the fault is undone: a process has to come
	// up, or a connection has to be made anew.
	Lingers bool
	// EndsSessions and DeletesZnodes say what such a fault does in somebody else's name. DeletesAll says that it
	// deletes the znodes of all clients of a lock, and not those of one client.
	EndsSessions, DeletesZnodes, DeletesAll bool

	_ struct{}
}

// silences reports whether f can keep a session's client, its server and the leader from hearing of each other.
func (f *fault) silences() bool { return !f.nature.SparesSessions }

// passes reports whether f lets a client with a session timeout (ns) be heard of as often as it must be.
func (f *fault) passes(timeout int64) bool {
	return f.nature.Passes && f.Delays < Expiry{Timeout: time.Duration(timeout)}.PingEvery()
}

// muffles is from when on f can have kept heartbeats of a session with a timeout (ns) from the servers. Where only
// their answers are cut off, the client goes on for a third of the timeout at least: it sends one more ping, which
// arrives.
func (f *fault) muffles(timeout int64) int64 {
	if !f.OnlyReplies {
		return f.began()
	}
	return later(f.began(), int64(Expiry{Timeout: time.Duration(timeout)}.PingEvery()))
}

// stops reports whether f can keep a process that it strikes from doing anything. What is done to its connections or
// in an administrator's name cannot.
func (f *fault) stops() bool {
	return f.cause() != causePartition && f.nature.Cause != CauseAdministrator && !f.nature.SparesSessions
}

// causePartition is what damage is put down to that came from the network.
const causePartition = "partition"

// silencesLeader reports whether f struck the leader so that the followers' word of their sessions did not reach it.
func (f *fault) silencesLeader() bool { return f.strikesLeader() && f.nature.SilencesLeader }

// hampersLeader reports whether f may have kept the followers' word of their sessions from the leader for a while.
func (f *fault) hampersLeader() bool { return f.strikesLeader() && f.nature.HampersLeader }

func (f *fault) strikesLeader() bool { return f.Role == RoleLeader && !f.SparesServers }

// ends reports whether an administrator's fault ends znodes in that way.
func (f *fault) ends(how txnlog.Type) bool {
	if how == txnlog.CloseSession {
		return f.nature.EndsSessions
	}
	return f.nature.DeletesZnodes
}
