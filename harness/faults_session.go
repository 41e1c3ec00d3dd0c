package harness

import (
	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/scenario"
	"locklab/workloads/client"
)

// sessionFaults make the faults that do harm to sessions.
var sessionFaults = map[string]constructor{
	scenario.FaultExpireSession: onEach(func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error) {
		return chaos.ExpireSession{ByClient: r.byClient(s, h, client.StrikeExpire, client.FormatDisarm(s.id))}, nil
	}),
	scenario.FaultMoveClient: onEach(func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error) {
		return chaos.MoveClient{ByClient: r.byClient(s, h, client.StrikeMove, client.FormatSettle(s.id))}, nil
	}),
	scenario.FaultMute: onEach(func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error) {
		return chaos.Mute{ID: s.id, Host: h, Clients: r.clientHosts(), Ensemble: r.stage.ensemble}, nil
	}),
}

// byClient has a client of a process do harm to its session, at once or at the trigger's point.
func (r *run) byClient(s strike, h *ensembles.Host, action, undo string) chaos.ByClient {
	do := client.FormatStrike(s.id, action, s.of(h))
	if s.Trigger != "" {
		do = client.FormatArmTo(s.id, s.Trigger, action)
	}
	return chaos.ByClient{ID: s.id, Host: h, Do: do, Undo: undo, Witness: r.live, Ensemble: r.stage.ensemble}
}
