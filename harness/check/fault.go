package check

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/harness/history"
)

// A fault is one fault's record and its events. Instants are None where the
// thing did not happen.
type fault struct {
	PlannedFault
	planned bool
	targets []string
	session history.SessionID // that it was done to, if it is recorded
	detail  string
	// unsupported says that the machine could not do it.
	unsupported bool
	// missed says that nobody was there whom it could hit.
	missed bool

	requested, injected, verified, healed, healVerified int64

	trigger *history.Event // the client that stopped itself for it
	events  []history.Event
}

// faultsOf collects the faults of a history and those that were planned.
func faultsOf(events []history.Event, planned []PlannedFault) []*fault {
	byID := map[string]*fault{}
	var all []*fault
	get := func(id string) *fault {
		f := byID[id]
		if f == nil {
			f = &fault{PlannedFault: PlannedFault{ID: id}, requested: history.None, injected: history.None,
				verified: history.None, healed: history.None, healVerified: history.None}
			byID[id] = f
			all = append(all, f)
		}
		return f
	}
	for _, p := range planned {
		f := get(p.ID)
		f.PlannedFault, f.planned, f.targets = p, true, splitHosts(p.Target)
	}
	for i := range events {
		e := &events[i]
		if e.Fault == "" {
			continue
		}
		switch e.Op {
		case history.OpTrigger, history.OpFaultInject, history.OpFaultVerify, history.OpFaultHeal, history.OpFaultHealVerify, history.OpFaultUnsupported, history.OpFaultMissed, history.OpFaultAim:
			get(e.Fault).add(e)
		}
	}
	slices.SortStableFunc(all, func(a, b *fault) int { return cmp.Compare(a.order(), b.order()) })
	return all
}

func (f *fault) add(e *history.Event) {
	f.events = append(f.events, *e)
	if e.Op == history.OpTrigger {
		f.trigger = e
		return
	}
	if e.Mode != "" {
		f.Kind = e.Mode
	}
	if e.Target != "" { // what was hit, where the plan may only have named a role
		f.Target, f.targets = e.Target, splitHosts(e.Target)
	}
	if e.Session != 0 && (e.Op == history.OpFaultInject || e.Op == history.OpFaultVerify) {
		f.session = e.Session
	}
	if e.Op == history.OpFaultAim {
		if e.Value == 1 {
			f.Role = RoleLeader
		}
		return
	}
	if e.Kind == history.Fail || e.Kind == history.Info {
		f.detail = e.Detail
	}
	switch e.Op {
	case history.OpFaultUnsupported:
		f.unsupported = true
		return
	case history.OpFaultMissed:
		f.missed = true
		return
	}
	at := map[string]*int64{
		history.OpFaultInject: &f.injected, history.OpFaultVerify: &f.verified,
		history.OpFaultHeal: &f.healed, history.OpFaultHealVerify: &f.healVerified,
	}[e.Op]
	switch {
	case e.Op == history.OpFaultInject && e.Kind == history.Invoke:
		f.requested = e.At
	case e.Kind == history.OK && *at == history.None:
		*at = e.At
	}
}

// order puts faults in order of injection, or of the request if it came to none.
func (f *fault) order() int64 {
	switch {
	case f.injected != history.None:
		return f.injected
	case f.requested != history.None:
		return f.requested
	}
	return math.MaxInt64
}

// cause is what the fault's damage is put down to.
func (f *fault) cause() string { return cmp.Or(f.Cause, f.Kind) }

// began is the first that is known of f: nothing of it happened before.
func (f *fault) began() int64 {
	at := f.order()
	if f.requested != history.None {
		at = min(at, f.requested)
	}
	if f.trigger != nil {
		at = min(at, f.trigger.At)
	}
	return at
}

// neverHappened is since when it is known that f was not injected and will not be, None if that
// cannot be said.
func (f *fault) neverHappened() int64 {
	known := history.None
	for i := range f.events {
		e := &f.events[i]
		switch e.Op {
		case history.OpFaultInject, history.OpFaultUnsupported, history.OpFaultMissed:
			if f.injected == history.None && e.Kind != history.Invoke {
				known = max(known, e.At)
			}
		}
	}
	return known
}

// hits reports whether host was among those that the fault struck.
func (f *fault) hits(host string) bool { return host != "" && slices.Contains(f.targets, host) }

// until is when the fault was over: healed, or never.
func (f *fault) until() int64 {
	if f.healed == history.None {
		return math.MaxInt64
	}
	return f.healed
}

// effect is from when to when f did harm, as far as is known.
func (f *fault) effect() (from, until int64) {
	from, until = f.injected, f.until()
	if from == history.None {
		from = f.began()
	}
	switch {
	case !f.lingers() || until == math.MaxInt64:
	case f.healVerified == history.None:
		until = math.MaxInt64
	default:
		until = max(until, f.healVerified)
	}
	return from, until
}

// certain reports whether f was seen to do what it was to.
func (f *fault) certain() bool { return f.injected != history.None && f.verified != history.None }

// possible reports whether f did, or perhaps did, what it was to: an injection that failed may have taken
// hold all the same.
func (f *fault) possible() bool { return !f.missed && !f.unsupported && f.began() != math.MaxInt64 }

// seen is when f was seen to have done what it was to, or else the last that is known of it.
func (f *fault) seen() int64 {
	last := f.verified
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
			ID: f.ID, Kind: f.Kind, Target: f.Target, Detail: f.detail, Unsupported: f.unsupported,
			RequestedNs: instant(f.requested), InjectedNs: instant(f.injected), HealedNs: instant(f.healed),
			Verified: f.verified != history.None, HealVerified: f.healVerified != history.None,
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
