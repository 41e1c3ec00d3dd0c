package scenario

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"locklab/harness/settings"
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
