package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"locklab/ensembles"
)

// The far end of a fault's links.
const (
	// FromServers means the other servers for a server (clients still reach it), and all servers for a client process
	// (it still reaches the resource).
	FromServers = "servers"
	FromLeader  = "leader"  // the server that leads when the fault strikes
	FromClients = "clients" // all client processes
)

// LinkParams are the keys that faults of links have: partitions and faults of packets.
type LinkParams struct {
	From string `key:"from" help:"the far end of the links" enum:"servers,leader,clients" required:"true"`
}

func (p LinkParams) links() string { return p.From }

// linksOf returns the far end of a fault's links; empty if the fault does not strike links.
func linksOf(f Fault) string {
	if p, ok := f.Params.(interface{ links() string }); ok {
		return p.links()
	}
	return ""
}

// drawLinks draws the far end of a fault's links. A server that may be the leader is cut off from the other servers,
// because it has no link to itself.
func drawLinks(r *rand.Rand, f *Fault) LinkParams {
	from := []string{FromServers, FromLeader, FromClients}[r.IntN(3)]
	if from == FromLeader && f.HitsServer() && f.Target != TargetFollower && f.Target != TargetFollowers {
		from = FromServers
	}
	return LinkParams{from}
}

// checkLinks refuses a fault of links that do not exist.
func checkLinks(c *checker, f Fault) {
	from := linksOf(f)
	switch {
	case f.HitsClient() && from == FromClients:
		c.refuse(at("from", "target"), "from: "+FromServers, "clients have no links to each other")
	case f.HitsServer() && c.Servers == 1 && from != FromClients:
		c.refuse(at("target").and("servers"), "servers: 3 or 5", "a single server has no other servers to be cut off from")
	case f.Target == TargetLeader && from == FromLeader:
		c.refuse(at("from", "target"), "from: "+FromServers, "the leader has no link to itself")
	}
}

// A hostLink is one direction from a host to another.
type hostLink = link[*ensembles.Host]

// peersOf returns the hosts at the far end of an injection's links, at least one. None of them is one of its own
// hosts.
func (r *Run) peersOf(ctx context.Context, i injection) ([]*ensembles.Host, error) {
	var all []*ensembles.Host
	from := linksOf(i.Fault)
	switch from {
	case FromClients:
		all = r.Clients
	case FromLeader:
		leader, err := r.Ensemble.Leader(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNobody, err)
		}
		all = []*ensembles.Host{leader}
	default:
		all = r.Ensemble.Servers
	}
	isOwn := func(h *ensembles.Host) bool { return slices.Contains(i.hosts, h) }
	all = slices.DeleteFunc(slices.Clone(all), isOwn)
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: %s has no links to %s now", ErrNobody, i.Target, from)
	}
	return all, nil
}

// toPeers makes an injector for every host of an injection and its peers. The peers are looked up when it injects,
// because they depend on the leader at that moment.
func toPeers(
	f func(r *Run, i injection, h *ensembles.Host, peers []*ensembles.Host) (Injector, error),
) func(*Run, injection) (Injector, error) {
	return func(r *Run, i injection) (Injector, error) {
		return deferred(func(ctx context.Context) (Injector, error) {
			peers, err := r.peersOf(ctx, i)
			if err != nil {
				return nil, err
			}
			each := onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) { return f(r, i, h, peers) })
			return each(r, i)
		}), nil
	}
}
