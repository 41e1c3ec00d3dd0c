package broken

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// Connect returns a plain client, as most published locks are built on, once there is a session or ctx ends. The
// client makes a new session when one has expired, and sends there what it has queued. Its requests wait while no
// server can be reached.
func Connect(ctx context.Context, cfg zksession.Config) (*zksession.Plain, error) {
	lost := func(err error) error { return fmt.Errorf("%w: %w", recipes.ErrLockLost, err) }
	return zksession.ConnectPlain(ctx, zksession.PlainConfig{Config: cfg, Lost: lost, KeepRequests: true})
}

// A session is one of the sessions that a client has one after another.
type session = zksession.PlainSession

// A client repeats requests until they are answered.
type client struct{ *zksession.Plain }

// answered reports whether err is nil or a server's answer. go-zookeeper has no values for some answers, only text.
func answered(err error) bool {
	return err == nil || slices.Contains([]error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty,
		zk.ErrNoAuth, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments}, err) ||
		strings.HasPrefix(err.Error(), "unknown error")
}

// repeat repeats a request until it is answered, in whichever session.
func (c client) repeat(request func() error) error {
	for {
		err := request()
		if answered(err) {
			return err
		}
		if over := c.Err(); over != nil {
			return over
		}
	}
}

// Config describes a lock of this package.
type Config struct {
	Client *zksession.Plain // from [Connect]
	// Path is the lock's directory, or its one znode. It is created if it does not exist.
	Path string
	// Permits is how many permits a semaphore has, and Units how many of them a hold takes.
	Permits, Units int
	// OnQueued, if set, is called once an attempt has its place in a queue, before it waits,
	// with the number of contenders ahead.
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// Ways are the ways to hold a lock. Those that a lock does not have are nil.
type Ways struct {
	// Write's holds exclude all others, and Read's holds exclude Write's.
	Write, Read recipes.Lock
	// Permits's holds are a number of units of a semaphore.
	Permits recipes.Lock
	// Downgrade turns a hold of Write into one of Read.
	Downgrade func(ctx context.Context, write *recipes.Hold) (*recipes.Hold, error)
}

// acquirer is a function that is a [recipes.Lock].
type acquirer func(ctx context.Context) (*recipes.Hold, error)

func (f acquirer) Acquire(ctx context.Context) (*recipes.Hold, error) { return f(ctx) }

// Locks that leave a znode behind when the reply to its create is lost. It belongs to a session that lives, so it is
// never removed, and every other client waits behind it.

// lostCreate creates again when it has no answer.
func lostCreate(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.settle = func(*attempt) (string, error) { return "", nil }
	return Ways{Write: q}
}

// unsyncedSearch looks for its znode first, but on a server that may lag behind.
func unsyncedSearch(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.settle = func(a *attempt) (string, error) { return a.search(false) }
	return Ways{Write: q}
}

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
