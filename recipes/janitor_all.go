package recipes

import (
	"context"
	"errors"
	"slices"

	"locklab/recipes/zksession"
)

// removeAll deletes znodes whose names no other attempt can ever have. It first deletes all of them in one
// transaction. If that is refused or not answered, it deletes them one by one, last to first. The result is as in
// [janitor.remove], and ErrNoNode if any of the znodes was already gone.
func (j *janitor) removeAll(nodes []string) <-chan error {
	if len(nodes) == 1 {
		return j.remove(nodes[0])
	}
	left := slices.Clone(nodes)
	slices.Reverse(left)
	tried, unanswered, gone := false, false, false
	return j.run("delete "+nodes[0]+" and others", func() error {
		ctx := context.Background() // ends with the session
		if !tried {
			tried = true
			ops := make([]zksession.Op, len(left))
			for i, node := range left {
				ops[i] = zksession.Op{Kind: zksession.OpDelete, Path: node, Version: zksession.AnyVersion}
			}
			_, err := j.zk.Multi(ctx, ops...)
			if !errors.Is(err, zksession.ErrNoNode) {
				unanswered = errors.Is(err, zksession.ErrConnectionLoss)
				return err
			}
		}
		for len(left) > 0 {
			err := j.zk.Delete(ctx, left[0])
			switch {
			case errors.Is(err, zksession.ErrNoNode):
				gone = gone || !unanswered
			case err != nil:
				unanswered = unanswered || errors.Is(err, zksession.ErrConnectionLoss)
				return err
			}
			left = left[1:]
		}
		if gone {
			return zksession.ErrNoNode
		}
		return nil
	})
}
