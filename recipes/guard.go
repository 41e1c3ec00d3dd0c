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

// Multi executes all of the operations as one transaction, or none, and only if the hold lasts at
// the service at that moment: the transaction begins with a check that each of the hold's
// znodes exists. So what a lock protects inside ZooKeeper is safe without a token:
// neither a stop between the decision and the write nor a lagging server lets a client write that has lost
// the lock. Another client's hold does not help it, because the name of a hold's znode is never used again. Without
// operations, Multi only asks a quorum whether the hold lasts.
//
// It returns for each operation the path of the znode that it created, or "". Its errors:
//
//   - ErrReleased, or wrapping ErrLockLost: the hold is over; nothing was executed. If it was the
//     service that said so, the hold's context ends too;
//   - wrapping an [*zksession.OpError], whose index is that among ops: that operation was refused; nothing
//     was executed;
//   - wrapping ErrUnguarded: holds of a NaiveMutex, whose znode's name the next holder's has too, of NoLock, and of
//     locks that do not belong to this package cannot be checked; nothing was executed;
//   - wrapping ErrConnectionLoss, besides ErrLockLost if the session ended meanwhile; or wrapping that of ctx: the
//     outcome is unknown. The service may have executed the transaction, or may still do so until the session is over,
//     but only while the hold lasts there. Hold cannot find that out, because only the caller
//     knows how its operations differ from others': while it holds, it can read what it wrote, or
//     repeat operations with versions, which the service refuses if it has executed them before.
func (h *Hold) Multi(ctx context.Context, ops ...zksession.Op) ([]string, error) {
	created, err := h.guarded(ctx, ops)
	if err != nil {
		return nil, fmt.Errorf("guarded write: %w", err)
	}
	return created, nil
}

func (h *Hold) guarded(ctx context.Context, ops []zksession.Op) ([]string, error) {
	if len(h.nodes) == 0 {
		return nil, ErrUnguarded
	}
	// Only after this is it known that no request has been sent if the session turns out to be over.
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(h.ctx, stop)()
	err := h.of.zk.Await(waiting)
	if !h.Valid() {
		return nil, context.Cause(h.ctx)
	}
	if over := h.of.Err(); over != nil {
		return nil, lost(over)
	}
	if err != nil {
		return nil, err
	}
	guards := len(h.nodes)
	all := make([]zksession.Op, 0, guards+len(ops))
	for _, node := range h.nodes {
		// It matches any version, because other clients may set the data.
		all = append(all, zksession.Op{Kind: zksession.OpCheck, Path: node, Version: zksession.AnyVersion})
	}
	created, err := h.of.zk.Multi(ctx, append(all, ops...)...)
	op, _ := errors.AsType[*zksession.OpError](err)
	switch i := refused(err); {
	case err == nil:
		return created[guards:], nil
	case i >= 0 && errors.Is(err, zksession.ErrSessionExpired):
		return nil, lost(op.Err) // this is the answer to the transaction, so none of it was executed
	case i >= guards:
		return nil, &zksession.OpError{Index: i - guards, Err: op.Err}
	case i >= 0 && errors.Is(err, zksession.ErrNoNode):
		gone := h.of.whyGone(h.nodes[i])
		h.lose(gone)
		return nil, lost(gone)
	case i >= 0:
		return nil, fmt.Errorf("check %s: %w", h.nodes[i], op.Err)
	case errors.Is(err, zksession.ErrSessionExpired) || errors.Is(err, zksession.ErrSessionClosed) ||
		errors.Is(err, zksession.ErrAuthFailed):
		return nil, fmt.Errorf("%w: %w", zksession.ErrConnectionLoss, lost(err))
	}
	return nil, err
}

// refused returns which operation of a transaction was the reason for its refusal, or -1 if
// none was.
func refused(err error) int {
	if op, ok := errors.AsType[*zksession.OpError](err); ok {
		return op.Index
	}
	return -1
}
