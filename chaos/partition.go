package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
)

func partitionKind() Kind {
	return Kind{
		Name: "partition", Family: FamilyPartition, Targets: OnServer | OnClient | OnAll,
		Outage: true, Capability: agent.CapNetAdmin,
		Nature: evidence.FaultNature{Cause: causePartition, SilencesLeader: true},
		Does: "cuts the target off `from` the other servers, the leader or the clients, and leaves every other " +
			"link alone. `shape` cuts between servers instead: into `halves`, into two groups that only one " +
			"server, the `bridge`, can reach, or into a `ring` in which each server reaches a different " +
			"majority. `way` cuts one direction only (`in` or `out`). `verdict` says whether packets are " +
			"dropped (`drop`) or refused (`reject`)",
		Verified: "over each link that is cut, datagrams do not arrive and connections time out (or are refused); " +
			"over every other link, datagrams arrive; after healing, they arrive over all links and the ensemble " +
			"is whole",
		Examples: []string{"target: c1, from: servers", "target: zk1, from: servers",
			"target: leader, from: servers, shape: halves", "target: zk1, from: clients, way: in, verdict: reject"},
		Params: partitionParams{},
		draw:   drawPartition,
		check:  checkPartition,
		warn: func(s *Setting, f Fault) string {
			if !f.HitsServer() || f.Target == TargetFollower || s.resolve(f.For) > s.Deposed {
				return ""
			}
			return fmt.Sprintf("a leader that is cut off serves on for about %s (sync-limit × tick), so it may stay leader",
				settings.FormatDuration(s.Deposed))
		},
		injector: func(r *Run, i injection) (Injector, error) {
			return deferred(func(ctx context.Context) (Injector, error) { return r.partition(ctx, i) }), nil
		},
	}
}

// partitionParams are the keys that only a partition has.
type partitionParams struct {
	LinkParams
	Shape   string `key:"shape" help:"which links are cut; alone if not given" enum:"alone,halves,bridge,ring"`
	Way     string `key:"way" help:"the direction that is cut, seen from the target; both if not given" enum:"in,out"`
	Verdict string `key:"verdict" help:"whether packets vanish or are refused; drop if not given" enum:"drop,reject"`
}

// The shapes of a partition: which links it cuts.
const (
	shapeAlone  = "alone"  // those between the target and what it is cut off from
	shapeHalves = "halves" // those between two halves of the servers, with the target in the smaller one
	shapeBridge = "bridge" // those between two halves of the other servers: only the target reaches all
	shapeRing   = "ring"   // of all servers, each keeps its neighbours: each has a majority, no two the same
)

// The directions in which a partition can cut, seen from its target, if not both.
const (
	wayIn  = "in"
	wayOut = "out"
)

// verdictReject refuses new connections and resets open ones. Otherwise, packets vanish.
const verdictReject = "reject"

// OnlyReplies reports whether the fault cuts off what servers tell clients, and nothing that clients tell servers.
func (f Fault) OnlyReplies() bool {
	p, ok := f.Params.(partitionParams)
	if !ok || p.Verdict == verdictReject { // a refusal ends the connection at both ends
		return false
	}
	return f.HitsClient() && p.Way == wayIn || f.HitsServer() && p.From == FromClients && p.Way == wayOut
}

// drawPartition draws which links a partition cuts, and how. Most often it cuts the target's links in both
// directions, and packets vanish.
func drawPartition(r *rand.Rand, s *Setting, f *Fault) {
	p := partitionParams{LinkParams: drawLinks(r, f)}
	if r.IntN(4) == 0 {
		p.Verdict = verdictReject
	}
	switch n := r.IntN(10); {
	case n == 0:
		p.Way = wayIn
	case n == 1:
		p.Way = wayOut
	case n < 5 && f.Target.class() == OnServer && s.Servers > 1:
		p.From, p.Shape = FromServers, []string{shapeHalves, shapeBridge}[r.IntN(2)]
	case f.Target == TargetAll && s.Servers > 3:
		p.From, p.Shape = FromServers, shapeRing
	}
	f.Params = p
}

// checkPartition refuses a partition that cuts no link, or whose keys contradict each other.
func checkPartition(c *checker, f Fault) {
	p := params[partitionParams](f)
	checkLinks(c, f)
	if f.Target.class() == OnAll && p.From == FromServers && p.Shape != shapeRing && c.Servers > 1 {
		c.refuse(at("from", "target"), "shape: "+shapeRing+", or from: "+FromClients,
			"all servers cannot be cut off from all servers")
	}
	if p.Shape == "" || p.Shape == shapeAlone {
		return
	}
	if p.From != FromServers || p.Way != "" {
		c.refuse(at("shape", "from", "way"), "from: "+FromServers+", and no way",
			"shape %s cuts links between servers, in both directions", p.Shape)
	}
	switch {
	case p.Shape == shapeRing && f.Target.class() != OnAll:
		c.refuse(at("shape", "target"), "target: "+string(TargetAll), "a ring takes all servers, not %s", f.Target)
	case p.Shape == shapeRing && c.Servers < 5:
		c.refuse(at("shape").and("servers"), "servers: 5",
			"in a ring of %d servers every server still reaches every other", c.Servers)
	case p.Shape != shapeRing && f.Target.class() != OnServer:
		c.refuse(at("shape", "target"), "target: "+OnServer.choices(),
			"shape %s starts from one server, not from %s", p.Shape, f.Target)
	}
}

