package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"locklab/recipes/zksession"
)

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
