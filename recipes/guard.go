package recipes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// unwatched says how long a znode of ours may go without a watch of our own, by which the client hears that somebody
// has deleted it or has asked for it. Nobody deletes a znode of another client's session but an administrator, or
// [Session.Evict], and most holds and waits are over sooner; so the watch, which costs a request and an event, is set
// only by those that last.
type unwatched struct {
	held   time.Duration // from the grant
	queued time.Duration // from when the contender began to wait for another one
}

// The times that sessions have. They are stated in the package's comment.
const (
	heldUnwatched   = 30 * time.Millisecond
	queuedUnwatched = 5 * time.Second
)

// guardLater is guard of a hold whose znode is not watched yet, from a while after the grant.
func (s *Session) guardLater(h *Hold, node string, czxid int64) {
	h.unguarded = s.timers.start(s.unwatched.held, func() {
		if h.ctx.Err() == nil {
			s.guard(h, node, czxid, nil)
		}
	})
}

// guard ends the hold when its znode, the one created by czxid, is deleted by another client. own is a waiter for the
// znode, registered before the hold was granted, or nil.
func (s *Session) guard(h *Hold, node string, czxid int64, own *waiter) {
	watch := func() {
		for {
			if own != nil {
				select {
				case e := <-own.C:
					if e == zksession.Deleted && own.first {
						h.lose(s.whyGone(node))
						return
					}
				case <-h.ctx.Done():
					own.stop()
				}
			}
			if h.ctx.Err() != nil {
				return
			}
			// A change of data does not end a hold, but it uses up the watch. And where a path is used again, as in
			// the naive lock, the deletion may be that of the previous holder's znode.
			var data []byte
			var stat zksession.Stat
			var err error
			data, stat, own, err = s.rewatch(h.ctx, node)
			switch {
			case errors.Is(err, zksession.ErrNoNode):
				h.lose(s.whyGone(node))
				return
			case errors.Is(err, zksession.ErrNoAuth):
				h.lose(err) // the client would not hear of the deletion any more
				return
			case err != nil:
				return // the hold has ended
			case stat.Czxid != czxid:
				own.stop()
				h.lose(s.whyGone(node))
				return
			}
			h.noteData(data)
		}
	}
	if !s.tasks.Start(watch) {
		own.stop() // the session is over, and the hold with it
	}
}

// whyGone returns why a hold's znode is gone: because the session ended, if that is known yet. (A client that
// reconnects while its session is being closed may hear of the znode first.)
func (s *Session) whyGone(node string) error {
	if err := s.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%s was deleted", node)
}

// watchOwn watches a znode that this session has created. It returns ErrNoNode if the znode is gone, or belongs to
// another session by now.
func (s *Session) watchOwn(ctx context.Context, node string) ([]byte, zksession.Stat, *waiter, error) {
	for {
		data, stat, w, err := s.hub.get(ctx, node)
		switch {
		case errors.Is(err, zksession.ErrConnectionLoss):
			continue // waits until we are connected again
		case err != nil:
			return nil, zksession.Stat{}, nil, err
		case stat.Owner != s.ID():
			w.stop()
			return nil, zksession.Stat{}, nil, zksession.ErrNoNode
		}
		return data, stat, w, nil
	}
}

// rewatch watches a znode again. It gives up only if the znode is gone or may not be read, or ctx has ended.
func (s *Session) rewatch(ctx context.Context, node string) ([]byte, zksession.Stat, *waiter, error) {
	for backoff := retryMin; ; backoff = min(2*backoff, retryMax) {
		data, stat, w, err := s.hub.get(ctx, node)
		if err == nil || errors.Is(err, zksession.ErrNoNode) || errors.Is(err, zksession.ErrNoAuth) {
			return data, stat, w, err
		}
		select {
		case <-s.timers.after(backoff):
		case <-ctx.Done():
			return nil, zksession.Stat{}, nil, tasks.Ended(ctx)
		}
	}
}

// release deletes a hold's znode, whose name no other attempt can ever have, and waits until that is confirmed or ctx
// ends. If it is not done by then, or the answer is lost, the janitor does it. Its errors are those of
// [Session.confirm].
func (s *Session) release(ctx context.Context, node string) error {
	if ctx.Err() != nil {
		return s.confirm(ctx, s.janitor.remove(node))
	}
	// Nearly always the first request does it, which takes no goroutine.
	err := s.zk.Delete(ctx, node)
	if err == nil || errors.Is(err, zksession.ErrNoNode) || errors.Is(err, zksession.ErrNoAuth) {
		return removal(err)
	}
	return s.confirm(ctx, s.janitor.removeAgain(node))
}

// confirm waits until the janitor has released a hold, or until ctx ends.
func (s *Session) confirm(ctx context.Context, removed <-chan error) error {
	select {
	case err := <-removed:
		return removal(err)
	case <-ctx.Done():
		return fmt.Errorf("unconfirmed: %w", tasks.Ended(ctx))
	}
}

// removal returns what the removal of a hold's znode says about the hold.
func removal(err error) error {
	if err == nil || errors.Is(err, zksession.ErrNoAuth) {
		return err
	}
	return lost(err) // deleted before our request, or with the session
}
