package recipes

import (
	"context"
	"errors"
	"slices"
)

// removeAll deletes znodes whose names nobody else can ever have: at first all in one
// transaction; where that is refused or not answered, one by one, last to first. The
// result is as that of [janitor.remove], ErrNoNode if any of them was gone.
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
			ops := make([]Op, len(left))
			for i, node := range left {
				ops[i] = Op{Kind: OpDelete, Path: node, Version: AnyVersion}
			}
			_, err := j.zk.Multi(ctx, ops...)
			if !errors.Is(err, ErrNoNode) {
				unanswered = errors.Is(err, ErrConnectionLoss)
				return err
			}
		}
		for len(left) > 0 {
			err := j.zk.Delete(ctx, left[0])
			switch {
			case errors.Is(err, ErrNoNode):
				gone = gone || !unanswered
			case err != nil:
				unanswered = unanswered || errors.Is(err, ErrConnectionLoss)
				return err
			}
			left = left[1:]
		}
		if gone {
			return ErrNoNode
		}
		return nil
	})
}
