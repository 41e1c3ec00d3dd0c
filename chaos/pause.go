package chaos

import (
	"context"
	"fmt"
	"time"

	"locklab/ensembles"
	"locklab/harness/history"
)

// Pause stops a host's whole process (SIGSTOP): what a long garbage collection,
// a swapped-out machine or a live migration looks like from outside. The process
// goes on believing whatever it believed.
type Pause struct {
	Host *ensembles.Host
	// Ensemble must be whole after healing, of a server's; nil = it is enough that the process goes on.
	Ensemble *ensembles.Ensemble
}

// Inject stops the process and returns once every thread of it has stopped.
func (p Pause) Inject(ctx context.Context) (*Harm, error) {
	at, err := tell(ctx, p.Host.Agent.Pause, pausedHarm(p.Host, 0).Heal)
	if err != nil {
		return nil, fmt.Errorf("pause %s: %w", p.Host.Name, err)
	}
	h := pausedHarm(p.Host, at)
	if goesOn := h.VerifyHealed; p.Ensemble != nil {
		// A server that was stopped for long has lost its place, and a leader its followers.
		h.VerifyHealed = func(ctx context.Context) error {
			if err := goesOn(ctx); err != nil {
				return err
			}
			return p.Ensemble.AwaitReady(ctx)
		}
	}
	return h, nil
}

// pausedHarm is a process that has been stopped at that time, by whomever.
func pausedHarm(h *ensembles.Host, at int64) *Harm {
	return &Harm{At: at, Hosts: []string{h.Name},
		Verify: func(ctx context.Context) error {
			st, err := h.Agent.Status(ctx)
			if err == nil && st.State != history.ProcessStopped {
				err = fmt.Errorf("process of %s is %s, not stopped", h.Name, st.State)
			}
			return err
		},
		Heal: func(ctx context.Context) (int64, error) {
			st, err := h.Agent.Resume(ctx)
			return st.At, err
		},
		VerifyHealed: func(ctx context.Context) error {
			return ensembles.Poll(ctx, pollEvery, "process of "+h.Name+" to go on", func() error {
				st, err := h.Agent.Status(ctx)
				if err == nil && st.State == history.ProcessStopped {
					err = fmt.Errorf("process of %s is still stopped", h.Name)
				}
				return err
			})
		}}
}

// pollEvery is how often an effect is looked for.
const pollEvery = 20 * time.Millisecond
