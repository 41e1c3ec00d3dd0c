package broken

import (
	"context"
	"path"

	"github.com/go-zookeeper/zk"
)

// Locks that wait for ever, or have others wait.

// lostWakeup watches by a check of existence, and does not look at what the check says: if the
// predecessor went before, the watch is for its return.
func lostWakeup(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.watch = func(a *attempt, name string) (events <-chan zk.Event, err error) {
		err = a.q.c.repeat(func() (err error) {
			_, _, events, err = a.q.c.conn.ExistsW(path.Join(a.q.dir, name))
			return err
		})
		return events, err
	}
	return Ways{Write: q}
}

// cancelledCleanup cleans up with the caller's context, which is why it has to clean up.
func cancelledCleanup(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.discard = func(ctx context.Context, a *attempt) {
		if ctx.Err() == nil {
			_ = a.remove()
		}
	}
	return Ways{Write: q}
}
