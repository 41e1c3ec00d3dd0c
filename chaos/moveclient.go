package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/harness/history"
)

// MoveClient resets a client's connection to its server, and refuses that server to it while the fault is
// in force, so that its session goes on at another one.
type MoveClient struct{ ByClient }

// Inject returns once the client has reported which server it is about to leave.
func (m MoveClient) Inject(ctx context.Context) (*Harm, error) {
	e, err := m.tellClient(ctx)
	if err != nil {
		return nil, fmt.Errorf("change a client's server: %w", err)
	}
	at := func(ctx context.Context, what string, ok func(server string) bool) error {
		return ensembles.Poll(ctx, pollEvery, "session "+e.Session.String()+" to be connected to "+what, func() error {
			names, err := connected(ctx, m.Ensemble, e.Session)
			if err == nil && (len(names) != 1 || !ok(names[0])) {
				err = fmt.Errorf("it is connected to %v", names)
			}
			return err
		})
	}
	// The refusal is within the client, so that it is over is the client's word.
	settled := func(ctx context.Context) (bool, error) {
		last, err := m.Witness.Triggered(ctx, m.ID, m.Host.Name)
		return last.Detail == history.StrikeSettled, err
	}
	return &Harm{At: e.At, Hosts: []string{m.Host.Name}, Sessions: []history.SessionID{e.Session},
		Verify: func(ctx context.Context) error {
			if over, err := settled(ctx); err != nil || over {
				return cmp.Or(err, fmt.Errorf("%s may go back to %s", m.Host.Name, e.Target))
			}
			return at(ctx, "another server than "+e.Target, func(server string) bool { return server != e.Target })
		},
		Heal: func(ctx context.Context) (int64, error) {
			st, err := m.Host.Agent.Input(ctx, m.Undo)
			return st.At, err
		},
		VerifyHealed: func(ctx context.Context) error {
			err := ensembles.Poll(ctx, pollEvery, "the word of "+m.Host.Name+" that it may go back to "+e.Target, func() error {
				over, err := settled(ctx)
				if err == nil && !over {
					err = errors.New("it has not said so")
				}
				return err
			})
			if err != nil {
				return err
			}
			return at(ctx, "any server", func(string) bool { return true })
		}}, nil
}
