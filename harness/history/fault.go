package history

import (
	"cmp"
	"strings"
)

// The ops of the harness about a fault. At is the agent's stamp where an agent did it.
const (
	OpFaultAim        Op = "fault-aim"         // Info: the fault's target comes to these hosts now
	OpFaultInject     Op = "fault-inject"      // Invoke: requested; OK: injected; Fail
	OpFaultVerify     Op = "fault-verify"      // OK or Fail: the effect was seen, or not
	OpFaultHeal       Op = "fault-heal"        // OK or Fail; for a momentary fault, OK when it was done
	OpFaultHealVerify Op = "fault-heal-verify" // OK or Fail: the effect was seen to be gone
	// OpFaultUnsupported and OpFaultMissed stand in the place of an injection that failed.
	OpFaultUnsupported Op = "fault-unsupported" // Fail: this machine lacks something that the fault needs
	OpFaultMissed      Op = "fault-missed"      // Fail: there was nothing to strike, or another fault occupied it
)

// IsFault reports whether the op is a step of a fault.
func (o Op) IsFault() bool { return strings.HasPrefix(string(o), "fault-") }

// A FaultStep is one step in the life of a fault.
type FaultStep struct {
	Op    Op
	ID    string
	Fault string   // the fault's kind, as scenarios name it
	Hosts []string // that it strikes; empty where they are not known yet
	Leads bool     // of OpFaultAim: one of the hosts leads the ensemble
	// Session is the one that the fault was done to, if it was done to one.
	Session SessionID
	// Detail says what went wrong; of an injection that succeeded, whose sessions or which znodes it was done to, or
	// which version of ZooKeeper came in the place of which; of an aim, the target as the scenario names it and why it
	// comes to these hosts.
	Detail string
}

// Event returns the event of a kind that records the step.
func (s FaultStep) Event(kind Kind) Event {
	e := Event{Op: s.Op, Kind: kind, Fault: s.ID, Mode: Mode(s.Fault), Target: strings.Join(s.Hosts, ","),
		Session: s.Session, Detail: s.Detail}
	if s.Leads {
		e.Value = 1
	}
	return e
}

// FaultStep returns the payload of an event of one of the fault ops.
func (e *Event) FaultStep() FaultStep {
	hosts := strings.FieldsFunc(e.Target, func(r rune) bool { return r == ',' || r == ' ' })
	return FaultStep{Op: e.Op, ID: e.Fault, Fault: string(e.Mode), Hosts: hosts, Leads: e.Value == 1,
		Session: e.Session, Detail: e.Detail}
}

// FaultTimes are the instants of a fault: when it was requested, and when each further step was done for the first
// time. They are [None] for steps that are not recorded.
type FaultTimes struct{ Requested, Injected, Verified, Healed, HealVerified int64 }

// A Fault is a fault as its events tell it.
type Fault struct {
	ID, Kind string
	FaultTimes
	// Hosts are those that it was injected into; nil if it was not injected.
	Hosts []string
	// Steps are its events, and those of the clients that stopped themselves for it, in their order.
	Steps []Event
}

// NewFault returns a fault of which nothing is recorded.
func NewFault(id string) *Fault {
	return &Fault{ID: id, FaultTimes: FaultTimes{None, None, None, None, None}}
}

// Faults returns the faults that a history tells of, in the order of their first events.
func Faults(events *Log) []*Fault {
	var all []*Fault
	byID := map[string]*Fault{}
	for _, e := range events.Where(func(op Op) bool { return op.IsFault() || op == OpTrigger }) {
		if e.Fault == "" {
			continue
		}
		f := byID[e.Fault]
		if f == nil {
			f = NewFault(e.Fault)
			byID[e.Fault] = f
			all = append(all, f)
		}
		f.Steps = append(f.Steps, e)
		if e.Op != OpTrigger {
			f.add(e.Kind, e.At, e.FaultStep())
		}
	}
	return all
}

func (f *Fault) add(kind Kind, at int64, step FaultStep) {
	f.Kind = cmp.Or(step.Fault, f.Kind)
	if step.Op == OpFaultInject && kind == Invoke {
		f.Requested = at
	}
	done := map[Op]*int64{OpFaultInject: &f.Injected, OpFaultVerify: &f.Verified, OpFaultHeal: &f.Healed,
		OpFaultHealVerify: &f.HealVerified}[step.Op]
	if kind != OK || done == nil || *done != None {
		return
	}
	*done = at
	if step.Op == OpFaultInject {
		f.Hosts = step.Hosts
	}
}
