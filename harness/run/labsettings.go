package run

import (
	"fmt"
	"strconv"
	"strings"

	"locklab/harness/scenario"
)

// labKeys are the keys of a scenario that are settings of its lab. The number of client processes is not among them,
// because a lab can have more hosts than a run uses.
var labKeys = []string{"lab", "connect", "connect-ca", "connect-cert", "connect-key", "connect-auth", "servers",
	"zookeeper", "storage", "tick", "sync-limit", "min-session-timeout", "max-session-timeout",
	"jvm", "heap", "observer", "client-image"}

// LabSettings returns a text that is the same for scenarios that can be run in one lab. lacking has the capabilities
// that this machine is known to lack.
func LabSettings(sc *scenario.Scenario, lacking map[string]string) string {
	var all []string
	for _, key := range labKeys {
		all = append(all, key+"="+sc.Text(key))
	}
	// Servers whose clocks can be set are started in another way, and a lab finds out as it opens what it cannot do.
	all = append(all, fmt.Sprint("needs=", sc.Needs(), sc.Drawn(), stepsClocks(sc, lacking)))
	for _, f := range sc.Faults {
		if v := f.Version(); v != "" {
			all = append(all, "to="+v)
		}
	}
	// Each client host of a recipe that is not built into locklab is equipped for that recipe.
	if sc.Foreign() {
		all = append(all, "recipe="+sc.Recipe, "client-processes="+strconv.Itoa(sc.ClientProcesses))
	}
	return strings.Join(all, "\n")
}

// stepsClocks reports whether a fault of the scenario steps the clock of a server.
func stepsClocks(sc *scenario.Scenario, lacking map[string]string) bool {
	return sc.Plan(lacking).StepsClock()
}

// sharesLab reports whether a scenario can be run in the lab that was made for another. A lab of its own would have the
// same servers and, apart from their number, the same client hosts. Scenarios that upgrade the servers do
// not share labs, because nothing brings the version before back.
func sharesLab(made, sc *scenario.Scenario, lacking map[string]string) bool {
	return !made.Upgrades() && !sc.Upgrades() &&
		sc.ClientProcesses <= made.ClientProcesses &&
		LabSettings(made, lacking) == LabSettings(sc, lacking)
}
