package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"locklab/ensembles"
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
		err = errors.New("there are no connections")
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
			err := ensembles.Poll(ctx, pollEvery, "new connections of "+r.Host.Name, func() error {
				now, err := r.Host.Agent.Connections(ctx, addresses(r.Peers)...)
				if err == nil && len(now.Open) == 0 {
					err = fmt.Errorf("none yet, after %s", strings.Join(done.Open, ", "))
				}
				return err
			})
			if err != nil {
				return err
			}
			return r.Ensemble.AwaitReady(ctx)
		}}, nil
}
