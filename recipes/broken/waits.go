package broken

import (
	"context"
	"path"

	"github.com/go-zookeeper/zk"
)

// These locks wait for ever, or make others wait for ever.

// lostWakeup watches by a check of existence, and ignores what the check says: if the predecessor has already gone,
// the watch waits for its return.
func lostWakeup(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.watch = func(a *attempt, name string) (events <-chan zk.Event, err error) {
		err = a.q.c.repeat(func() (err error) {
			_, _, events, err = a.q.c.Conn.ExistsW(path.Join(a.q.dir, name))
			return err
		})
		return events, err
	}
	return Ways{Write: q}
}

// cancelledCleanup cleans up with the caller's context, whose end is the very reason for the cleanup.
func cancelledCleanup(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.discard = func(ctx context.Context, a *attempt) {
		if ctx.Err() == nil {
			_ = a.remove()
		}
	}
	return Ways{Write: q}
}
