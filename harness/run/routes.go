package run

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/workloads/control"
)

// A link is the connection from a client's host to a server.
type link struct{ client, server *ensembles.Host }

// A detour is how a client process connects to a server that it does not connect to itself.
type detour int

const (
	// byAgent is by the agent that speaks for a server of an ensemble elsewhere. Its address is a host's, which the
	// kernel can delay packets to, and it does what TLS the servers want.
	byAgent detour = iota + 1
	// byRelay is by a relay on the client's host, which delays packets where the kernel cannot.
	byRelay
)

// findDetours finds out which clients cannot connect to the servers themselves. A client can, unless a fault of this
// run delays packets on that connection, or the servers want TLS and its lock is a program that knows only addresses.
// With a round trip, all connections pass through relays, whatever the kernel can do.
func (r *run) findDetours(ctx context.Context) error {
	r.detours = map[link]detour{}
	for i, c := range r.clientHosts() {
		blind := r.stage.outside != nil && r.stage.outside.access.TLS != nil && r.sc.RecipeOf(i).Foreign
		var lacks agent.Capabilities
		for _, s := range r.stage.ensemble.Servers {
			delayed := r.plan.Relays(c.Name, s.Name)
			if delayed && lacks == nil {
				var err error
				if lacks, err = c.Agent.Capabilities(ctx); err != nil {
					return err
				}
			}
			switch {
			case r.sc.RoundTrip.Relayed:
				r.detours[link{c, s}] = byRelay
			case delayed && lacks[agent.CapNetem] != "":
				r.detours[link{c, s}] = byRelay
			case blind, delayed && r.stage.outside != nil:
				r.detours[link{c, s}] = byAgent
			}
		}
	}
	return nil
}

// relayed returns the servers to which clients connect by detours, by client host; nil if there are none.
func (r *run) relayed() map[string][]string {
	var all map[string][]string
	for l := range r.detours {
		if all == nil {
			all = map[string][]string{}
		}
		all[l.client.Name] = append(all[l.client.Name], l.server.Name)
	}
	for _, servers := range all {
		slices.Sort(servers)
	}
	return all
}

// routes returns the servers of a placement as the process of a host connects to them. It makes the relays for that.
func (r *run) routes(ctx context.Context, h *ensembles.Host, p placement) ([]control.Server, error) {
	all := make([]control.Server, len(p.servers))
	for i, s := range p.servers {
		all[i] = control.Server{Name: s.Name, Address: s.Server.String()}
		l := link{h, s}
		switch out := r.stage.outside; {
		case r.detours[l] == byRelay:
			at, err := r.makeRelay(ctx, h, s)
			if err != nil {
				return nil, fmt.Errorf("relay of %s: %w", h.Name, err)
			}
			all[i].Address = at.String()
			r.mu.Lock()
			r.relays[l] = at
			r.mu.Unlock()
		case out != nil && r.detours[l] == 0:
			all[i].Address = out.access.Servers[slices.Index(r.stage.ensemble.Servers, s)]
			all[i].TLS = out.access.TLS != nil
		}
	}
	return all, nil
}

// makeRelay makes a relay on a client's host to a server.
func (r *run) makeRelay(ctx context.Context, h, server *ensembles.Host) (netip.AddrPort, error) {
	if far := r.sc.RoundTrip; far.Relayed {
		return h.Agent.FarRelay(ctx, server.Server, far.Added)
	}
	return h.Agent.Relay(ctx, server.Server, r.sc.Seed)
}

// relayOf returns the relay through which the process of a client's host connects to a server.
func (r *run) relayOf(client, server *ensembles.Host) (at netip.AddrPort, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok = r.relays[link{client, server}]
	return at, ok
}
