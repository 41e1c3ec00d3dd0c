package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"locklab/chaos"
	"locklab/harness/settings"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// setting returns the part of the scenario that faults depend on.
func (s *Scenario) setting() *chaos.Setting {
	return &chaos.Setting{Servers: s.Servers, Clients: s.Clients, ClientProcesses: s.ClientProcesses,
		ClientsPerProcess: s.ClientsPerProcess(), Duration: s.Duration, Timeout: s.Negotiated(), Tick: s.Tick,
		Deposed: time.Duration(s.SyncLimit) * s.Tick, Locks: s.Locks, Stay: s.Placement == PlacementOwnFollower,
		Workload: s.Workload, Points: s.Points(), Sectionless: s.Section == SectionNone,
		Recipe: s.Recipe, TokenRecipe: lock.Default(s.Workload),
		Supersedes: s.HasTokens() || s.Workload != workloads.Semaphore,
		OwnSession: func(process int) string {
			if r := s.RecipeOf(process); r.Foreign {
				return r.Name
			}
			return ""
		}}
}

// FaultSetting returns the part of the scenario that its faults depend on.
func (s *Scenario) FaultSetting() chaos.Setting { return *s.setting() }

// planned returns the faults that the scenario names, and how others are drawn.
func (s *Scenario) planned() *chaos.Planned {
	return &chaos.Planned{Faults: s.Faults, Schedule: s.Schedule, Seed: s.Seed, Interval: s.FaultInterval,
		Length: s.FaultLength, Kinds: s.FaultKinds}
}

// Plan resolves the schedule: a function of the scenario, its seed and what is supported. Kinds of faults whose
// capability is in lacking are not drawn.
func (s *Scenario) Plan(lacking map[string]string) chaos.Plan {
	return s.planned().Plan(s.setting(), lacking)
}

// Drawn reports whether faults are drawn from the seed.
func (s *Scenario) Drawn() bool { return s.planned().Drawn() }

// HasFaults reports whether the scenario has faults.
func (s *Scenario) HasFaults() bool { return len(s.Faults) > 0 || s.Drawn() }

// Points returns the points of a critical section at which a victim can be stopped, the usual one first.
func (s *Scenario) Points() []string {
	switch s.Workload {
	case workloads.ReadWrite:
		return []string{chaos.TriggerReadWrite, chaos.TriggerWrite, chaos.TriggerReads, chaos.TriggerHold}
	case workloads.Semaphore:
		return []string{chaos.TriggerReads, chaos.TriggerHold}
	}
	return []string{chaos.TriggerReadWrite, chaos.TriggerWrite, chaos.TriggerHold}
}

