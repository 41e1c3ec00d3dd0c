package recipes

import (
	"context"
	"path"
	"strings"

	"locklab/recipes/zksession"
)

// Multi checks all operations before it carries out any, so no operation may rely on an earlier one of the same
// transaction. The fault function gets the paths of all operations, each followed by a space.
func (z *fakeSession) Multi(ctx context.Context, ops ...zksession.Op) ([]string, error) {
	created := make([]string, len(ops))
	var paths strings.Builder
	for _, op := range ops {
		paths.WriteString(op.Path + " ")
	}
	err := z.do(ctx, "multi", paths.String(), func() error {
		for i, op := range ops {
			if err := z.svc.refuses(op); err != nil {
				return &zksession.OpError{Index: i, Err: err}
			}
		}
		z.svc.zxid++
		for i, op := range ops {
			switch op.Kind {
			case zksession.OpCreate:
				var err error
				if created[i], err = z.create(op.Path, op.Data, op.Mode); err != nil {
					panic(err) // refuses should have said so
				}
			case zksession.OpDelete:
				z.svc.drop(op.Path)
			case zksession.OpSet:
				z.svc.change(op.Path, op.Data)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err // the fake may still write to created
	}
	return created, nil
}

// refuses returns why an operation is impossible in the present state. f.mu is held.
func (f *fakeService) refuses(op zksession.Op) error {
	n := f.nodes[op.Path]
	switch {
	case op.Kind == zksession.OpCreate && f.nodes[path.Dir(op.Path)] == nil:
		return zksession.ErrNoNode
	case op.Kind == zksession.OpCreate && op.Mode != zksession.EphemeralSequential && n != nil:
		return zksession.ErrNodeExists
	case op.Kind == zksession.OpCreate:
		return nil
	case n == nil:
		return zksession.ErrNoNode
	case op.Version != zksession.AnyVersion && op.Version != n.stat.Version:
		return zksession.ErrBadVersion
	}
	return nil
}
