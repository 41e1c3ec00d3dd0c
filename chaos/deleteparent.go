package chaos

import (
	"context"
	"errors"
	"fmt"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check"
)

func deleteParentKind() Kind {
	return Kind{
		Name: "delete-parent", Family: FamilyZnode, Targets: OnAll,
		Momentary: true, NotDrawn: true,
		Nature: check.FaultNature{Cause: check.CauseAdministrator, DeletesZnodes: true, DeletesAll: true},
		Does: "deletes the first lock's directory while no client contends, as servers do with idle containers; " +
			"sequence numbers start at 0 again",
		Verified: "the directory is gone, or another one is in its place",
		Examples: []string{"target: all"},
		injector: func(r *Run, _ Injection) (Injector, error) {
			return DeleteParent{Ensemble: r.Ensemble, Lock: r.Lock}, nil
		},
	}
}

// DeleteParent deletes a lock's directory at a moment when nobody contends, as servers do with containers that have
// been empty for a minute. The directory's counter of sequential znodes is lost with it, so the next number is 0.
type DeleteParent struct {
	Ensemble *ensembles.Ensemble
	// Lock is the lock's path.
	Lock string
}

// Inject waits until the directory is empty, and deletes it. The next contender creates it again, so there is nothing
// to heal.
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
