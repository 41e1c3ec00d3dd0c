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
	return join(v.errs)
}

// A validator collects what is wrong with a scenario.
type validator struct {
	*Scenario
	errs []*InputError
}

// refuse reports a contradiction between the keys, of which the first is at fault.
func (v *validator) refuse(keys []string, hint, msg string, args ...any) {
	v.errs = append(v.errs, v.at(fmt.Sprintf(msg, args...), hint, keys...))
}

func by(keys ...string) []string { return keys }

// values checks each value by itself, because a scenario made by code has not been through Load.
func (v *validator) values() {
	for _, k := range allKeys() {
		if !k.optional || !k.IsZero(v.Scenario) {
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

// load checks the clients, the processes that they run in, and when the run ends.
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
		v.refuse(by("duration", "iterations"), "duration: 20s, or iterations: 100 for each client",
			"neither duration nor iterations says when the run ends")
	}
	if v.Duration > 0 && v.Hold.Mean() >= v.Duration {
		v.refuse(by("hold", "duration"), "a shorter hold or a longer duration",
			"a hold of %s does not fit into a run of %s", v.Hold, settings.FormatDuration(v.Duration))
	}
	if most := int64(v.Clients) * int64(v.Iterations); v.Iterations > 0 && int64(v.MinAcquired) > most {
		v.refuse(by("min-acquired", "iterations", "clients"), "at most clients × iterations",
			"min-acquired is %d, but %d clients acquire only %d times in all", v.MinAcquired, v.Clients, most)
	}
}

// servers checks the ensemble's settings against each other.
func (v *validator) servers() {
	lo, hi := v.SessionLimits()
	if lo > hi {
		v.refuse(by("min-session-timeout", "max-session-timeout", "tick"), "unset, they are 2 and 20 ticks",
			"min-session-timeout of %s is above max-session-timeout of %s", settings.FormatDuration(lo),
			settings.FormatDuration(hi))
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
