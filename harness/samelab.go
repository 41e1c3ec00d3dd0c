package harness

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/scenario"
)

// labKeys are the keys of a scenario that are settings of its lab. The number of client processes is none,
// because a lab can have more hosts than a run uses.
var labKeys = []string{"lab", "servers", "storage", "tick", "init-limit", "sync-limit", "min-session-timeout", "max-session-timeout", "heap", "observer", "client-image"}

// labSettings returns what scenarios must have in common to be run in one lab. lacking has what this machine is
// known not to be able to do.
func labSettings(sc *scenario.Scenario, lacking map[string]string) string {
	var all []string
	for _, key := range labKeys {
		all = append(all, key+"="+sc.Text(key))
	}
	// Servers whose clocks can be set are started in another way, and what a lab cannot do is found out as it opens.
	all = append(all, fmt.Sprint("needs=", sc.Needs(), sc.Drawn(), stepsClocks(sc, lacking)))
	// Hosts of recipes that are not ours are equipped for them, one by one.
	if sc.Foreign() {
		all = append(all, "recipe="+sc.Recipe, "client-processes="+strconv.Itoa(sc.ClientProcesses))
	}
	return strings.Join(all, "\n")
}

// stepsClocks reports whether a server's clock is to be set.
func stepsClocks(sc *scenario.Scenario, lacking map[string]string) bool {
	return slices.ContainsFunc(sc.Plan(lacking).Steps, func(p scenario.PlannedFault) bool { return p.Fault.Kind == scenario.FaultClockStep })
}

// sharesLab reports whether a scenario can be run in the lab that was made for another: a fresh one of its own would have the
// same servers, and client hosts that differ in nothing but that there may be fewer. Directories whose sequence
// numbers run out are prepared once, for a lab's first run.
func sharesLab(made, sc *scenario.Scenario, lacking map[string]string) bool {
	return made.SequenceLeft == 0 && sc.SequenceLeft == 0 && sc.ClientProcesses <= made.ClientProcesses && labSettings(made, lacking) == labSettings(sc, lacking)
}
