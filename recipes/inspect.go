package recipes

import (
	"context"
	"errors"
	"path"
	"sync"
	"sync/atomic"

	"locklab/recipes/zksession"
)

// inspect reads the children of dir whose names are wanted, and returns what they showed, by name. A child that
// disappears meanwhile is left out; a directory that does not exist has no children.
func (s *Session) inspect(ctx context.Context, dir string, want func(name string) bool) (map[string]view, error) {
	read := func(t target) (view, error) {
		return settled(ctx, func(ctx context.Context) (view, error) { return s.hub.read(ctx, t) })
	}
	list, err := read(target{dir, true})
	if err != nil && !errors.Is(err, zksession.ErrNoNode) {
		return nil, err
	}
	var names []string
	for _, name := range list.names {
		if want(name) {
			names = append(names, name)
		}
	}
	found, errs := make([]view, len(names)), make([]error, len(names))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(inspectedAtOnce, len(names)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(names) {
					return
				}
				found[i], errs[i] = read(target{path: path.Join(dir, names[i])})
			}
		})
	}
	wg.Wait()
	views := make(map[string]view, len(names))
	for i, name := range names {
		if errs[i] == nil {
			views[name] = found[i]
		} else if !errors.Is(errs[i], zksession.ErrNoNode) {
			return nil, errs[i]
		}
	}
	return views, nil
}

// inspectedAtOnce is how many children are read without waiting for one another's answers.
const inspectedAtOnce = 64