// partition finds the links to cut. It also finds the links that must stay up, which are those of servers, clients
// and the resource with the hosts that are cut off.
func (r *Run) partition(ctx context.Context, i injection) (Injector, error) {
	p := params[partitionParams](i.Fault)
	servers := r.Ensemble.Servers
	var links []hostLink
	var err error
	about := i.hosts
	switch p.Shape {
	case shapeHalves:
		links, about = halves(i.hosts[0], servers), servers
	case shapeBridge:
		links, about = bridge(i.hosts[0], servers), servers
	case shapeRing:
		links, err = majoritiesRing(servers)
		about = servers
	default:
		links, err = r.linksCut(ctx, i, p.Way)
	}
	if err != nil {
		return nil, err
	}
	cut := cut{id: i.id, links: links, ensemble: r.Ensemble}
	if p.Verdict == verdictReject {
		cut.verdict = agent.Reject
	}
	for _, l := range between(about, r.peers()) {
		if talks(l) && !slices.Contains(links, l) && !slices.Contains(cut.pass, l) {
			cut.pass = append(cut.pass, l)
		}
	}
	return cut, nil
}

// linksCut returns the links between the hosts of an injection and what they are cut off from, in one direction or
// both.
func (r *Run) linksCut(ctx context.Context, i injection, way string) ([]hostLink, error) {
	from, err := r.peersOf(ctx, i)
	if err != nil {
		return nil, err
	}
	switch way {
	case wayIn:
		return oneWay(from, i.hosts), nil
	case wayOut:
		return oneWay(i.hosts, from), nil
	}
	return between(i.hosts, from), nil
}

// talks reports whether anything is ever sent over a link. Clients send nothing to each other, and servers send
// nothing to the resource.
func talks(l hostLink) bool {
	is := func(a, b ensembles.Role) bool {
		return l.from.Role == a && l.to.Role == b || l.from.Role == b && l.to.Role == a
	}
	return is(ensembles.Server, ensembles.Server) || is(ensembles.Server, ensembles.Client) ||
		is(ensembles.Client, ensembles.Resource)
}

// cut lets no packet pass over some links, by rules in the hosts' own network namespaces, so a partition can have any
// shape. What must still pass is part of the fault, because a cut that takes more than it should is another fault.
type cut struct {
	// id names the rules on the hosts, so that healing leaves the rules of other faults alone.
	id string
	// links are cut one by one.
	links []hostLink
	// verdict says whether packets vanish or connections are refused.
	verdict agent.Verdict
	// pass are links that must stay up, such as those of a server's clients, those of the resource, and the other
	// direction of a one-way cut.
	pass []hostLink
	// ensemble must be whole again after healing.
	ensemble *ensembles.Ensemble
}

// Inject puts the rules in force.
func (c cut) Inject(ctx context.Context) (*Harm, error) {
	if len(c.links) == 0 {
		return nil, errors.New("there are no links to cut")
	}
	return c.fault().Inject(ctx)
}

// fault returns the rules, and looks at every link, all at once.
func (c cut) fault() linkFault {
	rules := c.rules()
	passes := func(ctx context.Context, links []hostLink) error {
		return each(links, func(l hostLink) error { return excuseWay(ctx, rules, l, mustPass(ctx, l)) })
	}
	return linkFault{rules: rules, struck: c.links, ensemble: c.ensemble,
		shows: func(ctx context.Context) error {
			return allOf(func() error { return passes(ctx, c.pass) }, func() error {
				return each(c.links, func(l hostLink) error {
					return excuse(ctx, rules, l, mustNotPass(ctx, l, c.verdict), func() error { return mustBeCut(ctx, l) })
				})
			})
		},
		free: func(ctx context.Context) error { return passes(ctx, c.links) }}
}

// rules returns the rules that each host needs.
func (c cut) rules() []rule {
	var all []rule
	for _, h := range share(c.links) {
		// The peers that are cut in both directions, and those that are cut in one.
		both, in, out := split(h.from, h.to)
		for _, b := range []agent.Block{
			{ID: c.id, Peers: both},
			{ID: c.id + "-in", Peers: in, Direction: agent.In},
			{ID: c.id + "-out", Peers: out, Direction: agent.Out},
		} {
			if b.Verdict = c.verdict; len(b.Peers) > 0 {
				all = append(all, blockOn(h.host, b))
			}
		}
	}
	return all
}

// split returns the addresses of the hosts in both lists, in the first only, and in the second only.
func split(a, b []*ensembles.Host) (both, first, second []netip.Addr) {
	for _, h := range a {
		if slices.Contains(b, h) {
			both = append(both, h.Address)
		} else {
			first = append(first, h.Address)
		}
	}
	for _, h := range b {
		if !slices.Contains(a, h) {
			second = append(second, h.Address)
		}
	}
	return both, first, second
}
