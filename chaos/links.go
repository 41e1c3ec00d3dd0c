package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// probeTimeout is how long a dial may take before it counts as not getting
// through. On one machine it takes well under a millisecond.
const probeTimeout = 500 * time.Millisecond

func agentOf(h *ensembles.Host) netip.AddrPort { return netip.AddrPortFrom(h.Address, agent.Port) }

// each calls f for all at once and joins the errors.
func each[T any](all []T, f func(T) error) error {
	return atOnce(len(all), func(i int) error { return f(all[i]) })
}

// A transfer is datagrams sent over a link.
type transfer struct {
	count, size int
	every       time.Duration
}

// a few datagrams tell whether any pass: all of them are lost by chance only where
// nearly all are.
var few = transfer{count: 20, every: time.Millisecond}

// pass sends datagrams over a link and returns what came of them: at the latest
// within probeTimeout, as soon as enough have come.
func pass(ctx context.Context, l Link[*ensembles.Host], t transfer, enough int) (agent.Heard, error) {
	id, err := l.To.Agent.Expect(ctx)
	if err != nil {
		return agent.Heard{}, err
	}
	if _, err := l.From.Agent.Send(ctx, agent.Datagrams{ID: id, To: agentOf(l.To), Count: t.count, Size: t.size, Every: t.every}); err != nil {
		return agent.Heard{}, err
	}
	var heard agent.Heard
	wait, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_ = ensembles.Poll(wait, pollEvery, "datagrams", func() error {
		if heard, err = l.To.Agent.Heard(ctx, id); err != nil || heard.Count >= enough {
			return nil
		}
		return errors.New("too few")
	}) // too few is what is to be found out
	return heard, err
}

// mustPass reports that nothing passes a link.
func mustPass(ctx context.Context, l Link[*ensembles.Host]) error {
	heard, err := pass(ctx, l, few, 1)
	if err == nil && heard.Count == 0 {
		err = fmt.Errorf("nothing passes from %s to %s", l.From.Name, l.To.Name)
	}
	return err
}

// mustBeCut reports that something passes a link, or that it cannot be told.
func mustBeCut(ctx context.Context, l Link[*ensembles.Host]) error {
	heard, err := pass(ctx, l, few, 1)
	if err == nil && heard.Count > 0 {
		err = fmt.Errorf("packets still pass from %s to %s", l.From.Name, l.To.Name)
	}
	return err
}

// mustNotPass is mustBeCut, and reports connections over the link that do not fail
// as the verdict says.
func mustNotPass(ctx context.Context, l Link[*ensembles.Host], v agent.Verdict) error {
	var errs []string
	// Each may wait for long for nothing to come.
	err := allOf(func() error { return mustBeCut(ctx, l) }, func() (err error) {
		errs, err = l.From.Agent.Probe(ctx, probeTimeout, agentOf(l.To))
		return err
	})
	if err != nil {
		return err
	}
	silent, refused := strings.Contains(errs[0], "timeout"), strings.Contains(errs[0], "refused")
	switch {
	case errs[0] == "":
		return fmt.Errorf("%s still reaches %s", l.From.Name, l.To.Name)
	// Only silence is a drop: a refusal came over the link, and an address that
	// nobody has is another fault.
	case v == agent.Drop && !silent:
		return fmt.Errorf("%s gets an answer about %s: %s", l.From.Name, l.To.Name, errs[0])
	case v == agent.Reject && !refused:
		return fmt.Errorf("connections from %s to %s are not refused: %s", l.From.Name, l.To.Name, errs[0])
	}
	return nil
}

// addresses is where the hosts are.
func addresses(hosts []*ensembles.Host) []netip.Addr {
	all := make([]netip.Addr, len(hosts))
	for i, h := range hosts {
		all[i] = h.Address
	}
	return all
}

func server(h *ensembles.Host) netip.AddrPort {
	return netip.AddrPortFrom(h.Address, agent.ClientPort)
}
