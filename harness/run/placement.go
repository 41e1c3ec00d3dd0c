package run

import (
	"context"
	"fmt"
	"slices"

	"locklab/ensembles"
	"locklab/harness/scenario"
)

// A placement is the order in which client processes list the servers. Sessions are dealt to the first ones, as many as
// pinned says; to all if it is 0. If they stay, they know no other server than their first.
type placement struct {
	servers []*ensembles.Host
	pinned  int
	stay    bool
}

// place finds out on which servers the scenario wants sessions. It goes by the present roles of the servers, so a later
// election moves no session.
func (r *run) place(ctx context.Context) (placement, error) {
	hosts := slices.Clone(r.stage.ensemble.Servers)
	p := placement{stay: r.sc.Placement == scenario.PlacementOwnFollower}
	if r.sc.Placement != scenario.PlacementSpread {
		roles, err := r.stage.ensemble.Roles(ctx)
		if err != nil {
			return p, err
		}
		wanted := []string{ensembles.RoleFollower} // and no observer
		if r.sc.Placement == scenario.PlacementLeader {
			wanted = []string{ensembles.RoleLeader, ensembles.RoleStandalone}
		}
		hosts, p.pinned = pinned(hosts, func(h *ensembles.Host) bool { return slices.Contains(wanted, roles[h.Name]) })
		if p.pinned == 0 {
			return p, fmt.Errorf("%w: placement %s: no server is a %s (roles: %v)", ErrBrokeOff, r.sc.Placement, wanted[0],
				roles)
		}
	}
	p.servers = hosts
	return p, nil
}

// pinned puts the elements first that are wanted, and counts them. Each part keeps its order.
func pinned[T any](all []T, wanted func(T) bool) ([]T, int) {
	var first, rest []T
	for _, h := range all {
		if wanted(h) {
			first = append(first, h)
		} else {
			rest = append(rest, h)
		}
	}
	return append(first, rest...), len(first)
}
