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
	host  *ensembles.Host
	block agent.Block
}

// apply applies the rules on all hosts at once, either all of them or none.
func apply(ctx context.Context, rules []rule) (at int64, err error) {
	var do []command
	for _, r := range rules {
		do = append(do, func(ctx context.Context) (agent.Stamp, error) { return r.host.Agent.Block(ctx, r.block) })
	}
	return carryOutAll(ctx, do, func(ctx context.Context) (int64, error) { return remove(ctx, rules) })
}

// remove undoes apply.
func remove(ctx context.Context, rules []rule) (at int64, err error) {
	var do []command
	for _, r := range rules {
		do = append(do, func(ctx context.Context) (agent.Stamp, error) { return r.host.Agent.Clear(ctx, r.block.ID) })
	}
	return carryOutOnce(ctx, do)
}

// areGone returns an error if rules are still in force.
func areGone(ctx context.Context, rules []rule) error {
	return each(rules, func(r rule) error {
		st, err := r.host.Agent.Status(ctx)
		if err == nil && slices.Contains(st.Rules, r.block.ID) {
			err = fmt.Errorf("%s still has the rules %v", r.host.Name, st.Rules)
		}
		return err
	})
}

// areThere returns an error if rules are not in force.
func areThere(ctx context.Context, rules []rule) error {
	return each(rules, func(r rule) error {
		st, err := r.host.Agent.Status(ctx)
		if err == nil && !slices.Contains(st.Rules, r.block.ID) {
			err = fmt.Errorf("%s has no rule %s", r.host.Name, r.block.ID)
		}
		return err
	})
}

// excuse forgives an error about connections over a link that other faults' rules meet, either way: what they do to it
// is not held against this one. With least, that must hold then.
func excuse(ctx context.Context, own []rule, l hostLink, err error, least func() error) error {
	back := hostLink{from: l.to, to: l.from}
	return excuseIf(
		ctx,
		own,
		l,
		err,
		least,
		func(at *ensembles.Host, r agent.InForce) bool { return meets(at, r, l) || meets(at, r, back) },
	)
}

// excuseWay forgives an error about datagrams that go over a link, as excuse does of connections: a rule for the
// way back, or for connections only, is no excuse.
func excuseWay(ctx context.Context, own []rule, l hostLink, err error) error {
	return excuseIf(
		ctx,
		own,
		l,
		err,
		nil,
		func(at *ensembles.Host, r agent.InForce) bool { return !r.Connections && meets(at, r, l) },
	)
}

func excuseIf(
	ctx context.Context,
	own []rule,
	l hostLink,
	err error,
	least func() error,
	concerns func(*ensembles.Host, agent.InForce) bool,
) error {
	if err == nil {
		return nil
	}
	for _, h := range []*ensembles.Host{l.from, l.to} {
		st, serr := h.Agent.Status(ctx)
		if serr != nil {
			return errors.Join(err, serr)
		}
		for _, r := range st.Network {
			if slices.ContainsFunc(own, func(o rule) bool { return o.block.ID == r.ID }) || !concerns(h, r) {
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

// meets reports whether a rule of a host is about packets that go over a link.
func meets(at *ensembles.Host, r agent.InForce, l hostLink) bool {
	switch at {
	case l.from:
		return r.Direction != agent.In && slices.Contains(r.Peers, l.to.Address)
	case l.to:
		return r.Direction != agent.Out && slices.Contains(r.Peers, l.from.Address)
	}
	return false
}
