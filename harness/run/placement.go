package run

import (
	"context"
	"slices"

	"locklab/ensembles"
	"locklab/harness/scenario"
	"locklab/workloads/control"
)

// A placement is the order in which client processes list the servers. Sessions are dealt to the first ones, as many as
// pinned says; to all if it is 0. If they stay, they know no other server than their first.
type placement struct {
	servers []control.Server
	pinned  int
	stay    bool
}

// place finds out on which servers the scenario wants sessions. It goes by the present roles of the servers, so a later
// election moves no session.
func (r *run) place(ctx context.Context) (placement, error) {
	hosts := slices.Clone(r.stage.ensemble.Servers)
	p := placement{stay: r.sc.Placement == scenario.PlacementOwnFollower}
	if r.sc.Placement != scenario.PlacementSpread {
		leader, err := r.stage.ensemble.Leader(ctx)
		if err != nil {
			return p, err
		}
		leads := func(h *ensembles.Host) bool { return h == leader }
		hosts, p.pinned = pinned(hosts, leads, r.sc.Placement == scenario.PlacementLeader)
	}
	for _, h := range hosts {
		p.servers = append(p.servers, control.Server{Name: h.Name, Address: h.Server.String()})
	}
	return p, nil
}

// pinned puts the elements first for which leads is as wanted, and counts them. Each part keeps its order.
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
