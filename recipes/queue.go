package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"

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
	kind     int  // of our own contenders
	blocks   rule // who keeps them from holding
	// alone says that a hold excludes every other, so that a caller with the context of its own hold would wait for
	// itself.
	alone bool
	// herd says that a waiter watches the directory, and with it all contenders, instead of just the one that blocks it.
	herd bool
	// try says that no contender is waited for.
	try bool
	// headed, if set, reports whether the contender of that name, which has gone, is known to have been the queue's head
	// when it went, so that the contender which it blocked is the head now. It is only for contenders that hold alone
	// ([behindAll]).
	headed func(ctx context.Context, gone string) bool
	// succeeds says that a waiter may hold without another list once the one that blocked it has gone, and that holders
	// mark their release for that: see [place.inherits].
	succeeds bool
	// downgrades says that a writer may leave a reader in its place, so that its going alone frees nobody behind it.
	downgrades bool
}

// Acquire implements [Lock].
func (l *line) Acquire(ctx context.Context) (*Hold, error) {
	if l.alone && !l.try && l.holdOf(ctx) != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.dir, ErrHeld)
	}
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
		// The context may have ended with another hold, whose loss is then in the error.
		if ctx.Err() == nil && (errors.Is(err, errNodeGone) || errors.Is(err, ErrLeaseExpired)) {
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
	return l.enterAs(ctx, l.s.guid())
}

// enterAs is enter with a GUID that was never used.
func (l *line) enterAs(ctx context.Context, guid string) (*place, error) {
	if ctx.Err() != nil {
		return nil, tasks.Ended(ctx)
	}
	prefix := protectedPrefix(guid, l.layout[l.kind])
	tellAttempt(ctx, l.dir, prefix)
	notePosition(ctx, l, prefix)
	made, err := creator{s: l.s, dir: l.dir, prefix: prefix, data: l.data}.create(ctx)
	if err != nil {
		return nil, err
	}
	p := &place{line: l, prefix: prefix, name: made.name, stat: made.stat, children: made.children, again: made.again}
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
	stat   zksession.Stat // our own znode's; zero if it is not known
	// children are the list that came with the create, until it is used.
	children []string
	// again is closed when the session is connected again after our znode was created, or was read last.
	again  <-chan struct{}
	own    *waiter // for our own znode's deletion; nil while it is not watched
	queued bool    // onQueued was called
	// revoked says that any of our reads showed that we were asked to leave.
	revoked bool
	// contended says that the last wait compared transactions, because several contenders were ahead. Then others probably
	// wait behind us, and the release is to be marked.
	contended bool
	// divided says that a reader stands in the place too, so that its release frees nobody: see [RW.ReadUnder].
	divided atomic.Bool
}

func (p *place) path() string { return path.Join(p.line.dir, p.name) }

