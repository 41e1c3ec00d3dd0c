package run

import (
	"testing"

	"locklab/chaos"
	"locklab/harness/check/evidence"
	"locklab/workloads/control"
	"locklab/workloads/guard"
)

// The checks have the scenarios' names for guards, and scenarios have the clients' names for points of a critical
// section.
func TestNamesAgree(t *testing.T) {
	for a, b := range map[string]string{
		evidence.GuardFencing: guard.Fencing, evidence.GuardZKMulti: guard.ZKMulti,
		chaos.TriggerReadWrite: control.BetweenReadAndWrite, chaos.TriggerReads: control.BetweenReads,
		chaos.TriggerWrite: control.BeforeWrite,
	} {
		if a != b {
			t.Errorf("%q is %q elsewhere", a, b)
		}
	}
}
