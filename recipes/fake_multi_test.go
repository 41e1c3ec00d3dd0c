package recipes

import (
	"context"
	"path"
	"strings"
)

// Multi refuses before it does anything, so no operation may rely on one before it. The
// fault function gets the paths of all operations, each with a space behind it.
func (z *fakeSession) Multi(ctx context.Context, ops ...Op) ([]string, error) {
	created := make([]string, len(ops))
	var paths strings.Builder
	for _, op := range ops {
		paths.WriteString(op.Path + " ")
	}
	err := z.do(ctx, "multi", paths.String(), func() error {
		for i, op := range ops {
			if err := z.svc.refuses(op); err != nil {
				return &OpError{i, err}
			}
		}
		z.svc.zxid++
		for i, op := range ops {
			switch op.Kind {
			case OpCreate:
				var err error
				if created[i], err = z.create(op.Path, op.Data, op.Mode); err != nil {
					panic(err) // refuses should have said so
				}
			case OpDelete:
				z.svc.drop(op.Path)
			case OpSet:
				z.svc.change(op.Path, op.Data)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err // created may yet be written
	}
	return created, nil
}

// refuses returns why an operation is impossible now. f.mu is held.
func (f *fakeService) refuses(op Op) error {
	n := f.nodes[op.Path]
	switch {
	case op.Kind == OpCreate && f.nodes[path.Dir(op.Path)] == nil:
		return ErrNoNode
	case op.Kind == OpCreate && op.Mode != EphemeralSequential && n != nil:
		return ErrNodeExists
	case op.Kind == OpCreate:
		return nil
	case n == nil:
		return ErrNoNode
	case op.Version != AnyVersion && op.Version != n.stat.Version:
		return ErrBadVersion
	}
	return nil
}
