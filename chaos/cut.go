package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// Cut lets no packet pass over some links, by rules in the hosts' own network
// namespaces: a partition of any shape. What must still pass is part of the fault:
// a cut that takes more than it should is another fault.
type Cut struct {
	// ID names the rules on the hosts, so that other faults' rules stay.
	ID string
	// Links are cut each for itself.
	Links []Link[*ensembles.Host]
	// Verdict is how: packets vanish, or connections are refused.
	Verdict agent.Verdict
	// Pass are links that must stay as they are: a server's clients, the resource,
	// the other way of a cut that is one-way.
	Pass []Link[*ensembles.Host]
	// Ensemble must be whole again after healing.
	Ensemble *ensembles.Ensemble
}

// Inject applies the rules, on all hosts at once.
func (c Cut) Inject(ctx context.Context) (*Harm, error) {
	if len(c.Links) == 0 {
		return nil, errors.New("partition of nothing")
	}
	hosts := hit(ctx, c.Ensemble, c.Links)
	at, err := apply(ctx, c.rules())
	if err != nil {
		return nil, fmt.Errorf("partition: %w", err)
	}
	return &Harm{At: at, Hosts: hosts, Verify: c.verify, Heal: c.heal, VerifyHealed: c.verifyHealed}, nil
}

// rules is what each host needs.
func (c Cut) rules() []rule {
	var all []rule
	for _, h := range share(c.Links) {
		// Those of which both ways are cut, and those of which one is.
		both, in, out := split(h.from, h.to)
		for _, b := range []agent.Block{{ID: c.ID, Peers: both}, {ID: c.ID + "-in", Peers: in, Direction: agent.In}, {ID: c.ID + "-out", Peers: out, Direction: agent.Out}} {
			if b.Verdict = c.Verdict; len(b.Peers) > 0 {
				all = append(all, rule{h.host, b})
			}
		}
	}
	return all
}

// split returns the addresses of hosts in both lists, in the first only, and in the
// second only.
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

func (c Cut) heal(ctx context.Context) (int64, error) { return remove(ctx, c.rules()) }

// verify looks at every link by itself, all at once.
func (c Cut) verify(ctx context.Context) error {
	return allOf(func() error { return areThere(ctx, c.rules()) }, func() error {
		return each(c.Links, func(l Link[*ensembles.Host]) error {
			return excuse(ctx, c.rules(), l, mustNotPass(ctx, l, c.Verdict), func() error { return mustBeCut(ctx, l) })
		})
	}, func() error {
		return each(c.Pass, func(l Link[*ensembles.Host]) error { return excuseWay(ctx, c.rules(), l, mustPass(ctx, l)) })
	})
}

func (c Cut) verifyHealed(ctx context.Context) error {
	err := ensembles.Poll(ctx, pollEvery, "packets to pass again", func() error {
		return errors.Join(areGone(ctx, c.rules()),
			each(c.Links, func(l Link[*ensembles.Host]) error { return excuseWay(ctx, c.rules(), l, mustPass(ctx, l)) }))
	})
	if err != nil {
		return err
	}
	return c.Ensemble.AwaitReady(ctx)
}
