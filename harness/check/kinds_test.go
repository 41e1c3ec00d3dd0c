package check

import (
	"slices"
	"testing"

	"locklab/harness/scenario"
)

// The kinds that the rules know are scenarios' kinds, by their names.
func TestKindsAreScenarios(t *testing.T) {
	known := []string{kindPause, kindKill, kindStop, kindRestart, kindCrashLoop, kindRollingRestart, kindSlowDisk, kindPartition, kindReset,
		kindLoss, kindBandwidth, kindLatency, kindExpireSession, kindDeleteNode, kindDeleteParent}
	all := scenario.FaultKinds()
	for _, kind := range known {
		if !slices.ContainsFunc(all, func(k scenario.FaultKind) bool { return k.Name == kind }) {
			t.Errorf("no scenario can name %s", kind)
		}
	}
	// What is left neither keeps a leader from hearing of sessions, nor ends sessions or deletes contenders' znodes.
	harmless := []string{scenario.FaultMute, scenario.FaultMoveClient, scenario.FaultClockStep, scenario.FaultForeignChildren}
	for _, k := range all {
		if slices.Contains(known, k.Name) == slices.Contains(harmless, k.Name) {
			t.Errorf("%s: say what it does to a leader, or to sessions and znodes", k.Name)
		}
	}
}
