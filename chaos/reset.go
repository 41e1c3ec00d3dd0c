package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/harness/history"
)

// Reset ends all established TCP connections between a host and others, as if each
// end had got a reset from the other: what a firewall that forgets its table, or a
// load balancer that restarts, does. It is over in a moment; new connections can be
// made at once.
type Reset struct {
	Host  *ensembles.Host
	Peers []*ensembles.Host
	// Ensemble must be whole afterwards.
	Ensemble *ensembles.Ensemble
}

// Inject resets the connections. Where there are none, no harm is done.
func (r Reset) Inject(ctx context.Context) (*Harm, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	hosts := hit(ctx, r.Ensemble, Between([]*ensembles.Host{r.Host}, r.Peers))
	// Once told, the agent is heard out: it cannot be undone.
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellCap)
	defer cancel()
	done, err := r.Host.Agent.Reset(once, addresses(r.Peers)...)
	if err == nil && len(done.Open) == 0 {
		err = fmt.Errorf("%w: there are no connections", ErrNobody)
	}
	if err != nil {
		return nil, fmt.Errorf("reset %s: %w", r.Host.Name, err)
	}
	return &Harm{At: done.At, Hosts: hosts,
		Verify: func(ctx context.Context) error {
			now, err := r.Host.Agent.Connections(ctx, addresses(r.Peers)...)
			for _, c := range done.Open {
				if slices.Contains(now.Open, c) {
					err = errors.Join(err, fmt.Errorf("connection %s of %s is still there", c, r.Host.Name))
				}
			}
			return err
		},
		VerifyHealed: func(ctx context.Context) error {
			err := ensembles.Poll(ctx, pollEvery, "new connections after a reset of "+r.Host.Name, func() error {
				var errs []error
				for _, l := range r.broken(done.Open) {
					errs = append(errs, r.back(ctx, l))
				}
				return errors.Join(errs...)
			})
			if err != nil {
				return err
			}
			return r.Ensemble.AwaitReady(ctx)
		}}, nil
}

// broken are the links that lost connections, from the host. Each connection is its two addresses, the host's own first.
func (r Reset) broken(open []string) []Link[*ensembles.Host] {
	var all []Link[*ensembles.Host]
	for _, peer := range r.Peers {
		if slices.ContainsFunc(open, func(c string) bool {
			_, to, _ := strings.Cut(c, " ")
			address, err := netip.ParseAddrPort(to)
			return err == nil && address.Addr().Unmap() == peer.Address
		}) {
			all = append(all, Link[*ensembles.Host]{From: r.Host, To: peer})
		}
	}
	return all
}

// back says why a link is not made up for yet. Who lost a server may go to any; whether servers have found each other again is the
// ensemble's to say, since another may lead by then. A process that has ended needs no connection.
func (r Reset) back(ctx context.Context, l Link[*ensembles.Host]) error {
	h, peers := l.From, []*ensembles.Host{l.To}
	switch from, to := l.From.Role == ensembles.Server, l.To.Role == ensembles.Server; {
	case from && to:
		return nil
	case from:
		h, peers = l.To, r.Ensemble.Servers
	case to:
		peers = r.Ensemble.Servers
	}
	for _, end := range []*ensembles.Host{l.From, l.To} {
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
