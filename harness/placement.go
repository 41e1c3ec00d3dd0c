package harness

import (
	"context"
	"net/netip"
	"slices"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/scenario"
	"locklab/workloads/client"
)

// A placement is the order in which client processes have the servers, of which sessions are dealt
// to the first ones; to all if pinned is 0.
type placement struct {
	servers []client.Server
	pinned  int
}

// place finds out where the scenario wants sessions to be made. Roles are those of now: an election
// later moves nobody.
func (r *run) place(ctx context.Context) (placement, error) {
	hosts := slices.Clone(r.stage.ensemble.Servers)
	var p placement
	if r.sc.Placement != scenario.PlacementSpread {
		leader, err := r.stage.ensemble.Leader(ctx)
		if err != nil {
			return p, err
		}
		leads := func(h *ensembles.Host) bool { return h == leader }
		hosts, p.pinned = pinned(hosts, leads, r.sc.Placement == scenario.PlacementLeader)
	}
	for _, h := range hosts {
		p.servers = append(p.servers, client.Server{Name: h.Name, Address: netip.AddrPortFrom(h.Address, agent.ClientPort).String()})
	}
	return p, nil
}

// pinned puts those first of which leads is as wanted, each part in its order, and counts them.
func pinned[T any](all []T, leads func(T) bool, wanted bool) ([]T, int) {
	var first, rest []T
	for _, h := range all {
		if leads(h) == wanted {
			first = append(first, h)
		} else {
			rest = append(rest, h)
		}
	}
	return append(first, rest...), len(first)
}
