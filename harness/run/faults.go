package run

import (
	"fmt"
	"strings"

	"locklab/chaos"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/workloads/control"
)

// faultRun returns the run as its faults see it.
func (r *run) faultRun() *chaos.Run {
	return &chaos.Run{Setting: r.sc.FaultSetting(), Seed: r.sc.Seed,
		Lab: r.stage.lab, Ensemble: r.stage.ensemble, Clients: r.clientHosts(), Lock: r.locks[0],
		Clock: r.stage.clock, Journal: r.rec, Witness: r.view, Roles: r.view, Sessions: r.view, Commands: commands{},
		Superseded: r.view.Superseded, Process: r.process, Relay: r.relayOf, Away: r.view.Absent}
}

// commands formats the lines by which client processes are told to stop, or to harm themselves otherwise.
type commands struct{}

// Arm and the methods below implement [chaos.Commands].
func (commands) Arm(fault, point, action string) string {
	if action == chaos.StrikeStop {
		return control.FormatArm(fault, point)
	}
	return control.FormatArmTo(fault, point, action)
}

func (commands) Strike(fault, action, of string) string {
	return control.FormatStrike(fault, action, of)
}

func (commands) Undo(fault, action string) string {
	if action == chaos.StrikeMove {
		return control.FormatSettle(fault)
	}
	return control.FormatDisarm(fault)
}

// unsupported refuses a scenario whose faults need a capability that the machine is known to lack.
func unsupported(sc *scenario.Scenario, lacking map[string]string) error {
	if all := sc.Lacking(lacking); all != nil {
		return fmt.Errorf("%w: %s", chaos.ErrUnsupported, strings.Join(all, "; "))
	}
	return nil
}

var (
	_ chaos.Witness  = (*watch.View)(nil)
	_ chaos.Roles    = (*watch.View)(nil)
	_ chaos.Sessions = (*watch.View)(nil)
	_ chaos.Journal  = (*history.Recorder)(nil)
)
