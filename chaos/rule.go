package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// A rule is a fault's network rule on a host.
type rule struct {
	host *ensembles.Host
	id   string  // so that lifting it keeps the rules of other faults
	put  command // puts it in force
}

func blockOn(h *ensembles.Host, b agent.Block) rule {
	return rule{h, b.ID, func(ctx context.Context) (agent.Stamp, error) { return h.Agent.Block(ctx, b) }}
}

func delayOn(h *ensembles.Host, d agent.Delay) rule {
	return rule{h, d.ID, func(ctx context.Context) (agent.Stamp, error) { return h.Agent.Delay(ctx, d) }}
}

// A linkFault is a fault of links. Rules on hosts make it, and traffic over the links shows whether it is in force.
type linkFault struct {
	rules []rule
	// struck are the links that it disturbs. hosts are the hosts that it strikes; nil = those whose sessions the
	// disturbed links can cost.
	struck []hostLink
	hosts  []string
	// shows reports why the links do not show the effect. It may wait within ctx until they do.
	shows func(context.Context) error
	// free looks once, and reports why the links are not free of the effect yet.
	free func(context.Context) error
	// ensemble must be whole after healing.
	ensemble *ensembles.Ensemble
}

// Inject puts the rules in force on all hosts at once, either all of them or none.
func (f linkFault) Inject(ctx context.Context) (*Harm, error) {
	hosts := f.hosts
	if hosts == nil {
		hosts = affectedHosts(ctx, f.ensemble, f.struck)
	}
	var put []command
	for _, r := range f.rules {
		put = append(put, r.put)
	}
	at, err := carryOutAll(ctx, put, f.heal)
	if err != nil {
		return nil, err
	}
	return &Harm{At: at, Hosts: hosts, Verify: f.verify, Heal: f.heal, VerifyHealed: thenReady(f.ensemble, f.over)}, nil
}

// verify goes by the traffic and also asks the agents for the rules, because the machine itself may lose and delay
// packets.
func (f linkFault) verify(ctx context.Context) error {
	return allOf(func() error { return areThere(ctx, f.rules) }, func() error { return f.shows(ctx) })
}

func (f linkFault) heal(ctx context.Context) (int64, error) {
	var lift []command
	for _, r := range f.rules {
		lift = append(lift, func(ctx context.Context) (agent.Stamp, error) { return r.host.Agent.Clear(ctx, r.id) })
	}
	return carryOutOnce(ctx, lift)
}

// over waits until the rules are gone, and the links are free of their effect.
func (f linkFault) over(ctx context.Context) error {
	return ensembles.Poll(ctx, pollEvery, "links to be free again", func() error {
		if err := areGone(ctx, f.rules); err != nil {
			return err
		}
		return f.free(ctx)
	})
}

// areGone returns an error if rules are still in force.
func areGone(ctx context.Context, rules []rule) error {
	return each(rules, func(r rule) error {
		st, err := r.host.Agent.Status(ctx)
		if err == nil && slices.Contains(st.Rules, r.id) {
			err = fmt.Errorf("%s still has the rules %v", r.host.Name, st.Rules)
		}
		return err
	})
}

// areThere returns an error if rules are not in force.
func areThere(ctx context.Context, rules []rule) error {
	return each(rules, func(r rule) error {
		st, err := r.host.Agent.Status(ctx)
		if err == nil && !slices.Contains(st.Rules, r.id) {
			err = fmt.Errorf("%s has no rule %s", r.host.Name, r.id)
		}
		return err
	})
}

// excuse forgives an error about connections over a link if rules of other faults apply to the link, in either
// direction, because this fault does not answer for their effect. With least, that must hold then.
func excuse(ctx context.Context, own []rule, l hostLink, err error, least func() error) error {
	back := hostLink{l.to, l.from}
	return excuseIf(ctx, own, l, err, least, func(at *ensembles.Host, r agent.InForce) bool {
		return meets(at, r, l) || meets(at, r, back)
	})
}

// excuseWay forgives an error about datagrams over a link, as excuse does about connections. A rule for the other
// direction, or for connections only, does not excuse it.
func excuseWay(ctx context.Context, own []rule, l hostLink, err error) error {
	return excuseIf(ctx, own, l, err, nil, func(at *ensembles.Host, r agent.InForce) bool {
		return !r.Connections && meets(at, r, l)
	})
}

func excuseIf(ctx context.Context, own []rule, l hostLink, err error, least func() error,
	applies func(*ensembles.Host, agent.InForce) bool) error {
	if err == nil {
		return nil
	}
	for _, h := range []*ensembles.Host{l.from, l.to} {
		st, serr := h.Agent.Status(ctx)
		if serr != nil {
			return errors.Join(err, serr)
		}
		for _, r := range st.Network {
			if slices.ContainsFunc(own, func(o rule) bool { return o.id == r.ID }) || !applies(h, r) {
				continue
			}
			if least != nil {
				return least()
			}
			return nil
		}
	}
	return err
}

// meets reports whether a rule of a host applies to packets that go over a link.
func meets(at *ensembles.Host, r agent.InForce, l hostLink) bool {
	switch at {
	case l.from:
		return r.Direction != agent.In && slices.Contains(r.Peers, l.to.Address)
	case l.to:
		return r.Direction != agent.Out && slices.Contains(r.Peers, l.from.Address)
	}
	return false
}
