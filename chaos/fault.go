package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/harness/settings"
)

// The points of a client's critical section at which a fault can be triggered.
const (
	// TriggerReadWrite is between the client's read of the resource and its write.
	TriggerReadWrite = "between-read-and-write"
	// TriggerWrite is directly before the client's write of the resource, after it has asked its guard for the last
	// time.
	TriggerWrite = "before-write"
	// TriggerReads is between the two reads of the resource by a reader, or by a client that has permits.
	TriggerReads = "between-reads"
	// TriggerHold is an instant of the client's hold, drawn evenly from the seed and the fault's ID. The client works for
	// the rest of its hold after that, as a process does that a garbage collection has stopped.
	TriggerHold = "within-hold"
)

var triggers = []string{TriggerReadWrite, TriggerWrite, TriggerReads, TriggerHold}

// UntilSuperseded is when the resource has served a later token than the victim's; or, where the victim has no token,
// when another client has been granted the lock.
const UntilSuperseded = "superseded"

// ExpectExpiry says that a fault is meant to outlast its victim's session.
const ExpectExpiry = "expiry"

// A Fault is an entry of a scenario's faults. It begins At a time or at its Trigger, and is healed after For or at
// Until. A momentary fault is over at once.
type Fault struct {
	Kind   string `key:"kind" help:"the kind of fault"`
	Target Target `key:"target" help:"where it strikes: a host, or a role that is looked up when the fault strikes"`

	// Params has the keys that only its kind has. It is a struct of the type of the kind's Params.
	Params any

	// At is after the start of the measured window. It is not used with a Trigger.
	At time.Duration `key:"at" help:"when it begins, after the start of the measured window"`
	// Every is the time from one beginning to the next of a fault that strikes Repeat times, or as often as the run
	// has room for if Repeat is 0. If Every is 0, the fault strikes once.
	Every  time.Duration `key:"every" help:"the time from one beginning to the next, for a fault that repeats"`
	Repeat int           `key:"repeat" help:"how often it strikes; if not given, once, or with every as often as fits"`
	// Trigger is the point of the victim's critical section at which it begins, the first time that the victim
	// reaches that point in the measured window. If the fault strikes Repeat times, each next one begins at that point
	// as soon as the one before it is over. So do several faults with triggers of one host, in their order.
	Trigger string `key:"trigger" help:"at which point of its victim's critical section it begins"`

	For   Span   `key:"for" help:"how long: 3s, 1.5T (times the session timeout), expiry (T + 2 ticks) or expiry+1s"`
	Until string `key:"until" help:"the event that ends it" enum:"superseded"`
	// Linger is how much longer it lasts once Until has come; 0 without Until.
	Linger time.Duration `key:"linger" help:"how much longer it lasts once until has come"`

	Expect string `key:"expect" help:"refuse a length too short for its victim's session to expire" enum:"expiry"`
}

// MaxFaults bounds how many faults a scenario names, and how often one of them is repeated.
const MaxFaults = 1000

// String describes the fault in one line, for plots and progress.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Does())
	if f.Trigger != "" {
		b.WriteString(" " + strings.ReplaceAll(f.Trigger, "-", " "))
	} else {
		b.WriteString(" at " + settings.FormatDuration(f.At))
		if f.Every != 0 {
			b.WriteString(" and every " + settings.FormatDuration(f.Every))
		}
	}
	switch {
	case f.Momentary():
	case f.Until != "":
		b.WriteString(" until " + f.Until)
		if f.Linger != 0 {
			b.WriteString(" and " + settings.FormatDuration(f.Linger))
		}
	default:
		b.WriteString(" for " + f.For.String())
	}
	if f.Trigger != "" && f.Repeat > 1 {
		fmt.Fprintf(&b, ", %d times", f.Repeat)
	}
	return b.String()
}

// Does says what kind of fault strikes which target, with the kind's own keys.
func (f Fault) Does() string {
	var s strings.Builder
	s.WriteString(f.Kind + " " + string(f.Target))
	for _, v := range f.own() {
		s.WriteString(" " + v.Key + " " + v.Text)
	}
	return s.String()
}

func (f *Fault) kind() *Kind { return KindOf(f.Kind) }

// Momentary reports whether the fault is over as soon as it is done.
func (f Fault) Momentary() bool { return f.kind().Momentary }

// HitsClient reports whether the target is a client process.
func (f Fault) HitsClient() bool { return f.Target.class() == OnClient }

// HitsServer reports whether the target is a server, by name or by role, or all of them.
func (f Fault) HitsServer() bool { return f.Target.class()&(OnServer|OnAll) != 0 }

// HitsHolder reports whether the fault strikes a client while it holds a lock.
func (f Fault) HitsHolder() bool { return f.Trigger != "" || f.Target == TargetHolder }

// HitsWaiter reports whether the fault strikes a client while it waits for a lock.
func (f Fault) HitsWaiter() bool { return f.Target == TargetWaiter || f.Target == TargetHeadWaiter }

// meetsHolds reports whether a client that the fault can affect holds a lock while it is in force, if clients contend
// all the time. A fault of a client's process may find that client without a lock, and one that is over at once may
// find the lock free.
func (f Fault) meetsHolds() bool {
	return f.HitsHolder() || f.Target.class() != OnClient && !f.Momentary()
}

// disables reports whether the fault takes a server out of action.
func (f Fault) disables() bool { return f.kind().Outage && f.HitsServer() }

// relayed reports whether client processes may have to connect through relays for the fault.
func (f Fault) relayed() bool {
	k := f.kind()
	return k.Relayed != nil && k.Relayed(f)
}

// Capabilities returns what a machine must be able to do for the fault.
func (f Fault) Capabilities() []string {
	k := f.kind()
	all := []string{k.Capability}
	if k.Some.Of != nil && k.Some.Of(f) {
		all = append(all, k.Some.Capability)
	}
	return slices.DeleteFunc(all, func(c string) bool { return c == "" })
}

// SparesServers reports whether the fault strikes only links between servers and clients, so that servers reach each
// other all the time.
func (f Fault) SparesServers() bool { return linksOf(f) == FromClients }

// StopsServers reports whether the fault takes servers out of the ensemble's majority, for a while or one after the
// other, so that an election may be needed.
func (f Fault) StopsServers() bool {
	return f.HitsServer() && (f.kind().Outage || f.kind().Slot == slotProcess)
}
