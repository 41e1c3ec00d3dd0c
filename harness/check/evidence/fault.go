package evidence

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/ensembles/txnlog"
	"locklab/harness/history"
)

// A Fault is a planned fault and what became of it.
type Fault struct {
	PlannedFault
	history.FaultTimes
	Nature  FaultNature
	Targets []string
	session history.SessionID // the one it was done to, if that is recorded
	Detail  string
	Done    string // what it was done to, beside hosts
	final   int64  // when everything was healed, for one of which it is not known whether it took effect; else 0
	// Unsupported says that the machine could not do it.
	Unsupported bool
	// Missed says that there was nothing that it could strike.
	Missed bool

	Trigger *history.Event // by the client that stopped itself for it
	Events  []history.Event
}

// faultsOf collects the faults of a history and those that were planned.
func faultsOf(events *history.Log, facts *Facts) []*Fault {
	var all []*Fault
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
	slices.SortStableFunc(all, func(a, b *Fault) int { return cmp.Compare(a.order(), b.order()) })
	return all
}

func newFault(planned PlannedFault, told *history.Fault, facts *Facts) *Fault {
	f := &Fault{PlannedFault: planned, FaultTimes: told.FaultTimes, Targets: splitHosts(planned.Target),
		Events: told.Steps}
	f.Kind = cmp.Or(told.Kind, f.Kind)
	f.Nature = facts.Natures[f.Kind]
	for i := range f.Events {
		f.read(&f.Events[i])
	}
	return f
}

// read takes from an event what is told of the fault besides its times.
func (f *Fault) read(e *history.Event) {
	if e.Op == history.OpTrigger {
		f.Trigger = e
		return
	}
	step := e.FaultStep()
	if len(step.Hosts) > 0 { // what it struck, where the plan may only have named a role
		f.Target, f.Targets = strings.Join(step.Hosts, ","), step.Hosts
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
		f.Unsupported = true
	case history.OpFaultMissed:
		f.Missed = true
	}
	if e.Kind == history.Fail || e.Kind == history.Info {
		f.Detail = step.Detail
	} else if e.Op == history.OpFaultInject && e.Kind == history.OK {
		f.Done = step.Detail
	}
}

// order puts faults in the order of injection, or of the request if a fault was not injected.
func (f *Fault) order() int64 {
	switch {
	case f.Injected != history.None:
		return f.Injected
	case f.Requested != history.None:
		return f.Requested
	}
	return math.MaxInt64
}

// Cause is what the damage of the fault is put down to.
func (f *Fault) Cause() string { return cmp.Or(f.Nature.Cause, f.Kind) }

// Began is the first instant that is known of f: nothing of it happened before.
func (f *Fault) Began() int64 {
	at := f.order()
	if f.Requested != history.None {
		at = min(at, f.Requested)
	}
	if f.Trigger != nil {
		at = min(at, f.Trigger.At)
	}
	return at
}

// NeverHappened is the instant since when it is known that f was not injected and will not be; None if that is not
// known.
func (f *Fault) NeverHappened() int64 {
	known := history.None
	for i := range f.Events {
		e := &f.Events[i]
		switch e.Op {
		case history.OpFaultInject, history.OpFaultUnsupported, history.OpFaultMissed:
			if f.Injected == history.None && e.Kind != history.Invoke {
				known = max(known, e.At)
			}
		}
	}
	return known
}

// Hits reports whether host was among those that the fault struck.
func (f *Fault) Hits(host string) bool { return host != "" && slices.Contains(f.Targets, host) }

// Until is when the fault was over: when it was healed, or everything was after an injection that failed, or never.
func (f *Fault) Until() int64 {
	switch {
	case f.Healed != history.None:
		return f.Healed
	case f.final != 0:
		return f.final
	}
	return math.MaxInt64
}

// Effect is from when to when f did harm, as far as is known.
func (f *Fault) Effect() (from, until int64) {
	from, until = f.Injected, f.Until()
	if from == history.None {
		from = f.Began()
	}
	switch {
	case !f.Nature.Lingers || until == math.MaxInt64:
	case f.HealVerified == history.None:
		until = math.MaxInt64
	default:
		until = max(until, f.HealVerified)
	}
	return from, until
}

// Certain reports whether it was confirmed that f took effect.
func (f *Fault) Certain() bool { return f.Injected != history.None && f.Verified != history.None }

// Possible reports whether f took effect, or may have: an injection that failed may have taken effect all the same.
func (f *Fault) Possible() bool { return !f.Missed && !f.Unsupported && f.Began() != math.MaxInt64 }

// Seen is when it was confirmed that f took effect, or else the last instant that is known of it.
func (f *Fault) Seen() int64 {
	last := f.Verified
	if last == history.None {
		for i := range f.Events {
			last = max(last, f.Events[i].At)
		}
	}
	return last
}

func (f *Fault) String() string {
	s := "fault " + f.ID
	if f.Kind != "" {
		s = f.Kind + " " + f.ID
	}
	if f.Target != "" {
		s += " of " + f.Target
	}
	return s
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
func (f *Fault) silences() bool { return !f.Nature.SparesSessions }

// Passes reports whether f lets a client with a session timeout (ns) be heard of as often as it must be.
func (f *Fault) Passes(timeout int64) bool {
	return f.Nature.Passes && f.Delays < Expiry{Timeout: time.Duration(timeout)}.PingEvery()
}

// muffles is from when on f can have kept heartbeats of a session with a timeout (ns) from the servers. Where only
// their answers are cut off, the client goes on for a third of the timeout at least: it sends one more ping, which
// arrives.
func (f *Fault) muffles(timeout int64) int64 {
	if !f.OnlyReplies {
		return f.Began()
	}
	return Later(f.Began(), int64(Expiry{Timeout: time.Duration(timeout)}.PingEvery()))
}

// Stops reports whether f can keep a process that it strikes from doing anything. What is done to its connections or
// in an administrator's name cannot.
func (f *Fault) Stops() bool {
	return f.Cause() != causePartition && f.Nature.Cause != CauseAdministrator && !f.Nature.SparesSessions
}

// causePartition is what damage is put down to that came from the network.
const causePartition = "partition"

// silencesLeader reports whether f struck the leader so that the followers' word of their sessions did not reach it.
func (f *Fault) silencesLeader() bool { return f.StrikesLeader() && f.Nature.SilencesLeader }

// hampersLeader reports whether f may have kept the followers' word of their sessions from the leader for a while.
func (f *Fault) hampersLeader() bool { return f.StrikesLeader() && f.Nature.HampersLeader }

func (f *Fault) StrikesLeader() bool { return f.Role == RoleLeader && !f.SparesServers }

// ends reports whether an administrator's fault ends znodes in that way.
func (f *Fault) ends(how txnlog.Type) bool {
	if how == txnlog.CloseSession {
		return f.Nature.EndsSessions
	}
	return f.Nature.DeletesZnodes
}
