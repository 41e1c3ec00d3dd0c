package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// A line is one way into a queue. It is what the recipes have in common whose contenders create a sequential znode in
// the lock's directory and wait for their turn. It is a [Lock].
type line struct {
	s        *Session
	recipe   string // its name, for an observer
	dir      string
	data     []byte
	onQueued func(ahead int)
	layout   layout
	kind     int // of our own contenders
	blocker  blocker
	// herd says that a waiter watches the directory, and with it all contenders, instead of just the one that blocks it.
	herd bool
	// sparse, if set, saves lists of long queues.
	sparse *sparse
	// try says that no contender is waited for.
	try bool
	// headed, if set, reports whether the contender of that name, which has gone, is known to have been the queue's head
	// when it went, so that the contender which it blocked is the head now. It is only for contenders that hold alone
	// ([behindAll]).
	headed func(ctx context.Context, gone string) bool
}

// A blocker is what makes one recipe differ from another: it returns the index of the
// last contender that must be gone before queue[own] may hold, or -1 if it may now.
//
// Whatever it looks at comes before own. That no contender comes in there later is what
// makes a grant last: see [place.await].
type blocker func(queue []contender, own int) int

// behindAll is the rule for contenders that hold alone.
func behindAll(_ []contender, own int) int { return own - 1 }

// behindWriters is the rule for readers.
func behindWriters(queue []contender, own int) int {
	for i := own - 1; i >= 0; i-- {
		if queue[i].kind == writing {
			return i
		}
	}
	return -1
}

// Acquire implements [Lock].
func (l *line) Acquire(ctx context.Context) (*Hold, error) {
	return l.s.attempts(ctx, l.recipe, l.dir, func() (*Hold, error) {
		p, err := l.enter(ctx)
		if err != nil {
			return nil, err
		}
		return p.grant(), nil
	})
}

// attempts makes one attempt after another at the lock at path, each while the session may hold. It ends when an
// attempt ends for any reason other than the deletion of its znode by another client or the end of the lease.
func (s *Session) attempts(
	ctx context.Context,
	recipe, path string,
	attempt func() (*Hold, error),
) (*Hold, error) {
	return s.acquire(recipe, path, func() (*Hold, error) { return s.untilGranted(ctx, path, attempt) })
}

func (s *Session) untilGranted(ctx context.Context, path string, attempt func() (*Hold, error)) (*Hold, error) {
	for {
		var h *Hold
		err := s.ready(ctx)
		if err == nil {
			h, err = attempt()
		}
		if err == nil {
			return h, nil
		}
		if errors.Is(err, errNodeGone) || errors.Is(err, ErrLeaseExpired) {
			if err = s.Err(); err == nil {
				continue
			}
		}
		return nil, fmt.Errorf("acquire %s: %w", path, err)
	}
}

// enter queues once and returns a place that no contender blocks. Its znode is then the caller's to remove. On
// failure it leaves nothing behind but a job for the janitor.
func (l *line) enter(ctx context.Context) (*place, error) {
	return l.enterAs(ctx, uuid.NewString())
}

// enterAs is enter with a GUID that was never used.
func (l *line) enterAs(ctx context.Context, guid string) (*place, error) {
	if ctx.Err() != nil {
		return nil, tasks.Ended(ctx)
	}
	prefix := protectedPrefix(guid, l.layout[l.kind])
	tellAttempt(ctx, l.dir, prefix)
	name, err := creator{l.s, l.dir, prefix, l.data}.create(ctx)
	if err != nil {
		return nil, err
	}
	p := &place{line: l, prefix: prefix, name: name}
	if err := p.await(ctx); err != nil {
		p.withdraw(ctx, err)
		return nil, err
	}
	return p, nil
}

// A place is one attempt's place in the queue: its znode, created in this session.
type place struct {
	line   *line
	prefix string
	name   string
	own    *waiter        // for our own znode's deletion; nil until it is watched
	stat   zksession.Stat // our own znode's
	queued bool           // onQueued was called
	// revoked says that any of our reads showed that we were asked to leave.
	revoked bool
}

func (p *place) path() string { return path.Join(p.line.dir, p.name) }

// withdraw gives the place up because of err.
func (p *place) withdraw(ctx context.Context, err error) {
	p.own.stop()
	if errors.Is(err, errNodeGone) {
		return
	}
	removed := p.line.s.janitor.remove(p.path())
	if errors.Is(err, ErrNotAcquired) {
		// An attempt that does not wait may well be repeated, and would then find this place ahead of it.
		_ = p.line.s.confirm(ctx, removed) // if not in time, then in the background
	}
}

