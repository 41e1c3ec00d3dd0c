package rundir

import (
	"locklab/chaos"
	"locklab/harness/check"
)

// Planned returns the planned faults of a run as the checks need them.
func Planned(p chaos.Plan) []check.PlannedFault {
	var all []check.PlannedFault
	for _, s := range p.Steps {
		f := s.Fault
		one := check.PlannedFault{ID: s.ID, Kind: f.Kind, Target: string(f.Target), Drawn: s.Drawn,
			HitsHolder: f.HitsHolder(), HitsWaiter: f.HitsWaiter(),
			HitsHead: f.Target == chaos.TargetHeadWaiter, SparesServers: f.SparesServers(),
			HitsServer: f.HitsServer(), Delays: f.Delays(), OnlyReplies: f.OnlyReplies()}
		if !f.Target.IsHost() {
			one.Role, one.Target = string(f.Target), "" // the host is known only when the fault is injected
		}
		all = append(all, one)
	}
	return all
}
