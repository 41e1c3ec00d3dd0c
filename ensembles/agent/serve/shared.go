package serve

import (
	"fmt"
	"net/netip"

	"locklab/ensembles/agent"
)

// errShared is the refusal to change the network of the machine.
var errShared = fmt.Errorf("%w: %s", agent.ErrUnsupported, agent.SharedNetwork()[agent.CapNetAdmin])

// shareNetwork makes the agent refuse everything that would change the network of the machine. Relays still delay what
// passes through them.
func (a *server) shareNetwork() {
	a.firewall.apply = func(next map[string]agent.Block, _ string) error {
		if len(next) > 0 {
			return errShared
		}
		return nil
	}
	a.delays.netem = func(_, next map[netip.Addr]agent.Delay) error {
		if len(next) > 0 {
			return errShared
		}
		return nil
	}
}

// reset ends the host's connections with the peers.
func (a *server) reset(peers []netip.Addr) (agent.Connections, error) {
	if a.cfg.Surroundings != nil {
		return agent.Connections{}, errShared
	}
	return reset(a.rec, peers)
}
