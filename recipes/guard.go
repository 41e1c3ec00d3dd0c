package recipes

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// guard ends the hold when its znode, the one created by czxid, is deleted by somebody
// else. own is a waiter for the znode, registered before the hold was granted.
func (s *Session) guard(h *Hold, node string, czxid int64, own *waiter) {
	watch := func() {
		for {
			select {
			case e := <-own.C:
				if e == Deleted && own.first {
					h.lose(s.whyGone(node))
					return
				}
			case <-h.ctx.Done():
				own.stop()
			}
			if h.ctx.Err() != nil {
				return
			}
			// Changed is nothing that ends a hold, but the watch is used up. And
			// where paths are used again, as in the naive lock, Deleted may be about
			// the holder before us.
			var data []byte
			var stat Stat
			var err error
			data, stat, own, err = s.rewatch(h.ctx, node)
			switch {
			case errors.Is(err, ErrNoNode):
				h.lose(s.whyGone(node))
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
	if !s.tasks.start(watch) {
		own.stop() // the session is over, and the hold with it
	}
}

// whyGone says why a hold's znode is gone: by the session's end, if that is known yet.
// (A client that reconnects while its session is being closed may hear of the znode first.)
func (s *Session) whyGone(node string) error {
	if err := s.Err(); err != nil {
		return err
	}
	return fmt.Errorf("%s was deleted", node)
}

// watchOwn watches a znode that this session has created. If it is gone, or another
// session's by now, that is ErrNoNode.
func (s *Session) watchOwn(ctx context.Context, node string) ([]byte, Stat, *waiter, error) {
	for {
		data, stat, w, err := s.hub.get(ctx, node)
		switch {
		case errors.Is(err, ErrConnectionLoss):
			continue // waits until we are connected again
		case err != nil:
			return nil, Stat{}, nil, err
		case stat.Owner != s.ID():
			w.stop()
			return nil, Stat{}, nil, ErrNoNode
		}
		return data, stat, w, nil
	}
}

// rewatch watches a znode again. It gives up only if the znode is gone or ctx has ended.
func (s *Session) rewatch(ctx context.Context, node string) ([]byte, Stat, *waiter, error) {
	for backoff := backoffMin; ; backoff = min(2*backoff, backoffMax) {
		data, stat, w, err := s.hub.get(ctx, node)
		if err == nil || errors.Is(err, ErrNoNode) {
			return data, stat, w, err
		}
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return nil, Stat{}, nil, ended(ctx)
		}
	}
}

// confirm waits for the janitor to have released a hold, or for ctx.
func (s *Session) confirm(ctx context.Context, removed <-chan error) error {
	select {
	case err := <-removed:
		if err != nil {
			return lost(err) // gone before we came, or with the session
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("unconfirmed: %w", ended(ctx))
	}
}
