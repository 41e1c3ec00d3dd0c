package scenario

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"locklab/harness/check/counters"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
	"locklab/workloads"
)

// Validate refuses a scenario that cannot be carried out, or that cannot have the outcome it expects. The error joins
// an [*InputError] for each contradiction, with the flag or the place in the file that it came from. Validate does not
// look at this machine, so it does not know which kinds of labs work here.
func (s *Scenario) Validate() error {
	v := &validator{Scenario: s}
	v.values()
	if len(v.errs) == 0 { // contradictions between invalid values would only distract
		v.otherKeys()
		v.recipes()
		v.rules()
		v.faults()
		v.expectations()
		v.thresholds()
	}
	return join(v.errs)
}

// A validator collects what is wrong with a scenario.
type validator struct {
	*Scenario
	errs []*InputError
}

// refuse reports a contradiction between keys; the first one is at fault.
func (v *validator) refuse(keys []string, hint, msg string, args ...any) {
	v.errs = append(v.errs, v.at(fmt.Sprintf(msg, args...), hint, keys...))
}

func by(keys ...string) []string { return keys }

// values checks each value by itself, because a scenario made by code has not been through Load.
func (v *validator) values() {
	for _, k := range allKeys() {
		if !k.optional && k.of(v.Scenario) || !k.IsZero(v.Scenario) {
			v.refuseValue(k.Name, k.read(Defaults(), k.Text(v.Scenario)))
		}
	}
	v.faultValues()
	v.blocks()
	v.wholeMilliseconds("session-timeout", v.SessionTimeout)
	v.wholeMilliseconds("tick", v.Tick)
	v.wholeMilliseconds("min-session-timeout", v.MinSessionTimeout)
	v.wholeMilliseconds("max-session-timeout", v.MaxSessionTimeout)
	if v.Heap%settings.MiB != 0 {
		v.refuse(by("heap"), "such as 256MiB", "heap of %s is not a whole number of MiB", v.Heap)
	}
}

func (v *validator) wholeMilliseconds(key string, d time.Duration) {
	if d%time.Millisecond != 0 {
		v.refuse(by(key), "ZooKeeper counts in milliseconds", "%s of %s is not a whole number of milliseconds",
			key, settings.FormatDuration(d))
	}
}

func (v *validator) refuseValue(key string, err error) {
	if err != nil {
		e := problem(err)
		v.refuse(by(key), e.Hint, "%s", e.Msg)
	}
}

// otherKeys refuses keys that only another workload has, or only another kind of schedule.
func (v *validator) otherKeys() {
	for _, k := range allKeys() {
		switch _, given := v.origins[k.Name]; {
		case !given || k.of(v.Scenario):
		case k.own && v.Connect != "":
			v.refuse(by(k.Name, "connect"), "drop it",
				"%s is a setting of servers that locklab starts, and connect names others", k.Name)
		case k.elsewhere && v.Connect == "":
			v.refuse(by(k.Name, "connect"), "connect: host:port, or drop it",
				"%s protects an ensemble that locklab did not start, and connect names none", k.Name)
		case k.drawn:
			v.refuse(by(k.Name, "schedule"), "schedule: random or swarm, or drop it",
				"%s is about random faults, and schedule %s has none", k.Name, v.Schedule)
		default:
			v.refuse(by(k.Name, "workload"), "workload: "+k.workload+", or drop it",
				"%s belongs to workload %s, not to %s", k.Name, k.workload, v.Workload)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// expectations checks that the outcomes that the scenario expects are possible.
func (v *validator) expectations() {
	for _, name := range sortedKeys(v.Shown) {
		v.shown(name)
	}
	v.conditions()
	if v.readsOnly() {
		v.harmless()
	}
}

// countedBy returns the check that counts a counter; empty for a number that is not a counter.
func countedBy(counter string) string {
	for _, c := range counters.All() {
		if c.Name == counter {
			return c.Check
		}
	}
	return ""
}

// shown checks that a counter can reach the number that it must reach.
func (v *validator) shown(counter string) {
	key := "shown." + counter
	if countedBy(counter) == evidence.Effect && v.Section == SectionNone {
		v.refuse(by(key, "section"), "section: counter",
			"section none leaves the resource alone, so there are no %s to show", counter)
	}
	ofTokens := counter == counters.StaleAccepted || counter == counters.StaleRejected
	if ofTokens && !v.HasTokens() {
		v.refuse(by(key, "recipe"), v.withTokens(),
			"%s cannot be counted without tokens, and recipe %s gives none", counter, v.Recipe)
		return
	}
	if counter == counters.StaleRejected {
		if !v.Protection().RefusesStale() {
			v.refuse(by(key, "guard"), "guard: fencing", "guard %s rejects nothing", v.Guard)
		}
		return
	}
	if workload := metricsOfWorkload[counter]; workload != "" && workload != v.Workload {
		v.refuse(by(key, "workload"), "workload: "+workload, "workload %s has no %s to show", v.Workload, counter)
		return
	}
	damaged := countedBy(counter)
	if damaged == evidence.Effect && v.Protection().RefusesStale() {
		v.refuse(by(key, "guard"), "guard: none, or drop it from shown",
			"guard %s leaves no %s to show", v.Guard, counter)
	}
	if v.Expect[damaged] == ExpectPass {
		v.refuse(by("expect."+damaged, key), damaged+": fail", "%s must pass, but %s must be shown", damaged, counter)
	}
}

// harmless refuses to expect damage of clients that only read.
func (v *validator) harmless() {
	const msg, hint = "%s must %s, but no client writes with a read-share of 1", "read-share: 0.9"
	for _, name := range [...]string{evidence.ServiceExclusion, evidence.BeliefExclusion, evidence.Effect} {
		if v.Expect[name] == ExpectFail {
			v.refuse(by("expect."+name, "read-share"), hint, msg, name, "fail")
		}
	}
	for _, name := range sortedKeys(v.Shown) {
		v.refuse(by("shown."+name, "read-share"), hint, msg, name, "be shown")
	}
}

// Warnings says what will be done, but differently from what the user may expect. Warnings are part of the result.
func (s *Scenario) Warnings() []string {
	var list []string
	warn := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if t := s.Negotiated(); t != s.SessionTimeout {
		lo, hi := s.SessionLimits()
		warn("session-timeout of %s becomes %s: the servers allow %s to %s",
			settings.FormatDuration(s.SessionTimeout), settings.FormatDuration(t), settings.FormatDuration(lo),
			settings.FormatDuration(hi))
	}
	if s.Workload == workloads.Semaphore && s.Units > 1 && s.Wait == 0 {
		for _, r := range s.Recipes() {
			if r.OneByOne {
				warn("recipe %s takes %d units one by one, so clients may wait for each other forever, "+
					"and without wait none gives up", r.Name, s.Units)
			}
		}
	}
	if s.Workload == workloads.MultiLock && !s.Ordered && s.LocksAtOnce > 1 && s.Wait == 0 {
		warn("clients that take locks in any order may deadlock, and without wait none gives up")
	}
	if rate, most := s.overload(); rate > 0 {
		warn("the rate reaches %s per second, but %d locks can be held only %s times per second for %s each, "+
			"so the rest will be dropped",
			settings.FormatNumber(rate), s.Locks, settings.FormatNumber(math.Floor(most)), s.Hold)
	}
	list = append(list, s.planned().Warnings(s.setting())...)
	return list
}
