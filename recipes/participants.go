package recipes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
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

// A Position is an acquire's place in its queue, for other goroutines to ask about while it waits: see [WithPosition].
// The zero value has no place.
type Position struct {
	mu     sync.Mutex
	line   *line
	prefix string
}

type positionKey struct{}

// WithPosition returns a context for one acquire of a lock of this package that has a queue, and a Position that tells
// where that acquire stands.
func WithPosition(ctx context.Context) (context.Context, *Position) {
	p := new(Position)
	return context.WithValue(ctx, positionKey{}, p), p
}

// notePosition notes where an attempt with this context queues.
func notePosition(ctx context.Context, l *line, prefix string) {
	if p, ok := ctx.Value(positionKey{}).(*Position); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.line, p.prefix = l, prefix
	}
}

// Ahead returns how many contenders are ahead of the acquire in its queue, counted as for OnQueued: 0 for a holder, and
// for the head of a semaphore's queue, which waits for permits. The acquire is not queued if it has no znode in the
// queue: before that was created, after a semaphore's grant, and after the end of the hold or the attempt. The answer
// is that of the session's server, and may be outdated. It costs one request, which lists the queue.
func (p *Position) Ahead(ctx context.Context) (ahead int, queued bool, err error) {
	p.mu.Lock()
	l, prefix := p.line, p.prefix
	p.mu.Unlock()
	if l == nil {
		return 0, false, nil
	}
	v, _, err := l.s.see(ctx, target{l.dir, true}, false)
	if errors.Is(err, zksession.ErrNoNode) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("position in %s: %w", l.dir, err)
	}
	for _, name := range v.names {
		if me, ok := l.layout.parse(name); ok && strings.HasPrefix(name, prefix) {
			return l.layout.stand(v.names, me, l.blocks).ahead(l.layout, v.names), true, nil
		}
	}
	return 0, false, nil
}

// length returns how many children the directory has.
func (l *line) length(ctx context.Context) (int, error) {
	v, _, err := l.s.see(ctx, target{path: l.dir}, false)
	if err != nil && !errors.Is(err, zksession.ErrNoNode) {
		return 0, fmt.Errorf("length of %s: %w", l.dir, err)
	}
	return int(v.stat.Children), nil
}

// Length returns how many contenders the queue has, the holder included. It costs one request, whose answer is small
// however long the queue is. It counts all children of the lock's directory, and so also those that take no part in the
// queue, if there are any; the length of Participants does not.
func (m *Mutex) Length(ctx context.Context) (int, error) { return m.line.length(ctx) }

// Length returns how many holders and waiters there are, readers and writers together, as [Mutex.Length] does.
func (rw *rwLines) Length(ctx context.Context) (int, error) { return rw.write.length(ctx) }

// Length returns how many acquisitions wait for permits, as [Mutex.Length] does.
func (s *Semaphore) Length(ctx context.Context) (int, error) {
	return newMutex(MutexConfig{Session: s.cfg.Session, Path: s.locks()}).Length(ctx)
}
