package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/chaos"
	"locklab/harness/check/counters"
	"locklab/harness/scenario"
	"locklab/workloads"
	"locklab/workloads/guard"
)

// mostClients is how many clients a scene can have: each has a stream of random numbers; see [sim.World.Stream].
const mostClients = 200

// Refuse refuses a scenario that cannot be simulated, and says why, key by key. It takes a scenario that is valid on
// other labs.
func Refuse(sc *scenario.Scenario) error {
	var errs []error
	refuse := func(wrong bool, key, hint, format string, args ...any) {
		if wrong {
			errs = append(errs, sc.Refuse(key, "lab sim "+fmt.Sprintf(format, args...), hint))
		}
	}
	refuse(sc.Connect != "", "connect", "drop one of the two", "has servers of its own")
	if all := sc.Recipes(); len(all) > 1 {
		refuse(true, "recipe", "one of them", "does not run several recipes beside each other")
	} else if why := Refusal(all[0]); why != "" {
		refuse(true, "recipe", "one of our own that takes one lock, such as mutex, rw or semaphore",
			"cannot run %s: %s", all[0].Name, why)
	}
	refuse(sc.Guard == guard.LeaseClock || sc.Guard == guard.ZKMulti, "guard", "guard: none, lost-context or fencing",
		"does not have guard %s", sc.Guard)
	refuse(sc.Section == scenario.SectionAppend, "section", "section: counter or none", "keeps no lists")
	refuse(sc.Clients > mostClients, "clients", fmt.Sprintf("at most %d", mostClients), "cannot have %d clients",
		sc.Clients)
	refuse(sc.ClientsPerSession > 1, "clients-per-session", "drop it", "gives each client a session of its own")
	refuse(sc.Placement != scenario.PlacementSpread, "placement", "placement: spread", "spreads sessions over all servers")
	refuse(sc.RoundTrip.Relayed, "round-trip", "drop it", "has no relays between clients and servers")
	refuse(sc.Arrivals != workloads.Closed, "arrivals", "arrivals: closed",
		"has no open loop, as it measures no latencies")
	refuse(sc.Duration == 0, "iterations", "a duration", "ends after a time and not after iterations")
	refuse(sc.DieShare > 0, "die-share", "drop it", "has no clients that die")
	refuse(sc.Term > 0, "term", "drop it", "has no terms")
	refuse(sc.Resize.Every > 0, "resize", "drop it", "does not resize semaphores")
	refuse(sc.MinSessionTimeout > 0, "min-session-timeout", "drop it", "has ZooKeeper's own limits of session timeouts")
	refuse(sc.MaxSessionTimeout > 0, "max-session-timeout", "drop it", "has ZooKeeper's own limits of session timeouts")
	refuse(sc.ZooKeeper != "", "zookeeper", "drop it", "has a model of the servers, and no versions of ZooKeeper")
	for i, t := range sc.Thresholds {
		counts := strings.HasPrefix(t.Metric, "operations.") || strings.HasPrefix(t.Metric, "failures.") ||
			slices.ContainsFunc(counters.All(), func(c counters.Counter) bool { return c.Name == t.Metric })
		refuse(!counts || t.Duration, fmt.Sprintf("thresholds[%d]", i),
			"a lab with real servers, or a threshold on a counter", "cannot judge %q: its times are those of its model", t)
	}
	errs = append(errs, refuseFaults(sc)...)
	return errors.Join(errs...)
}

// refuseFaults refuses the faults that no simulation has, those that are drawn included.
func refuseFaults(sc *scenario.Scenario) (errs []error) {
	named, seen := map[string]bool{}, map[string]bool{}
	for i, f := range sc.Faults {
		if why := refusedFault(f); why != "" {
			errs = append(errs, sc.Refuse(fmt.Sprintf("faults[%d].kind", i), "lab sim "+why, "a lab with real servers"))
		}
		named[f.Kind] = true
	}
	for _, s := range sc.Plan(nil).Steps {
		if why := refusedFault(s.Fault); s.Drawn && why != "" && !seen[why] {
			seen[why] = true
			errs = append(errs, sc.Refuse("schedule", fmt.Sprintf("lab sim %s (%s was drawn)", why, s.Fault.Does()),
				"fault-kinds: pause, kill or reset, or a lab with real servers"))
		}
	}
	return errs
}

// refusedFault says why a fault cannot be simulated; empty if it can.
func refusedFault(f chaos.Fault) string {
	i := slices.IndexFunc(kinds, func(k faultKind) bool { return k.name == f.Kind })
	keys := keysOf(f)
	switch {
	case i < 0:
		var names []string
		for _, k := range kinds {
			names = append(names, k.name)
		}
		return fmt.Sprintf("has no %s, only %s", f.Kind, strings.Join(names, ", "))
	case f.Target == chaos.TargetResource || f.Target == chaos.TargetAll:
		return fmt.Sprintf("has no faults of target %s", f.Target)
	case f.HitsClient() && !kinds[i].clients, f.HitsServer() && !kinds[i].servers:
		return fmt.Sprintf("has no %s of %s", f.Kind, f.Target)
	case f.Kind == kindPartition && (keys["shape"] != "" && keys["shape"] != "alone" || keys["verdict"] == "reject"):
		return "has only partitions of shape alone that drop what is sent"
	case f.Kind == kindReset && keys["from"] != chaos.FromServers:
		return "resets connections with all servers only"
	}
	return ""
}
