package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// DeleteParent deletes a lock's directory at a moment at which nobody contends, as servers do with containers
// that have been empty for a minute. Its counter of sequential znodes goes with it: the next begins at 0.
type DeleteParent struct {
	Ensemble *ensembles.Ensemble
	// Lock is the lock's path.
	Lock string
}

// Inject waits until the directory is empty, and deletes it. Contenders make it anew, so there is nothing to
// heal.
func (d DeleteParent) Inject(ctx context.Context) (*Harm, error) {
	var answer agent.NodeAnswer
	err := ensembles.Poll(ctx, pollEvery, d.Lock+" to be idle", func() (err error) {
		answer, err = administer(context.WithoutCancel(ctx), d.Ensemble, agent.NodesDelete, d.Lock)
		if err == nil && answer.Refused != "" {
			err = errors.New(answer.Refused)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("delete parent: %w", err)
	}
	return &Harm{At: answer.At, Nodes: []string{d.Lock},
		Verify:       func(ctx context.Context) error { return gone(ctx, d.Ensemble, answer.Node) },
		VerifyHealed: d.Ensemble.AwaitReady}, nil
}
