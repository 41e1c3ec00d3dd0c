package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// ZKLockConfig describes a [ZKLock].
type ZKLockConfig struct {
	// Config is as for a session, but states of the next session may follow the Expired state. zk.Lock takes one ACL:
	// that of Path.
	zksession.Config
	// Path is the lock's directory. It is created with its missing parents, as persistent znodes.
	Path string

	_ struct{} // no positional literals
}

// A ZKLock is zk.Lock of go-zookeeper v1, unchanged: a peer to compare with, not to rely on. It has a zk.Conn of its
// own, which makes a new session when one has expired; zk.Lock does not notice. ZKLock does not mend that or any
// other fault of zk.Lock: it never checks that its own znode is in the queue, and leaves it there after most errors.
// Its znodes are those of a Mutex, so both can use one path.
//
// Many goroutines may acquire it at once; each call has a zk.Lock of its own.
type ZKLock struct {
	path   string
	aclOf  func(path string) []zk.ACL
	client *zksession.Plain
}

// ConnectZKLock returns once the first session is established, or an error that wraps that of ctx.
func ConnectZKLock(ctx context.Context, cfg ZKLockConfig) (*ZKLock, error) {
	if err := checkPath(cfg.Path); err != nil {
		return nil, fmt.Errorf("zk.Lock: %w", err)
	}
	acl := cfg.ACL
	if acl == nil {
		acl = zksession.Open
	}
	cfg.ACL = nil
	c, err := zksession.ConnectPlain(ctx, zksession.PlainConfig{Config: cfg.Config, Lost: lost})
	if err != nil {
		return nil, fmt.Errorf("zk.Lock: %w", err)
	}
	return &ZKLock{cfg.Path, acl, c}, nil
}

// At returns the zk.Lock at another path, as [ZKLockConfig] has it, on the same connection. Closing one closes both.
func (l *ZKLock) At(path string) (*ZKLock, error) {
	if err := checkPath(path); err != nil {
		return nil, fmt.Errorf("zk.Lock: %w", err)
	}
	return &ZKLock{path, l.aclOf, l.client}, nil
}

// Session returns the id of the present or last session.
func (l *ZKLock) Session() int64 { return l.client.Last().ID }

// Close ends the connection: its holds first, then the session at the server if it can be reached. It waits for all
// goroutines, or for ctx, whose error it wraps then. It returns an error wrapping ErrConnectionLoss if no server could
// be told.
func (l *ZKLock) Close(ctx context.Context) error { return l.client.Close(ctx) }

// Acquire implements [Lock]. zk.Lock knows no contexts: when ctx ends, Acquire returns, and in the background the
// attempt keeps its place in the queue, gets the lock at its turn and unlocks it at once. After an error that wraps
// ErrConnectionLoss a znode may be left in the queue until its session ends, and every client that comes later waits
// for it, this one included.
//
// The hold has no token. Its session is the one that zk.Conn had when zk.Lock said that it holds, which need not be the
// one that it queued in; the hold ends with that, as soon as zk.Conn tells.
func (l *ZKLock) Acquire(ctx context.Context) (*Hold, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.path, tasks.Ended(ctx))
	}
	if len(claimed(ctx, l).live()) > 0 {
		return nil, fmt.Errorf("acquire %s: %w", l.path, ErrHeld)
	}
	lock := zk.NewLock(l.client.Conn, l.path, l.aclOf(l.path))
	var s zksession.PlainSession // set if the attempt succeeds in time
	err := l.client.HandOver(ctx, func() error {
		if err := lock.Lock(); err != nil {
			return l.translate(err)
		}
		s = l.client.Last()
		return nil
	}, func() { _ = lock.Unlock() })
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.path, err)
	}
	return newClaimedHold(s.Life, l, s.ID, 0, func(ctx context.Context) error { return l.unlock(ctx, lock) }), nil
}

// unlock calls zk.Lock once, as its users do. If that fails, the znode may stay.
func (l *ZKLock) unlock(ctx context.Context, lock *zk.Lock) error {
	err := l.client.HandOver(ctx, lock.Unlock, func() {})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return fmt.Errorf("unconfirmed: %w", err)
	case errors.Is(err, zk.ErrNoNode):
		return lost(errors.New("its znode was deleted"))
	}
	if err = l.translate(err); errors.Is(err, zksession.ErrSessionExpired) ||
		errors.Is(err, zksession.ErrSessionClosed) {
		return lost(err)
	}
	return err
}

// translate turns what zk.Lock returned into this package's errors.
func (l *ZKLock) translate(err error) error {
	switch {
	case l.client.Err() != nil:
		return l.client.Err()
	case errors.Is(err, zk.ErrSessionExpired):
		return zksession.ErrSessionExpired
	case errors.Is(err, zk.ErrClosing):
		return zksession.ErrSessionClosed
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth):
		return err
	}
	return fmt.Errorf("%w: %w", zksession.ErrConnectionLoss, err)
}
