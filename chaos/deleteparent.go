package chaos

import (
	"context"
	"errors"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
)

func deleteParentKind() Kind {
	return Kind{
		Name: "delete-parent", Family: FamilyZnode, Targets: OnAll,
		Momentary: true, NotDrawn: true,
		Nature: evidence.FaultNature{Cause: evidence.CauseAdministrator, DeletesZnodes: true, DeletesAll: true},
		Does: "deletes the first lock's directory while no client contends, as servers do with idle containers; " +
			"sequence numbers start at 0 again",
		Verified: "the directory is gone, or another one is in its place",
		Examples: []string{"target: all"},
		injector: func(r *Run, _ injection) (Injector, error) {
			return deleteParent{ensemble: r.Ensemble, lock: r.Lock}, nil
		},
	}
}

// deleteParent deletes a lock's directory while no client contends, as servers do with containers that have
// been empty for a minute. The directory's counter of sequential znodes is lost with it, so the next number is 0.
type deleteParent struct {
	ensemble *ensembles.Ensemble
	// lock is the lock's path.
	lock string
}

// Inject waits until the directory is empty, and deletes it. The next contender creates it again, so there is nothing
// to heal.
func (d deleteParent) Inject(ctx context.Context) (*Harm, error) {
	var answer agent.NodeAnswer
	err := ensembles.Poll(ctx, pollEvery, d.lock+" to be idle", func() (err error) {
		answer, err = administer(context.WithoutCancel(ctx), d.ensemble, agent.NodesDelete, d.lock)
		if err == nil && answer.Refused != "" {
			err = errors.New(answer.Refused)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Harm{At: answer.At, Nodes: []string{d.lock},
		Verify:       func(ctx context.Context) error { return gone(ctx, d.ensemble, answer.Node) },
		VerifyHealed: d.ensemble.AwaitReady}, nil
}
