package harness

import (
	"context"
	"fmt"
	"net/netip"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/scenario"
	"locklab/workloads/client"
)

// packetFaults make the faults that do harm to packets on their way.
var packetFaults = map[string]constructor{
	scenario.FaultLoss: toPeers(func(r *run, s strike, h *ensembles.Host, peers []*ensembles.Host) (chaos.Fault, error) {
		return chaos.Loss{ID: s.id, Host: h, Peers: peers, Share: s.Loss, Ensemble: r.stage.ensemble}, nil
	}),
	scenario.FaultBandwidth: toPeers(func(r *run, s strike, h *ensembles.Host, peers []*ensembles.Host) (chaos.Fault, error) {
		return chaos.Bandwidth{ID: s.id, Host: h, Peers: peers, Rate: uint64(s.Bandwidth), Ensemble: r.stage.ensemble}, nil
	}),
	scenario.FaultLatency: ofLinks(latency),
	scenario.FaultReset: toPeers(func(r *run, _ strike, h *ensembles.Host, peers []*ensembles.Host) (chaos.Fault, error) {
		return chaos.Reset{Host: h, Peers: peers, Ensemble: r.stage.ensemble}, nil
	}),
}

// toPeers makes a fault of every host of a strike and of what it has links to.
func toPeers(f func(*run, strike, *ensembles.Host, []*ensembles.Host) (chaos.Fault, error)) constructor {
	return ofLinks(func(ctx context.Context, r *run, s strike) (chaos.Fault, error) {
		peers, err := r.from(ctx, s)
		if err != nil {
			return nil, err
		}
		return onEach(func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error) { return f(r, s, h, peers) })(r, s)
	})
}

// latency delays each link at its client, if it has one: that may be done by a relay.
func latency(ctx context.Context, r *run, s strike) (chaos.Fault, error) {
	ends := s
	peers, err := r.from(ctx, s)
	if err != nil {
		return nil, err
	}
	if s.From == scenario.FromClients {
		ends.hosts, peers = peers, s.hosts
	}
	return onEach(func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error) {
		l := chaos.Latency{ID: s.id, Host: h, Peers: peers, Delay: s.Latency, Jitter: s.Jitter, Ensemble: r.stage.ensemble}
		for _, p := range peers {
			if at, ok := r.relays[hostLink{From: h, To: p}]; ok {
				l.Relays = append(l.Relays, at)
			}
		}
		return l, nil
	})(r, ends)
}

// relay has a client process go through relays, where it takes them to delay its packets:
// if a fault is to, and the kernel cannot.
func (r *run) relay(ctx context.Context, h *ensembles.Host, cfg *client.Config) error {
	if !r.plan.Delays() {
		return nil
	}
	lacks, err := h.Agent.Capabilities(ctx)
	if err != nil || lacks[agent.CapNetem] == "" {
		return err
	}
	through := make([]client.Server, len(cfg.Servers))
	for i, s := range cfg.Servers {
		server := r.stage.lab.Host(s.Name)
		to := netip.AddrPortFrom(server.Address, agent.ClientPort)
		at, err := h.Agent.Relay(ctx, to, r.sc.Seed)
		if err != nil {
			return fmt.Errorf("relay of %s: %w", h.Name, err)
		}
		through[i] = client.Server{Name: s.Name, Address: at.String()}
		r.mu.Lock()
		r.relays[hostLink{From: h, To: server}] = at
		r.mu.Unlock()
	}
	cfg.Servers = through
	return nil
}
