package broken

import (
	"context"
	"fmt"
	"sync/atomic"

	"locklab/recipes"
)

// These locks do not notice that they are in another session than before.

// missingOwn does what go-zookeeper's own lock does: a client that sees no lower number holds the lock. It does not
// require that its own znode is in the list.
func missingOwn(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.verify = func(a *attempt, _ []contender) (err error) {
		a.s, err = a.q.c.Session(context.Background())
		return err
	}
	return Ways{Write: q}
}

// staleOwn requires that its znode exists, but not that it belongs to this session.
func staleOwn(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.verify = func(a *attempt, all []contender) (err error) {
		if err := q.listed(a, all); err != nil {
			return err
		}
		if a.s, err = a.q.c.Session(context.Background()); err != nil {
			return err
		}
		return a.look()
	}
	return Ways{Write: q}
}

// localReentry is a reentrant lock. It remembers that it is held until a release has succeeded, and does not ask
// whether it is. A release that comes after the session's end does not succeed.
func localReentry(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	var held atomic.Pointer[attempt]
	return Ways{Write: acquirer(func(ctx context.Context) (*recipes.Hold, error) {
		if a := held.Load(); a != nil {
			s, err := cfg.Client.Session(ctx)
			if err != nil {
				return nil, err
			}
			return hold(s, a.stat.Czxid, func() error { return nil }), nil // the outermost release counts
		}
		a, err := q.enter(ctx)
		if err != nil {
			return nil, err
		}
		held.Store(a)
		return hold(a.s, a.stat.Czxid, func() error {
			if err := a.s.Err(); err != nil {
				return fmt.Errorf("%w: %w", recipes.ErrLockLost, err)
			}
			held.Store(nil)
			return a.remove()
		}), nil
	})}
}

// forgetfulSession is as sound as a lock can be on a plain client. Only its client is not: see [forgetful].
func forgetfulSession(cfg Config) Ways { return Ways{Write: newQueue(cfg, cfg.Path, locking)} }
