package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
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

// Delays is by how much the fault delays each answer at least, as far as it is verified: without end if nothing passes.
func (f Fault) Delays() time.Duration {
	if p, ok := f.Params.(interface{ delays() time.Duration }); ok {
		return p.delays()
	}
	return 0
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
		leader, err := r.leader(ctx)
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

// ends are a host and the peers to which a fault disturbs its links.
type ends struct {
	id       string // of the fault, so that healing it leaves the rules of others alone
	host     *ensembles.Host
	peers    []*ensembles.Host
	ensemble *ensembles.Ensemble // must be whole after healing
}

func (e ends) links() []hostLink { return between([]*ensembles.Host{e.host}, e.peers) }

// ruled returns the fault that a block on the host makes. It is over when all packets pass again.
func (e ends) ruled(b agent.Block) linkFault {
	b.ID, b.Peers = e.id, addresses(e.peers)
	rules := []rule{blockOn(e.host, b)}
	return linkFault{rules: rules, struck: e.links(), ensemble: e.ensemble, free: func(ctx context.Context) error {
		return each(e.links(), func(l hostLink) error { return excuseWay(ctx, rules, l, mustPassWhole(ctx, l)) })
	}}
}

// toPeers makes an injector for every host of an injection and its peers. The peers are looked up when it injects,
// because they depend on the leader at that moment.
func toPeers(f func(*Run, injection, ends) (Injector, error)) func(*Run, injection) (Injector, error) {
	return func(r *Run, i injection) (Injector, error) {
		return deferred(func(ctx context.Context) (Injector, error) {
			peers, err := r.peersOf(ctx, i)
			if err != nil {
				return nil, err
			}
			return onEach(func(r *Run, i injection, h *ensembles.Host) (Injector, error) {
				return f(r, i, ends{i.id, h, peers, r.Ensemble})
			})(r, i)
		}), nil
	}
}
