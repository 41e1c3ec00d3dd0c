package recipes

import (
	"context"
	"errors"
	"path"

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
	views := map[string]view{}
	for _, name := range list.names {
		if !want(name) {
			continue
		}
		v, err := read(target{path: path.Join(dir, name)})
		if err == nil {
			views[name] = v
		} else if !errors.Is(err, zksession.ErrNoNode) {
			return nil, err
		}
	}
	return views, nil
}
