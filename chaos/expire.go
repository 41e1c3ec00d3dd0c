package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/harness/history"
)

// ExpireSession ends a client's session for real: a second connection that names its id and password closes
// it. The servers take its znodes away at once, and the client learns of it with its next request or ping.
type ExpireSession struct{ ByClient }

// Inject returns once the client has reported that it is about to. There is nothing to heal.
func (x ExpireSession) Inject(ctx context.Context) (*Harm, error) {
	e, err := x.tellClient(ctx)
	if err != nil {
		return nil, fmt.Errorf("expire a session: %w", err)
	}
	over := func(ctx context.Context) error {
		return ensembles.Poll(ctx, pollEvery, "session "+e.Session.String()+" to be gone from the leader", func() error {
			there, err := lives(ctx, x.Ensemble, e.Session)
			if there {
				err = errors.New("the leader knows it")
			}
			return err
		})
	}
	return &Harm{At: e.At, Hosts: []string{x.Host.Name}, Sessions: []history.SessionID{e.Session}, Verify: over, VerifyHealed: func(ctx context.Context) error {
		if err := over(ctx); err != nil {
			return err
		}
		return x.Ensemble.AwaitReady(ctx)
	}}, nil
}
