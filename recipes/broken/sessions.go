package broken

import (
	"context"

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

// reentryKey is the key under which a hold's context says that the lock is held.
type reentryKey struct{ q *queue }

// localReentry is a reentrant lock: a client whose context descends from a hold's context is granted the lock again.
// The lock counts the entries itself, and does not ask whether it is still held.
func localReentry(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	return Ways{Write: acquirer(func(ctx context.Context) (*recipes.Hold, error) {
		if token, ok := ctx.Value(reentryKey{q}).(int64); ok {
			s, err := cfg.Client.Session(ctx)
			if err != nil {
				return nil, err
			}
			return hold(s, token, func() error { return nil }), nil // the outermost release counts
		}
		a, err := q.enter(ctx)
		if err != nil {
			return nil, err
		}
		s := a.s
		s.Life = context.WithValue(s.Life, reentryKey{q}, a.stat.Czxid)
		return hold(s, a.stat.Czxid, a.remove), nil
	})}
}
