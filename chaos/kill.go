package chaos

import (
	"context"
	"fmt"

	"locklab/ensembles"
	"locklab/harness/history"
)

// Kill ends a server's process without warning (SIGKILL) and heals by starting
// it again on the same address and data.
type Kill struct {
	Host     *ensembles.Host
	Ensemble *ensembles.Ensemble
}

// Inject kills the process and returns once it is gone.
func (k Kill) Inject(ctx context.Context) (*Harm, error) {
	at, err := tell(ctx, k.Host.Agent.Kill, k.heal)
	if err != nil {
		return nil, fmt.Errorf("kill %s: %w", k.Host.Name, err)
	}
	return &Harm{At: at, Hosts: []string{k.Host.Name},
		Verify: func(ctx context.Context) error {
			st, err := k.Host.Agent.Status(ctx)
			if err == nil && st.State != history.ProcessExited {
				err = fmt.Errorf("process of %s is %s", k.Host.Name, st.State)
			}
			if err != nil {
				return err
			}
			if answer, err := k.Host.Agent.Ask(ctx, "ruok"); err == nil {
				return fmt.Errorf("%s still answers %q", k.Host.Name, answer)
			}
			return nil
		},
		Heal: k.heal, VerifyHealed: k.Ensemble.AwaitReady,
	}, nil
}

// heal starts the process again, unless it runs already.
func (k Kill) heal(ctx context.Context) (int64, error) {
	now, err := k.Host.Agent.Status(ctx)
	if err != nil {
		return 0, err
	}
	if now.State != history.ProcessExited {
		return now.Since, nil
	}
	st, err := k.Host.Agent.Restart(ctx)
	return st.At, err
}
