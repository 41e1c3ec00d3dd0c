package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Validate refuses everything that cannot be done, or cannot come out as the
// scenario expects. The error joins an [*InputError] for each contradiction, at
// the flag or the place in the file that it came from. It does not know this
// machine: whether a kind of lab works here is for the engine to say.
func (s *Scenario) Validate() error {
	v := &validator{Scenario: s}
	v.values()
	if len(v.errs) == 0 { // contradictions between nonsense are noise
		v.load()
		v.arrivals()
		v.sessions()
		v.section()
		v.workload()
		v.servers()
		v.faults()
		v.expectations()
		v.thresholds()
	}
	slices.SortStableFunc(v.errs, func(a, b *InputError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return join(v.errs)
}

// A validator collects what is wrong with a scenario.
type validator struct {
	*Scenario
	errs []*InputError
}

// refuse reports a contradiction between the keys, the offender first.
func (v *validator) refuse(keys []string, hint, msg string, args ...any) {
	v.errs = append(v.errs, v.at(fmt.Sprintf(msg, args...), hint, keys...))
}

func by(keys ...string) []string { return keys }

// values checks each value by itself: a scenario can be made by code too.
func (v *validator) values() {
	for _, k := range keys {
		field := k.field(v.Scenario)
		var err error
		_, isRecipe := field.(recipeValue)
		switch n, isNumber := field.(number); {
		case len(k.Values) > 0 && !isRecipe:
			err = choose(field.String(), k.Values)
		case isNumber:
			err = bounded(k, n)
		default:
			scratch := Defaults()
			err = k.field(scratch).Set(field.String())
		}
		v.refuseValue(k.Name, err)
	}
	for i := range v.Faults {
		f := &v.Faults[i]
		for _, key := range faultKeys {
			if key.present(f) {
				v.refuseValue(faultOrigin(i, key.name), key.field(f).Set(key.field(f).String()))
			}
		}
	}
	for _, name := range sortedKeys(v.Expect) {
		if !slices.Contains(checks, name) {
			v.refuse(by("expect."+name, "expect"), didYouMean(name, checks), "unknown check %s", quote(name))
		}
		v.refuseValue("expect."+name, choose(v.Expect[name], expectations))
	}
	for _, name := range sortedKeys(v.Shown) {
		if !slices.Contains(counters, name) {
			v.refuse(by("shown."+name, "shown"), didYouMean(name, counters), "unknown counter %s", quote(name))
		}
		if n := v.Shown[name]; n < 1 || n > 1_000_000_000 {
			v.refuse(by("shown."+name), "from 1 to 1000000000", "%s of %d shows nothing", name, n)
		}
	}
	for _, k := range [...]string{"session-timeout", "tick", "min-session-timeout", "max-session-timeout"} {
		key, _ := findKey(k)
		if d := time.Duration(key.field(v.Scenario).(number).get()); d%time.Millisecond != 0 {
			v.refuse(by(k), "ZooKeeper counts in milliseconds", "%s of %s is no whole number of milliseconds", k, formatDuration(d))
		}
	}
	if v.Heap%MiB != 0 {
		v.refuse(by("heap"), "such as 256MiB", "heap of %s is no whole number of MiB", v.Heap)
	}
}

func (v *validator) refuseValue(key string, err error) {
	if err != nil {
		e := err.(*valueError)
		v.refuse(by(key), e.hint, "%s", e.msg)
	}
}

// load checks who does what, and for how long.
func (v *validator) load() {
	if v.Clients < v.ClientProcesses {
		v.refuse(by("clients", "client-processes"), "at least one client in each process",
			"%d clients for %d client processes", v.Clients, v.ClientProcesses)
	}
	if v.VictimAlone && v.ClientProcesses == 1 && v.Clients > 1 {
		v.refuse(by("victim-alone", "client-processes"), "client-processes: 2 or more",
			"victim-alone leaves no process for the other %d clients", v.Clients-1)
	}
	switch {
	case v.Duration > 0 && v.Iterations > 0:
		v.refuse(by("iterations", "duration"), "give one of the two", "both duration and iterations say when the run ends")
	case v.Duration == 0 && v.Iterations == 0:
		v.refuse(by("duration", "iterations"), "duration: 20s, or iterations: 100 for each client", "nothing says when the run ends")
	}
	if v.Duration > 0 && v.Hold.Mean() >= v.Duration {
		v.refuse(by("hold", "duration"), "a shorter hold or a longer duration",
			"a hold of %s does not fit into a run of %s", distributionValue{&v.Hold}, formatDuration(v.Duration))
	}
	if most := int64(v.Clients) * int64(v.Iterations); v.Iterations > 0 && int64(v.MinAcquired) > most {
		v.refuse(by("min-acquired", "iterations", "clients"), "at most clients × iterations",
			"min-acquired of %d, where %d clients acquire %d times in all", v.MinAcquired, v.Clients, most)
	}
}

// servers checks the ensemble's settings against each other.
func (v *validator) servers() {
	lo, hi := v.SessionLimits()
	if lo > hi {
		v.refuse(by("min-session-timeout", "max-session-timeout", "tick"), "unset, they are 2 and 20 ticks",
			"min-session-timeout of %s is above max-session-timeout of %s", formatDuration(lo), formatDuration(hi))
	}
}

// expectations checks what is to be found against what can be.
func (v *validator) expectations() {
	for _, name := range sortedKeys(v.Shown) {
		key := "shown." + name
		switch name {
		case ShownStaleAccepted, ShownStaleRejected:
			if !v.HasTokens() {
				v.refuse(by(key, "recipe"), "a recipe with tokens, such as "+defaultRecipe(v.Workload),
					"%s cannot be told without tokens, and recipe %s gives none", name, v.Recipe)
				continue
			}
		}
		if name == ShownStaleRejected && !v.refusesStale() {
			v.refuse(by(key, "guard"), "guard: fencing", "guard %s rejects nothing", v.Guard)
		}
		if workload := metricsOfWorkload[name]; workload != "" && workload != v.Workload {
			v.refuse(by(key, "workload"), "workload: "+workload, "workload %s has no %s to be shown", v.Workload, name)
			continue
		}
		if name == ShownLostUpdates && v.Workload == WorkloadSemaphore {
			v.refuse(by(key, "workload"), "shown: crowded", "nobody writes under permits, so no updates are lost")
		}
		if name != ShownOverlaps && name != ShownStaleRejected && v.refusesStale() {
			v.refuse(by(key, "guard"), "guard: none, or drop it from shown", "guard %s leaves no %s to be shown", v.Guard, name)
		}
		check := CheckEffect
		switch name {
		case ShownOverlaps:
			check = CheckBeliefExclusion
		case ShownStaleRejected:
			continue // is as it should be
		}
		if v.Expect[check] == ExpectPass {
			v.refuse(by("expect."+check, key), check+": fail", "%s is to pass, but %s are to be shown", check, name)
		}
	}
	if v.Expect[CheckTokens] == ExpectFail && !v.HasTokens() {
		v.refuse(by("expect.tokens", "recipe"), "tokens: any", "recipe %s gives no tokens that could fail", v.Recipe)
	}
	v.harmless()
	if !slices.ContainsFunc(checks, func(name string) bool { return v.Expected(name) != ExpectAny }) && len(v.Shown) == 0 && len(v.Thresholds) == 0 {
		v.refuse(by("expect"), "drop one, or give thresholds", "every check may come out as any, and nothing is to be shown or kept to, so there is no verdict")
	}
	if v.Clients == 1 {
		for _, name := range [...]string{CheckServiceExclusion, CheckBeliefExclusion} {
			if v.Expect[name] == ExpectFail {
				v.refuse(by("expect."+name, "clients"), "clients: 2 or more", "%s is to fail, but one client cannot overlap", name)
			}
		}
		if v.Shown[ShownOverlaps] > 0 {
			v.refuse(by("shown.overlaps", "clients"), "clients: 2 or more", "overlaps are to be shown, but one client cannot overlap")
		}
	}
}

// harmless refuses damage that nobody is there to do.
func (v *validator) harmless() {
	if v.Expect[CheckEffect] == ExpectFail && v.Section == SectionNone {
		v.refuse(by("expect."+CheckEffect, "section"), "section: counter", "%s is to fail, but section none leaves the resource alone", CheckEffect)
	}
	if v.Workload != WorkloadReadWrite || v.ReadShare != 1 {
		return
	}
	const why = "nobody writes with a read-share of 1"
	for _, name := range [...]string{CheckServiceExclusion, CheckBeliefExclusion, CheckEffect} {
		if v.Expect[name] == ExpectFail {
			v.refuse(by("expect."+name, "read-share"), "read-share: 0.9", "%s is to fail, but %s", name, why)
		}
	}
	for _, name := range sortedKeys(v.Shown) {
		v.refuse(by("shown."+name, "read-share"), "read-share: 0.9", "%s are to be shown, but %s", name, why)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	var names []string
	for k := range m {
		names = append(names, k)
	}
	slices.SortFunc(names, strings.Compare)
	return names
}
