package chaos

import (
	"context"
	"errors"
	"fmt"
	"path"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// ForeignChildren puts znodes into a lock's directory that are nobody's place in its queue. A recipe that cannot
// read their names must neither fail nor wait behind them.
type ForeignChildren struct {
	// ID names them, so that other faults' stay.
	ID       string
	Ensemble *ensembles.Ensemble
	// Lock is the lock's path. It has to be there.
	Lock string
}

// foreignNames are names that some recipe or other stumbles over: without a number, with one that is no
// contender's, and the marks of contenders without one.
var foreignNames = []string{"foreign-%s", "foreign-%s__7", "foreign-%s-0000000000", "_c_foreign-%s-lock-", "foreign-%s-read-x"}

func (f ForeignChildren) nodes() []string {
	all := make([]string, len(foreignNames))
	for i, name := range foreignNames {
		all[i] = path.Join(f.Lock, fmt.Sprintf(name, f.ID))
	}
	return all
}

// Inject makes the znodes.
func (f ForeignChildren) Inject(ctx context.Context) (*Harm, error) {
	create := func(ctx context.Context) (st agent.Stamp, err error) {
		for _, n := range f.nodes() {
			answer, err := administerSoon(ctx, f.Ensemble, agent.NodesCreate, n)
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
	at, err := tell(ctx, create, f.heal)
	if err != nil {
		return nil, fmt.Errorf("foreign children: %w", err)
	}
	return &Harm{At: at, Nodes: f.nodes(), Heal: f.heal,
		Verify: func(ctx context.Context) error {
			there, err := f.there(ctx)
			if err == nil && there != len(foreignNames) {
				err = fmt.Errorf("%d of %d foreign children are in %s", there, len(foreignNames), f.Lock)
			}
			return err
		},
		VerifyHealed: func(ctx context.Context) error {
			there, err := f.there(ctx)
			if err == nil && there > 0 {
				err = fmt.Errorf("%d foreign children are still in %s", there, f.Lock)
			}
			return err
		}}, nil
}

// Remove takes away what is left of the znodes, and says how many those were.
func (f ForeignChildren) Remove(ctx context.Context) (int, error) {
	n, err := f.there(ctx)
	if err == nil && n > 0 {
		_, err = f.heal(ctx)
	}
	return n, err
}

func (f ForeignChildren) heal(ctx context.Context) (int64, error) {
	var at int64
	for _, n := range f.nodes() {
		answer, err := administerSoon(ctx, f.Ensemble, agent.NodesDelete, n)
		if err != nil {
			return 0, err
		}
		at = answer.At // one that is gone already is no error
	}
	return at, nil
}

// there counts those that are in the directory.
func (f ForeignChildren) there(ctx context.Context) (int, error) {
	answer, err := administerSoon(ctx, f.Ensemble, agent.NodesList, f.Lock)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, child := range answer.Node.Children {
		for _, mine := range f.nodes() {
			if child.Path == mine {
				n++
			}
		}
	}
	return n, nil
}
