package recipes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"locklab/recipes/zksession"
)

// A Participant is a holder or a waiter in a lock's queue, whichever client it belongs to.
type Participant struct {
	// Path is the path of its znode.
	Path string
	// Session is the session that the znode belongs to.
	Session int64
	// Czxid is the transaction that created the znode. For a holder it is the token,
	// unless the hold comes from a downgrade.
	Czxid int64
	// Shared says that the participant has, or waits for, a read lock.
	Shared bool
	// Data is what the znode contains.
	Data []byte
}

// participants returns the contenders in the queue that are wanted, in the queue's order. It leaves out those that
// leave meanwhile.
func (l *line) participants(ctx context.Context, want func(contender) bool) (found []Participant, err error) {
	views, err := l.s.inspect(ctx, l.dir, func(name string) bool {
		c, ok := l.layout.parse(name)
		return ok && want(c)
	})
	if err != nil {
		return nil, fmt.Errorf("participants of %s: %w", l.dir, err)
	}
	for _, c := range l.layout.queue(slices.Collect(maps.Keys(views))) {
		v := views[c.name]
		found = append(found, Participant{path.Join(l.dir, c.name), v.stat.Owner, v.stat.Czxid, c.kind == reading, v.data})
	}
	return found, nil
}

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

// settled repeats a request that may be repeated, until it is answered.
func settled[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	for {
		v, err := f(ctx)
		if !errors.Is(err, zksession.ErrConnectionLoss) {
			return v, err
		}
	}
}