// withdraw gives the place up because of err.
func (p *place) withdraw(ctx context.Context, err error) {
	p.own.stop()
	if ctx.Err() == nil && errors.Is(err, errNodeGone) {
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
// A hold is granted iff, all in this one session, a list of the directory that was made after our znode was created
// shows it and no contender before it that blocks us, or [place.inherits] says that a list would, and the session is
// not over after the answer. Why that suffices:
// at the instant of the list all contenders that block us were gone. None that does can come before us later, because
// numbers only rise while the directory exists, and it exists while our znode does (a downgrade inserts a reader at the
// place of a writer, but only while that writer is there, and that writer would have blocked us). And our znode stays
// until somebody deletes it or the session ends.
//
// Nor need anybody look whether the znode in the list is ours. Its name contains a GUID that this attempt has drawn, so
// only this attempt's creates can have made it. All of them were sent in this session, because a session is never
// renewed and a request is never sent in another. So the znode belongs to it, and ends with it. (Somebody who deletes
// the znode and makes one of the same name by hand would deceive us, until we read it.) The token is the transaction
// that created the znode, by the server's answer to the create: see [zksession.ZooKeeper.Enter].
//
// Where that is not certain, our znode is read as well, and watched: where the answer to the create was lost, or does
// not contain the stat, or the session has since been connected again. The argument does not need that either, but
// there the client relies on more of its own code, and it costs a request where something has gone wrong anyway.
//
// The list that the argument needs may be the one that came with the create. Both were sent on one connection, the
// create first, so the list shows a state in which the create is done. If the connection broke in between there is no
// such list, and another one is made.
func (p *place) await(ctx context.Context) error {
	l := p.line
	me, ok := l.layout.parse(p.name)
	if !ok || me.exhausted() {
		return fmt.Errorf("%w: %s", ErrSequenceExhausted, p.name)
	}
	for {
		children, changed, err := p.look(ctx)
		if errors.Is(err, zksession.ErrConnectionLoss) {
			continue // nothing but reads, which wait until we are connected again
		}
		if err != nil {
			return err
		}
		at := l.layout.stand(children, me, l.blocks)
		if !at.there {
			changed.stop()
			return errNodeGone
		}
		p.removeSurplus(children)
		if !p.queued {
			p.queued = true
			if l.onQueued != nil {
				l.onQueued(at.ahead(l.layout, children))
			}
		}
		if !at.blocked() {
			changed.stop()
			return l.s.mayHold()
		}
		if l.try {
			changed.stop()
			return ErrNotAcquired
		}
		if l.herd && changed == nil {
			continue // the list that came with the create has no watch
		}
		// The names of a list share their memory, which is not to be kept while we wait.
		at.block.name = strings.Clone(at.block.name)
		var next *zksession.Succession
		if changed == nil {
			next, changed, err = p.watch(ctx, at)
		}
		gone := errors.Is(err, zksession.ErrNoNode)
		if err == nil {
			gone, err = p.wait(ctx, changed)
		}
		next.End()
		if err != nil && !gone && !errors.Is(err, zksession.ErrConnectionLoss) {
			return err
		}
		if gone && (p.inherits(at, next) || l.headed != nil && l.headed(ctx, at.block.name)) {
			return l.s.mayHold()
		}
	}
}

// look returns the children of the directory and, where the recipe watches the directory, a waiter for its next change.
// Where our own znode is in doubt it reads and watches that too, in the same round trip.
func (p *place) look(ctx context.Context) (children []string, changed *waiter, err error) {
	l := p.line
	if children, p.children = p.children, nil; children != nil && !p.doubtful() {
		return children, nil, nil
	}
	var own <-chan error
	if p.doubtful() {
		own = p.readOwn(ctx)
	}
	if l.herd && !l.try {
		children, changed, err = l.s.hub.list(ctx, l.dir)
	} else {
		children, err = l.s.zk.Children(ctx, l.dir)
	}
	if own != nil {
		if ownErr := <-own; err == nil {
			err = ownErr
		}
	}
	if err != nil {
		changed.stop()
		if errors.Is(err, zksession.ErrNoNode) {
			err = errNodeGone // without the directory, our znode is gone too
		}
		return nil, nil, err
	}
	return children, changed, nil
}

// doubtful reports whether our own znode has to be read: see [place.await].
func (p *place) doubtful() bool { return p.stat.Owner != p.line.s.ID() || tasks.Closed(p.again) }

// readOwn reads and watches our own znode, unless it is watched, and sends the result. It is errNodeGone also if the
// znode is not ours.
func (p *place) readOwn(ctx context.Context) <-chan error {
	result := make(chan error, 1)
	again, s := p.line.s.zk.Reconnected(), p.line.s // before the read
	if p.own != nil {
		p.again = again // the watch tells of changes while the client was disconnected, too
		result <- nil
		return result
	}
	go func() { // the caller waits for it
		data, stat, own, err := s.hub.get(ctx, p.path())
		switch {
		case errors.Is(err, zksession.ErrNoNode):
			err = errNodeGone
		case err == nil && stat.Owner != s.ID():
			own.stop()
			err = errNodeGone
		case err == nil:
			p.stat, p.own, p.again, p.revoked = stat, own, again, p.revoked || isRevocation(data)
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
// gone. Where that contender's going may be all that we need to know, there is a succession too, and the watch is one
// on children, which a change of the znode's data does not fire.
func (p *place) watch(ctx context.Context, at standing) (next *zksession.Succession, w *waiter, err error) {
	s, ahead := p.line.s, path.Join(p.line.dir, at.block.name)
	alone := p.alone(at)
	if alone || p.line.succeeds && exclusive(at.block) {
		if next, err = s.zk.Succeed(ctx, p.path(), ahead, !alone); err != nil {
			return nil, nil, err
		}
	}
	if next == nil {
		_, _, w, err = s.hub.get(ctx, ahead)
		return nil, w, err
	}
	p.contended = !alone
	_, w, err = s.hub.list(ctx, ahead)
	return next, w, err
}

// alone reports whether nobody stands between us and the lock once the contender that blocks us is gone, however it
// goes.
func (p *place) alone(at standing) bool {
	l := p.line
	return l.succeeds && at.blocks == 1 && !(l.downgrades && exclusive(at.block))
}

// inherits reports whether we are free to hold since the contender that blocked us has gone, so that no list is needed.
//
// There are two reasons for that. Either it was the only one that blocked us: none comes before us later, for the
// reason that [place.await] states, unless it was a writer that may have left a reader in its place. Or it held the
// lock, alone and until it went, which is what a marked release says: [place.leave] deletes the znode and sets its data
// in one transaction, and only a place that was granted is left in that way. Whoever holds alone is the queue's head,
// and it was the last of those that block us, so all of them are gone.
//
// A change of data alone says nothing, because a revocation is one too, and an administrator may make others. What says
// it is that a server told of the change and of the deletion as of one transaction.
//
// Our own znode has to be there, which no list shows this time. The succession sees that: it was read on the same
// connection, is watched since, and had not gone before the other one did. (An administrator who forbids us to read it
// and then deletes it, or who deletes both in one transaction, would deceive us until the hold watches its znode.)
func (p *place) inherits(at standing, next *zksession.Succession) bool {
	return !p.doubtful() && (next.Freed() && exclusive(at.block) || next.Left() && p.alone(at))
}

// wait returns when what is watched has changed or gone, and then reports true, or when our own znode has. A place that
// has waited for long watches its own znode too, to hear of its deletion before the contender that it waits for goes.
func (p *place) wait(ctx context.Context, changed *waiter) (fired bool, err error) {
	defer changed.stop()
	long, due := p.line.s.timers.channel(p.line.s.unwatched.queued)
	defer long.Stop()
	for {
		select {
		case <-changed.C:
			return true, nil
		case <-p.own.events():
			p.ownChanged()
			return false, nil
		case <-due:
			if err := <-p.readOwn(ctx); errors.Is(err, zksession.ErrConnectionLoss) {
				long.Reset(p.line.s.unwatched.queued)
			} else if err != nil {
				return false, err
			}
		case <-p.line.s.Done():
			return false, p.line.s.Err()
		case <-ctx.Done():
			return false, tasks.Ended(ctx)
		}
	}
}

// ownChanged notes that our own znode was deleted or changed. The next look shows which, and has to watch again.
func (p *place) ownChanged() { p.own, p.stat = nil, zksession.Stat{} }

func (p *place) grant() *Hold { return p.hold(p.stat.Czxid) }

// hold makes a hold with the given token. It ends at the latest with the session, or with our znode.
func (p *place) hold(token int64) *Hold {
	s, node := p.line.s, p.path()
	h := s.newHold(p.line.key(), token, p.leave)
	h.place, h.path, h.nodes, h.reentrant = p, node, []string{node}, true
	if p.revoked {
		h.revoke()
	}
	if p.own != nil {
		s.guard(h, node, p.stat.Czxid, p.own)
	} else {
		s.guardLater(h, node, p.stat.Czxid)
	}
	return h
}

// leave removes the znode of a hold, as [Session.release] does. If others probably wait, a hold that excludes all
// others is marked as released: see [place.inherits]. One with a reader in its place is not, because it frees nobody.
func (p *place) leave(ctx context.Context) error {
	s, node := p.line.s, p.path()
	if !p.line.succeeds || p.line.kind != writing || !p.contended || p.divided.Load() || ctx.Err() != nil {
		return s.release(ctx, node)
	}
	_, err := s.zk.Multi(ctx,
		zksession.Op{Kind: zksession.OpSet, Path: node, Version: zksession.AnyVersion},
		zksession.Op{Kind: zksession.OpDelete, Path: node, Version: zksession.AnyVersion})
	switch {
	case err == nil || errors.Is(err, zksession.ErrNoNode):
		return removal(err)
	case refused(err) >= 0:
		return s.release(ctx, node) // the znode may be deleted, but not set
	}
	return s.confirm(ctx, s.janitor.removeAgain(node))
}

// A lineKey is the key of a line: see [claim].
type lineKey struct {
	s    *Session
	dir  string
	mark string
}

// where implements [placed].
func (l *line) where() site { return site{l.s, l.dir} }

func (l *line) key() lineKey { return lineKey{l.s, l.dir, l.layout[l.kind]} }

// holdOf returns the hold of this line that ctx descends from, if there is one that has not ended.
func (l *line) holdOf(ctx context.Context) *Hold {
	if holds := claimed(ctx, l.key()).live(); len(holds) > 0 {
		return holds[0]
	}
	return nil
}
