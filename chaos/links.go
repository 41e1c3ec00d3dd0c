package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// probeTimeout is how long a dial may take before it counts as failed. On one machine it takes well under a
// millisecond.
const probeTimeout = 500 * time.Millisecond

func agentOf(h *ensembles.Host) netip.AddrPort { return netip.AddrPortFrom(h.Address, agent.Port) }

// each calls f for all of them at once and joins the errors.
func each[T any](all []T, f func(T) error) error {
	return atOnce(len(all), func(i int) error { return f(all[i]) })
}

// A transfer is a number of datagrams sent over a link.
type transfer struct {
	count, size int
	every       time.Duration
}

// A few datagrams tell whether any pass. All of them are lost by chance only on a link that loses nearly everything.
var few = transfer{count: 20, every: time.Millisecond}

// pass sends datagrams over a link and returns how many arrived. It returns as soon as enough have arrived, and
// within probeTimeout at the latest.
func pass(ctx context.Context, l hostLink, t transfer, enough int) (agent.Heard, error) {
	id, err := l.to.Agent.Expect(ctx)
	if err != nil {
		return agent.Heard{}, err
	}
	datagrams := agent.Datagrams{ID: id, To: agentOf(l.to), Count: t.count, Size: t.size, Every: t.every}
	if _, err := l.from.Agent.Send(ctx, datagrams); err != nil {
		return agent.Heard{}, err
	}
	var heard agent.Heard
	wait, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_ = ensembles.Poll(wait, pollEvery, "datagrams", func() error {
		if heard, err = l.to.Agent.Heard(ctx, id); err != nil || heard.Count >= enough {
			return nil
		}
		return errors.New("too few")
	}) // the caller judges how many arrived
	return heard, err
}

func mustPass(ctx context.Context, l hostLink) error {
	heard, err := pass(ctx, l, few, 1)
	if err == nil && heard.Count == 0 {
		err = fmt.Errorf("nothing passes from %s to %s", l.from.Name, l.to.Name)
	}
	return err
}

// mustPassWhole returns an error if a packet is lost on a link. Other faults may be to blame for it.
func mustPassWhole(ctx context.Context, l hostLink) error {
	heard, err := pass(ctx, l, few, few.count)
	if err == nil && heard.Count < few.count {
		err = fmt.Errorf("%d of %d packets are lost from %s to %s",
			few.count-heard.Count, few.count, l.from.Name, l.to.Name)
	}
	return err
}

// mustBeCut returns an error if something passes a link, or if that cannot be found out.
func mustBeCut(ctx context.Context, l hostLink) error {
	heard, err := pass(ctx, l, few, 1)
	if err == nil && heard.Count > 0 {
		err = fmt.Errorf("packets still pass from %s to %s", l.from.Name, l.to.Name)
	}
	return err
}

// mustNotPass is mustBeCut, and also returns an error if connections over the link do not fail in the way that the
// verdict asks for.
func mustNotPass(ctx context.Context, l hostLink, v agent.Verdict) error {
	var errs []string
	// Each may wait a long time for nothing to arrive.
	err := allOf(func() error { return mustBeCut(ctx, l) }, func() (err error) {
		errs, err = l.from.Agent.Probe(ctx, probeTimeout, agentOf(l.to))
		return err
	})
	if err != nil {
		return err
	}
	silent, refused := strings.Contains(errs[0], "timeout"), strings.Contains(errs[0], "refused")
	switch {
	case errs[0] == "":
		return fmt.Errorf("%s still reaches %s", l.from.Name, l.to.Name)
	// Only silence proves a drop. A refusal arrived over the link, and an address that no host has is another fault.
	case v == agent.Drop && !silent:
		return fmt.Errorf("%s gets an answer about %s: %s", l.from.Name, l.to.Name, errs[0])
	case v == agent.Reject && !refused:
		return fmt.Errorf("connections from %s to %s are not refused: %s", l.from.Name, l.to.Name, errs[0])
	}
	return nil
}

func addresses(hosts []*ensembles.Host) []netip.Addr {
	all := make([]netip.Addr, len(hosts))
	for i, h := range hosts {
		all[i] = h.Address
	}
	return all
}

func server(h *ensembles.Host) netip.AddrPort {
	return h.Server
}

// affectedHosts names the hosts whose sessions a fault on these links can affect, given the server that leads now. If
// there is no ensemble or no leader, these are all hosts with such a link.
func affectedHosts(ctx context.Context, e *ensembles.Ensemble, links []hostLink) []string {
	var leader *ensembles.Host
	var servers []*ensembles.Host
	if e != nil {
		servers = e.Servers
		leader, _ = e.Leader(ctx) // nil is an answer
	}
	return hostNames(affected(links, leader, servers))
}

// affected returns the hosts whose sessions a fault on these links can cost. For a link between a client and a
// server, that is the client. For links between servers, these are the servers that lose their leader, or all servers
// if the leader loses its majority. If leader is the zero value, the leader is unknown, and every server with such a
// link counts.
func affected[T comparable](links []link[T], leader T, servers []T) []T {
	var all, ends []T
	add := func(to *[]T, h T) {
		if !slices.Contains(*to, h) {
			*to = append(*to, h)
		}
	}
	lost := map[T]bool{} // by the leader
	for _, l := range links {
		from, to := slices.Contains(servers, l.from), slices.Contains(servers, l.to)
		switch {
		case from && to:
			add(&ends, l.from)
			add(&ends, l.to)
			if l.from == leader {
				lost[l.to] = true
			} else if l.to == leader {
				lost[l.from] = true
			}
		case from:
			add(&all, l.to)
		case to:
			add(&all, l.from)
		default:
			add(&all, l.from)
			add(&all, l.to)
		}
	}
	var none T
	switch {
	case len(ends) == 0:
	case leader == none, len(lost) == 0:
		all = append(all, ends...)
	case len(servers)-len(lost) <= len(servers)/2:
		for _, s := range slices.Concat(ends, servers) {
			add(&all, s)
		}
	default:
		for _, s := range ends {
			if lost[s] {
				add(&all, s)
			}
		}
	}
	return all
}
