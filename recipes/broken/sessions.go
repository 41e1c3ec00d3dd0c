package broken

import (
	"context"

	"locklab/recipes"
)

// Locks that do not notice that they are in another session than before.

// missingOwn does as go-zookeeper's own lock: whoever sees no lower number holds. That
// its own znode is among those seen is not required.
func missingOwn(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.verify = func(a *attempt, _ []contender) (err error) {
		a.s, err = a.q.c.session(context.Background())
		return err
	}
	return Ways{Write: q}
}

// staleOwn requires its znode to be there, but not that it is of this session.
func staleOwn(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.verify = func(a *attempt, all []contender) (err error) {
		if err := q.listed(a, all); err != nil {
			return err
		}
		if a.s, err = a.q.c.session(context.Background()); err != nil {
			return err
		}
		return a.look()
	}
	return Ways{Write: q}
}

// reentryKey is under what a hold's context says that the lock is held there.
type reentryKey struct{ q *queue }

// localReentry is a reentrant lock: who holds already, by a context that descends from the
// hold's, holds once more. It counts that on its own, and asks nobody whether the lock is still held.
func localReentry(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	return Ways{Write: acquirer(func(ctx context.Context) (*recipes.Hold, error) {
		if token, ok := ctx.Value(reentryKey{q}).(int64); ok {
			s, err := cfg.Client.session(ctx)
			if err != nil {
				return nil, err
			}
			return s.hold(token, func() error { return nil }), nil // the outermost release counts
		}
		a, err := q.enter(ctx)
		if err != nil {
			return nil, err
		}
		s := a.s
		s.life = context.WithValue(s.life, reentryKey{q}, a.stat.Czxid)
		return s.hold(a.stat.Czxid, a.remove), nil
	})}
}