// await waits until no contender blocks the place.
//
// A hold is granted iff, all in this one session, a list of the directory shows our znode and no contender before it
// that blocks us, our znode belongs to the session, and the session is not over after both answers. Why that suffices:
// at the instant of the list all contenders that block us were gone. None that does can come before us later, because
// numbers only rise while the directory exists, and it exists while our znode does (a downgrade inserts a reader at the
// place of a writer, but only while that writer is there, and that writer would have blocked us). And our znode stays
// until somebody deletes it or the session ends. A list without a look at the owner would not suffice: read in another
// session, or about another session's znode, it proves nothing about ours.
func (p *place) await(ctx context.Context) error {
	l := p.line
	me, ok := l.layout.parse(p.name)
	if !ok || me.exhausted() {
		return fmt.Errorf("%w: %s", ErrSequenceExhausted, p.name)
	}
	if err := p.follow(ctx, me); err != nil {
		return err
	}
	for {
		again := l.s.zk.Reconnected() // before the list
		queue, own, changed, err := p.look(ctx)
		if errors.Is(err, zksession.ErrConnectionLoss) {
			continue // nothing but reads, which wait until we are connected again
		}
		if err != nil {
			return err
		}
		block := l.blocker(queue, own)
		if !p.queued {
			p.queued = true
			if l.onQueued != nil {
				l.onQueued(block + 1)
			}
		}
		if block < 0 {
			changed.stop()
			return l.s.mayHold()
		}
		if l.try {
			changed.stop()
			return ErrNotAcquired
		}
		if l.sparse.near(queue, own) {
			held, err := p.outlast(ctx, queue[:own], again)
			if err != nil {
				return err
			}
			if held {
				return l.s.mayHold()
			}
			continue
		}
		if changed == nil {
			changed, err = p.watch(ctx, queue[block].name)
		}
		if err == nil {
			err = p.wait(ctx, changed)
		}
		if err != nil && !errors.Is(err, zksession.ErrNoNode) && !errors.Is(err, zksession.ErrConnectionLoss) {
			return err
		}
		if l.headed != nil && p.own != nil && l.headed(ctx, queue[block].name) {
			return l.s.mayHold()
		}
	}
}

// look returns the queue, our own place in it, and where the recipe watches the
// directory a waiter for its next change. The first time it also reads
// and watches our own znode, in the same round trip.
func (p *place) look(ctx context.Context) (queue []contender, own int, changed *waiter, err error) {
	l := p.line
	ownErr := p.readOwn(ctx)
	var children []string
	if l.herd && !l.try {
		children, changed, err = l.s.hub.list(ctx, l.dir)
	} else {
		children, err = l.s.zk.Children(ctx, l.dir)
	}
	if own := <-ownErr; err == nil {
		err = own
	}
	if err == nil && p.stat.Owner != l.s.ID() {
		err = errNodeGone
	}
	if err == nil {
		p.removeSurplus(children)
		queue = l.layout.queue(children)
		own = slices.IndexFunc(queue, func(c contender) bool { return c.name == p.name })
		if own < 0 {
			err = errNodeGone
		}
	}
	if err == nil {
		l.sparse.saw(queue, own)
	}
	if err != nil {
		changed.stop()
		if errors.Is(err, zksession.ErrNoNode) {
			err = errNodeGone // without the directory, our znode is gone too
		}
		return nil, 0, nil, err
	}
	return queue, own, changed, nil
}

// readOwn reads and watches our own znode, unless it is watched, and sends the result.
func (p *place) readOwn(ctx context.Context) <-chan error {
	result := make(chan error, 1)
	if p.own != nil {
		result <- nil
		return result
	}
	go func() { // the caller waits for it
		data, stat, own, err := p.line.s.hub.get(ctx, p.path())
		if err == nil {
			p.stat, p.own, p.revoked = stat, own, p.revoked || isRevocation(data)
		}
		result <- err
	}()
	return result
}

// removeSurplus deletes every other znode of this attempt. There should be none; one would be an orphan in the way of
// all contenders that come later, ourselves included.
func (p *place) removeSurplus(children []string) {
	for _, name := range children {
		if name != p.name && strings.HasPrefix(name, p.prefix) {
			p.line.s.janitor.remove(path.Join(p.line.dir, name))
		}
	}
}

// watch returns a waiter for the one contender that blocks us: when that goes, only contenders that it blocks wake. It
// is a read with a watch rather than a check of existence, since that would leave a watch behind on a znode that has
// gone.
func (p *place) watch(ctx context.Context, name string) (*waiter, error) {
	_, _, w, err := p.line.s.hub.get(ctx, path.Join(p.line.dir, name))
	return w, err
}

// wait returns when what is watched has changed or gone, or our own znode has.
func (p *place) wait(ctx context.Context, changed *waiter) error {
	defer changed.stop()
	select {
	case <-changed.C:
		return nil
	case <-p.own.C:
		// Deleted or changed. The next look shows which, and has to watch again.
		p.own = nil
		return nil
	case <-p.line.s.Done():
		return p.line.s.Err()
	case <-ctx.Done():
		return tasks.Ended(ctx)
	}
}

// grant makes the hold.
func (p *place) grant() *Hold { return p.hold(p.stat.Czxid) }

// hold makes a hold with the given token. It ends at the latest with the session, or with our znode.
func (p *place) hold(token int64) *Hold {
	s, node := p.line.s, p.path()
	self := new(*Hold)
	h := s.newHold(context.WithValue(s.term(), p.line.key(), self), token, func(ctx context.Context) error {
		return s.confirm(ctx, s.janitor.remove(node))
	})
	*self, h.place, h.path, h.nodes, h.reentrant = h, p, node, []string{node}, true
	if p.revoked {
		h.revoke()
	}
	s.guard(h, node, p.stat.Czxid, p.own)
	return h
}

// A lineKey is the key under which the context of a hold, and every context made from it, says that the lock is held.
type lineKey struct {
	s    *Session
	dir  string
	mark string
}

// where implements [placed].
func (l *line) where() string { return l.dir }

func (l *line) key() lineKey { return lineKey{l.s, l.dir, l.layout[l.kind]} }

// holdOf returns the hold of this line that ctx descends from, if there is one that has not ended.
func (l *line) holdOf(ctx context.Context) *Hold {
	if self, ok := ctx.Value(l.key()).(**Hold); ok && (*self).ctx.Err() == nil {
		return *self
	}
	return nil
}
