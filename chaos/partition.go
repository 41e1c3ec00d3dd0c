package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// Partition lets no packet pass between a host and others, both ways, by dropping
// them in the host's own network namespace. What the host can still reach is
// part of the fault: a cut that takes more than it should is another fault.
type Partition struct {
	// ID names the rule on the host, so that other faults' rules stay.
	ID   string
	Host *ensembles.Host
	// From are the hosts that it is cut off from, all of them ZooKeeper servers.
	From []*ensembles.Host
	// Reach are hosts that must still get through to it (a server's clients).
	Reach []*ensembles.Host
	// Reaches are addresses that it must still get through to (the resource).
	Reaches []netip.AddrPort
	// Ensemble must be whole again after healing.
	Ensemble *ensembles.Ensemble
}

// probeTimeout is how long a dial may take before it counts as not getting
// through. On one machine it takes well under a millisecond.
const probeTimeout = 500 * time.Millisecond

// Inject applies the rule.
func (p Partition) Inject(ctx context.Context) (*Harm, error) {
	peers := make([]netip.Addr, len(p.From))
	for i, h := range p.From {
		peers[i] = h.Address
	}
	block := func(ctx context.Context) (agent.Stamp, error) {
		return p.Host.Agent.Block(ctx, agent.Block{ID: p.ID, Peers: peers})
	}
	at, err := tell(ctx, block, p.heal)
	if err != nil {
		return nil, fmt.Errorf("partition %s: %w", p.Host.Name, err)
	}
	return &Harm{At: at, Hosts: []string{p.Host.Name}, Verify: p.verify, Heal: p.heal, VerifyHealed: p.verifyHealed}, nil
}

func (p Partition) heal(ctx context.Context) (int64, error) {
	st, err := p.Host.Agent.Clear(ctx, p.ID)
	return st.At, err
}

func server(h *ensembles.Host) netip.AddrPort {
	return netip.AddrPortFrom(h.Address, agent.ClientPort)
}

// verify dials over the cut from both sides, and what it must leave alone beside
// it, all at once.
func (p Partition) verify(ctx context.Context) error {
	var probes []func() error
	for _, f := range p.From {
		probes = append(probes, func() error { return mustNotReach(ctx, p.Host, server(f)) })
		if p.Host.Role == ensembles.Server {
			probes = append(probes, func() error { return mustNotReach(ctx, f, server(p.Host)) })
		}
	}
	for _, a := range p.Reaches {
		probes = append(probes, func() error { return mustReach(ctx, p.Host, a) })
	}
	for _, h := range p.Reach {
		probes = append(probes, func() error { return mustReach(ctx, h, server(p.Host)) })
	}
	if len(p.From) == 0 {
		return fmt.Errorf("partition of %s from nobody", p.Host.Name)
	}
	errs := make([]error, len(probes))
	var wg sync.WaitGroup
	for i, probe := range probes {
		wg.Go(func() { errs[i] = probe() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (p Partition) verifyHealed(ctx context.Context) error {
	for _, f := range p.From {
		err := ensembles.Poll(ctx, pollEvery, "packets to pass again", func() error { return mustReach(ctx, p.Host, server(f)) })
		if err != nil {
			return err
		}
	}
	return p.Ensemble.AwaitReady(ctx)
}

// mustReach reports that a host does not get through to an address.
func mustReach(ctx context.Context, from *ensembles.Host, to netip.AddrPort) error {
	errs, err := from.Agent.Probe(ctx, probeTimeout, to)
	if err == nil && errs[0] != "" {
		err = fmt.Errorf("%s does not reach %v: %s", from.Name, to, errs[0])
	}
	return err
}

// mustNotReach reports that something comes back from an address, or that it
// cannot be told. Only silence is a cut: a refusal came over the link, and an
// address that nobody has is another fault.
func mustNotReach(ctx context.Context, from *ensembles.Host, to netip.AddrPort) error {
	errs, err := from.Agent.Probe(ctx, probeTimeout, to)
	switch {
	case err != nil:
		return err
	case errs[0] == "":
		return fmt.Errorf("%s still reaches %v", from.Name, to)
	case !strings.Contains(errs[0], "timeout"):
		return fmt.Errorf("%s gets an answer about %v: %s", from.Name, to, errs[0])
	}
	return nil
}
