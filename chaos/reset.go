package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

func resetKind() Kind {
	return Kind{
		Name: "reset", Family: FamilyPackets, Targets: OnServer | OnClient, Momentary: true,
		Capability: agent.CapNetAdmin,
		Nature:     evidence.FaultNature{Cause: causePartition, HampersLeader: true, Passes: true, Lingers: true},
		Does: "resets every TCP connection between the target and the servers, the leader or the clients at both " +
			"ends",
		Verified: "none of these connections is left; then there are new ones, and the ensemble is whole",
		Examples: []string{
			"target: c1, from: servers",
			"target: zk1, from: servers",
			"target: holder-server, from: clients",
		},
		Params:   LinkParams{},
		draw:     func(r *rand.Rand, _ *Setting, f *Fault) { f.Params = drawLinks(r, f) },
		check:    checkLinks,
		injector: toPeers(func(_ *Run, _ injection, e ends) (Injector, error) { return reset{e}, nil }),
	}
}

// reset ends all established TCP connections between a host and others, as if each end had received a reset from the
// other. A firewall that forgets its table does this, and so does a load balancer that restarts. The fault is over at
// once, and new connections can be made immediately.
type reset struct{ ends }

// Inject resets the connections. If there are none, it does no harm.
func (r reset) Inject(ctx context.Context) (*Harm, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	hosts := affectedHosts(ctx, r.ensemble, r.links())
	// Inject waits for the agent's answer even if ctx ends, because a reset cannot be undone.
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandCap)
	defer cancel()
	done, err := r.host.Agent.Reset(once, addresses(r.peers)...)
	if err == nil && len(done.Open) == 0 {
		err = fmt.Errorf("%w: there are no connections", ErrNobody)
	}
	if err != nil {
		return nil, err
	}
	return &Harm{At: done.At, Hosts: hosts,
		Verify: func(ctx context.Context) error {
			now, err := r.host.Agent.Connections(ctx, addresses(r.peers)...)
			for _, c := range done.Open {
				if slices.Contains(now.Open, c) {
					err = errors.Join(err, fmt.Errorf("connection %s of %s is still there", c, r.host.Name))
				}
			}
			return err
		},
		VerifyHealed: thenReady(r.ensemble, func(ctx context.Context) error {
			return ensembles.Poll(ctx, pollEvery, "new connections after a reset of "+r.host.Name, func() error {
				return each(r.broken(done.Open), func(l hostLink) error { return r.back(ctx, l) })
			})
		})}, nil
}

// broken returns the links that lost connections, from the host. Each connection is given by its two addresses, the
// host's own first.
func (r reset) broken(open []string) []hostLink {
	var all []hostLink
	for _, peer := range r.peers {
		if slices.ContainsFunc(open, func(c string) bool {
			_, to, _ := strings.Cut(c, " ")
			address, err := netip.ParseAddrPort(to)
			return err == nil && address.Addr().Unmap() == peer.Address
		}) {
			all = append(all, hostLink{from: r.host, to: peer})
		}
	}
	return all
}

// back reports why a link has not recovered yet. A client that lost its server may connect to any server. The
// ensemble decides whether servers have found each other again, because another server may lead by then. A process
// that has ended needs no connection.
func (r reset) back(ctx context.Context, l hostLink) error {
	h, peers := l.from, []*ensembles.Host{l.to}
	switch from, to := l.from.Role == ensembles.Server, l.to.Role == ensembles.Server; {
	case from && to:
		return nil
	case from:
		h, peers = l.to, r.ensemble.Servers
	case to:
		peers = r.ensemble.Servers
	}
	for _, end := range []*ensembles.Host{l.from, l.to} {
		st, err := end.Agent.Status(ctx)
		if err != nil || st.State == history.ProcessExited {
			return err
		}
	}
	now, err := h.Agent.Connections(ctx, addresses(peers)...)
	if err == nil && len(now.Open) == 0 {
		err = fmt.Errorf("%s has none yet", h.Name)
	}
	return err
}