// Needs lists what a machine must be able to do for the faults that the scenario names.
func (s *Scenario) Needs() []string {
	var all []string
	for _, f := range s.Faults {
		all = append(all, f.Capabilities()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Lacking returns a message for each fault that needs a capability in lacking, which has the reasons by capability.
// Each message names the place where the fault's kind was given.
func (s *Scenario) Lacking(lacking map[string]string) []string {
	var all []string
	for i, f := range s.Faults {
		for _, c := range f.Capabilities() {
			if reason, lacks := lacking[c]; lacks {
				all = append(all, s.at(f.String()+" needs "+c, reason, faultOrigin(i, "kind")).Error())
			}
		}
	}
	return all
}

// faultOrigin names a fault's key in origins.
func faultOrigin(i int, key string) string { return fmt.Sprintf("faults[%d].%s", i, key) }

// faults checks that each fault has only keys of its kind, checks it against the lab, the run and the other faults, and
// then checks what faults are drawn from.
func (v *validator) faults() {
	s := v.setting()
	for i, f := range v.Faults {
		for _, k := range chaos.FaultKeys() {
			if _, given := v.origins[faultOrigin(i, k.Name)]; given {
				v.refuseValue(faultOrigin(i, k.Name), chaos.KindOf(f.Kind).Misplaced(k.Name))
			}
		}
		v.refuseFault(i, s.Check(f))
		if v.RoundTrip.Relayed && chaos.KindOf(f.Kind).Relayed != nil {
			v.refuse(by(faultOrigin(i, "kind"), "round-trip"), "drop one of the two",
				"with round-trip, relays delay what clients send all the time, and a %s would add to that", f.Kind)
		}
		if f.Trigger != "" && v.Section == SectionNone {
			v.refuse(by(faultOrigin(i, "trigger"), "section"), "section: counter, or at: a time",
				"with section none, no client comes to %s", f.Trigger)
		}
	}
	for i, f := range v.Faults {
		for _, g := range v.Faults[:i] {
			v.refuseFault(i, s.CheckTogether(f, g))
		}
	}
	v.upgrades()
	v.refuseFault(0, v.planned().Check(s))
}

// refuseFault reports what is wrong with the i-th fault.
func (v *validator) refuseFault(i int, problems []chaos.Problem) {
	for _, p := range problems {
		var keys []string
		for _, k := range p.Keys {
			keys = append(keys, faultOrigin(i, k))
		}
		v.refuse(append(keys, p.Settings...), p.Hint, "%s", p.Msg)
	}
}

// faultValues checks each value of the faults by itself.
func (v *validator) faultValues() {
	for i, f := range v.Faults {
		for _, k := range f.Keys() {
			v.refuseValue(faultOrigin(i, k.Key), f.Check(k.Key))
		}
	}
}

// faults reads the faults of a file.
func (l *loader) faults(at *token.Token, v ast.Node) {
	for i, entry := range l.list("faults", at, v, chaos.MaxFaults, "entries that begin with \"- kind: \"") {
		m, ok := entry.(*ast.MappingNode)
		if !ok {
			hint := "keys: " + strings.Join(settings.Names(chaos.FaultKeys()), ", ")
			l.refuse(entry.GetToken(), "a fault is a mapping, not "+kindOf(entry), hint)
			continue
		}
		l.fault(i, m)
	}
}

func (l *loader) fault(i int, m *ast.MappingNode) {
	start := m.GetToken()
	if len(m.Values) > 0 {
		start = m.Values[0].Key.GetToken()
	}
	l.note(fmt.Sprintf("faults[%d]", i), l.origin(start))
	// The kind says which keys there can be, so it is read first.
	var f chaos.Fault
	set := func(key string, v ast.Node) {
		text, ok := l.scalar(v, named(key))
		if !ok || chaos.KindOf(f.Kind).Misplaced(key) != nil {
			return // Validate refuses a key that the kind does not have, with all other contradictions
		}
		if err := f.Set(key, text); err != nil {
			l.refuseValue(v.GetToken(), err)
		}
	}
	var given []string
	var rest []func()
	l.entries(m, settings.Names(chaos.FaultKeys()), "key of a fault", func(key string, at *token.Token, v ast.Node) {
		l.note(faultOrigin(i, key), l.origin(at))
		given = append(given, key)
		if key == "kind" {
			set(key, v)
			return
		}
		rest = append(rest, func() { set(key, v) })
	})
	for _, set := range rest {
		set()
	}
	for _, key := range chaos.FaultKeys()[:2] { // kind and target
		if !slices.Contains(given, key.Name) {
			hint := chaos.Values(key)
			if key.Choices != nil {
				hint = "one of " + hint
			}
			l.refuse(start, "a fault without "+key.Name, hint)
		}
	}
	l.oneOf(start, m, given, "at", "trigger")
	if !f.Momentary() {
		l.oneOf(start, m, given, "for", "until")
	}
	l.Faults = append(l.Faults, f)
}

// oneOf refuses a fault that has none or both of the keys.
func (l *loader) oneOf(start *token.Token, m *ast.MappingNode, given []string, a, b string) {
	hasA, hasB := slices.Contains(given, a), slices.Contains(given, b)
	switch {
	case !hasA && !hasB:
		l.refuse(start, "a fault with neither "+a+" nor "+b, "give one of the two")
	case hasA && hasB:
		for _, entry := range m.Values {
			if at := entry.Key.GetToken(); at.Value == b {
				l.refuse(at, "a fault with both "+a+" and "+b, "give one of the two")
			}
		}
	}
}
