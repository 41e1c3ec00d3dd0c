package recipes

import (
	"context"
	"errors"
	"path"
	"strings"
)

// fireList ends the watches on a node's children. f.mu is held.
func (f *fakeService) fireList(p string, e Event) {
	for _, fired := range f.lists[p] {
		fired(e)
	}
	delete(f.lists, p)
}

func (z *fakeSession) ChildrenW(ctx context.Context, p string, fired func(Event)) ([]string, error) {
	var names []string
	events := make(chan Event, 1)
	err := z.do(ctx, "list", p, func() error {
		if z.svc.nodes[p] == nil {
			return ErrNoNode
		}
		names = z.svc.children(p)
		z.svc.lists[p] = append(z.svc.lists[p], func(e Event) { events <- e })
		return nil
	})
	if err == nil {
		err = z.tell(events, fired)
	}
	if err != nil {
		return nil, err
	}
	return names, nil
}

// Multi refuses before it does anything, so no operation may rely on one before it.
func (z *fakeSession) Multi(ctx context.Context, ops ...Op) ([]OpResult, error) {
	answers := make(chan []OpResult, 1) // not a variable: an answer may come after the end of ctx
	var paths strings.Builder
	for _, op := range ops {
		paths.WriteString(op.Path + " ")
	}
	err := z.do(ctx, "multi", paths.String(), func() error {
		results := make([]OpResult, len(ops))
		defer func() { answers <- results }()
		for i, op := range ops {
			if err := z.svc.refuses(op); err != nil {
				results[i].Err = err
				for j := i + 1; j < len(ops); j++ {
					results[j].Err = errNotTried
				}
				return err
			}
		}
		z.svc.zxid++
		for i, op := range ops {
			switch op.Kind {
			case OpCreate:
				results[i].Path, results[i].Err = z.create(op.Path, op.Data, op.Mode)
				if results[i].Err != nil {
					panic(results[i].Err) // refuses should have said so
				}
			case OpDelete:
				z.svc.drop(op.Path)
			case OpSet:
				n := z.svc.nodes[op.Path]
				n.data, n.stat.Mzxid, n.stat.Version = op.Data, z.svc.zxid, n.stat.Version+1
				z.svc.fire(op.Path, Changed)
			}
		}
		return nil
	})
	select {
	case results := <-answers:
		return results, err
	default:
		return nil, err
	}
}

var errNotTried = errors.New("not tried")

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
