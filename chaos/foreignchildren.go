package chaos

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
)

func foreignChildrenKind() Kind {
	return Kind{
		Name: "foreign-children", Family: FamilyZnode, Targets: OnAll,
		Nature: evidence.FaultNature{Cause: evidence.CauseAdministrator, SparesSessions: true},
		Does: "creates znodes in the first lock's directory that stand for no client in the queue, and deletes " +
			"them to heal",
		Verified: "all of these znodes exist; after healing, none does",
		Examples: []string{"target: all"},
		injector: func(r *Run, i injection) (Injector, error) {
			return foreignChildren{id: i.id, ensemble: r.Ensemble, lock: r.Lock}, nil
		},
		cleanUp: func(ctx context.Context, r *Run, id string) (left string, err error) {
			n, err := foreignChildren{id: id, ensemble: r.Ensemble, lock: r.Lock}.remove(ctx)
			if n > 0 {
				left = fmt.Sprintf("%s had %d foreign children of %s", r.Lock, n, id)
			}
			return left, err
		},
	}
}

// foreignChildren creates znodes in a lock's directory that stand for no client in its queue. A recipe that cannot read
// their names must neither fail nor wait behind them.
type foreignChildren struct {
	// id is part of their names, so that healing leaves the znodes of other faults alone.
	id       string
	ensemble *ensembles.Ensemble
	// lock is the lock's path.
	lock string
}

// foreignNames are names that some recipes cannot handle: names without a number, names with a number that belongs to
// no contender, and prefixes of contenders without a number.
var foreignNames = []string{
	"foreign-%s",
	"foreign-%s__7",
	"foreign-%s-0000000000",
	"_c_foreign-%s-lock-",
	"foreign-%s-read-x",
}

func (f foreignChildren) nodes() []string {
	all := make([]string, len(foreignNames))
	for i, name := range foreignNames {
		all[i] = path.Join(f.lock, fmt.Sprintf(name, f.id))
	}
	return all
}

// Inject waits until there is a directory of the lock, which the first client that wants the lock makes, and creates
// the znodes.
func (f foreignChildren) Inject(ctx context.Context) (*Harm, error) {
	if err := ensembles.Poll(ctx, pollEvery, "the lock's directory "+f.lock, func() error {
		answer, err := administer(ctx, f.ensemble, agent.NodesList, f.lock)
		if err == nil && answer.Refused != "" {
			err = errors.New(answer.Refused)
		}
		return err
	}); err != nil {
		return nil, err
	}
	create := func(ctx context.Context) (st agent.Stamp, err error) {
		for _, n := range f.nodes() {
			answer, err := administerSoon(ctx, f.ensemble, agent.NodesCreate, n)
			if err == nil && answer.Refused != "" && answer.Refused != agent.ErrExists.Error() {
				err = errors.New(answer.Refused)
			}
			if err != nil {
				return st, err
			}
			st = answer.Stamp
		}
		return st, nil
	}
	at, err := carryOut(ctx, create, f.heal)
	if err != nil {
		return nil, err
	}
	return &Harm{At: at, Nodes: f.nodes(), Heal: f.heal,
		Verify: func(ctx context.Context) error {
			there, err := f.there(ctx)
			if err == nil && there != len(foreignNames) {
				err = fmt.Errorf("%d of %d foreign children are in %s", there, len(foreignNames), f.lock)
			}
			return err
		},
		VerifyHealed: func(ctx context.Context) error {
			there, err := f.there(ctx)
			if err == nil && there > 0 {
				err = fmt.Errorf("%d foreign children are still in %s", there, f.lock)
			}
			return err
		}}, nil
}

// remove deletes the znodes that are left, and returns how many it deleted.
func (f foreignChildren) remove(ctx context.Context) (int, error) {
	n, err := f.there(ctx)
	if err == nil && n > 0 {
		_, err = f.heal(ctx)
	}
	return n, err
}

func (f foreignChildren) heal(ctx context.Context) (int64, error) {
	var at int64
	for _, n := range f.nodes() {
		answer, err := administerSoon(ctx, f.ensemble, agent.NodesDelete, n)
		if err != nil {
			return 0, err
		}
		at = answer.At // a znode that is gone already is not an error
	}
	return at, nil
}

// there counts the znodes that are in the directory.
func (f foreignChildren) there(ctx context.Context) (int, error) {
	answer, err := administerSoon(ctx, f.ensemble, agent.NodesList, f.lock)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, child := range answer.Node.Children {
		if slices.Contains(f.nodes(), child.Path) {
			n++
		}
	}
	return n, nil
}
