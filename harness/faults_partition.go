package harness

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/scenario"
	"locklab/workloads/resource"
)

// partitionFaults make the faults that keep packets from passing.
var partitionFaults = map[string]constructor{
	scenario.FaultPartition: ofLinks(partition),
}

// A linkFault is found when it strikes, by who leads then.
type linkFault func(ctx context.Context) (chaos.Fault, error)

// Inject implements chaos.Fault.
func (f linkFault) Inject(ctx context.Context) (*chaos.Harm, error) {
	fault, err := f(ctx)
	if err != nil {
		return nil, err
	}
	return fault.Inject(ctx)
}

// ofLinks makes faults of links.
func ofLinks(f func(ctx context.Context, r *run, s strike) (chaos.Fault, error)) constructor {
	return func(r *run, s strike) (chaos.Fault, error) {
		return linkFault(func(ctx context.Context) (chaos.Fault, error) { return f(ctx, r, s) }), nil
	}
}

// A hostLink is one way from a host to another.
type hostLink = chaos.Link[*ensembles.Host]

// partition cuts links, and has everything beside them looked at: what servers, clients
// and the resource have with the hosts that are cut off.
func partition(ctx context.Context, r *run, s strike) (chaos.Fault, error) {
	servers := r.stage.ensemble.Servers
	var links []hostLink
	var err error
	about := s.hosts
	switch s.Shape {
	case scenario.ShapeHalves:
		links, about = chaos.Halves(s.hosts[0], servers), servers
	case scenario.ShapeBridge:
		links, about = chaos.Bridge(s.hosts[0], servers), servers
	case scenario.ShapeRing:
		links, err = chaos.MajoritiesRing(servers)
		about = servers
	default:
		links, err = r.links(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	c := chaos.Cut{ID: s.id, Links: links, Ensemble: r.stage.ensemble}
	if s.Verdict == scenario.VerdictReject {
		c.Verdict = agent.Reject
	}
	for _, l := range chaos.Between(about, r.peers()) {
		// Clients have nothing to do with each other, nor servers with the resource.
		if r.talks(l) && !slices.Contains(links, l) && !slices.Contains(c.Pass, l) {
			c.Pass = append(c.Pass, l)
		}
	}
	return c, nil
}

// links are those between a strike's hosts and what they are cut off from, the ways that
// it says.
func (r *run) links(ctx context.Context, s strike) ([]hostLink, error) {
	from, err := r.from(ctx, s)
	if err != nil {
		return nil, err
	}
	switch s.Way {
	case scenario.WayIn:
		return chaos.OneWay(from, s.hosts), nil
	case scenario.WayOut:
		return chaos.OneWay(s.hosts, from), nil
	}
	return chaos.Between(s.hosts, from), nil
}

// from is the hosts at the other end of a strike's links; none of its own. There is one
// at least.
func (r *run) from(ctx context.Context, s strike) ([]*ensembles.Host, error) {
	var all []*ensembles.Host
	switch s.From {
	case scenario.FromClients:
		all = r.clientHosts()
	case scenario.FromLeader:
		leader, err := r.stage.ensemble.Leader(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", chaos.ErrNobody, err)
		}
		all = []*ensembles.Host{leader}
	default:
		all = r.stage.ensemble.Servers
	}
	all = slices.DeleteFunc(slices.Clone(all), func(h *ensembles.Host) bool { return slices.Contains(s.hosts, h) })
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: %s has no links to %s now", chaos.ErrNobody, s.Target, s.From)
	}
	return all, nil
}

// peers is everybody who talks to somebody.
func (r *run) peers() []*ensembles.Host {
	return append(slices.Concat(r.stage.ensemble.Servers, r.clientHosts()), r.stage.lab.Host(resourceHost))
}

// talks reports whether anything is ever sent over a link.
func (r *run) talks(l hostLink) bool {
	is := func(a, b ensembles.Role) bool {
		return l.From.Role == a && l.To.Role == b || l.From.Role == b && l.To.Role == a
	}
	return is(ensembles.Server, ensembles.Server) || is(ensembles.Server, ensembles.Client) || is(ensembles.Client, ensembles.Resource)
}

func (r *run) resourceAddress() netip.AddrPort {
	return netip.AddrPortFrom(r.stage.lab.Host(resourceHost).Address, resource.Port)
}
