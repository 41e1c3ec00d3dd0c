package recipes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// ZKLockConfig describes a [ZKLock].
type ZKLockConfig struct {
	// Servers, Timeout, Dial, OnState and Logger are as in [SessionConfig], but that after the
	// Expired state others may follow, of the next session.
	Servers []string
	Timeout time.Duration
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	OnState func(StateChange)
	Logger  *slog.Logger
	// Path is the lock's directory. It is created, with what is missing above it, as persistent znodes.
	Path string

	_ struct{} // no positional literals
}

// A ZKLock is zk.Lock of go-zookeeper v1, as it is: a peer to be compared with, not to be relied on. It has a zk.Conn of its
// own, which makes a new session when one has expired; zk.Lock takes no notice. Nothing here mends that, nor the rest:
// it never makes sure that its own znode is in the queue, and leaves it there after most errors. Its znodes
// are those of a Mutex, so both can use one path.
//
// Many goroutines may acquire it at once; each call has a zk.Lock of its own.
type ZKLock struct {
	path string
	conn *peerConn
}

// ConnectZKLock returns once the first session is established, or an error that wraps that of ctx.
func ConnectZKLock(ctx context.Context, cfg ZKLockConfig) (*ZKLock, error) {
	if len(cfg.Servers) == 0 {
		return nil, errors.New("zk.Lock: no servers given")
	}
	if err := checkPath(cfg.Path); err != nil {
		return nil, fmt.Errorf("zk.Lock: %w", err)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	c, err := connectPeer(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("zk.Lock: connect to %v: %w", cfg.Servers, err)
	}
	return &ZKLock{cfg.Path, c}, nil
}

// Session returns the id of the present or last session.
func (l *ZKLock) Session() int64 { return l.conn.present().id }

// Close ends the connection: its holds first, then the session at the server if it can be reached. It
// waits for all goroutines, or for ctx, whose error it wraps then. It returns an error wrapping ErrConnectionLoss if no
// server could be told.
func (l *ZKLock) Close(ctx context.Context) error { return l.conn.close(ctx) }

// Acquire implements [Lock]. zk.Lock knows no contexts: when ctx ends, Acquire returns, and in the background
// the attempt keeps its place in the queue, gets the lock at its turn and unlocks it at once. After an error
// that wraps ErrConnectionLoss a znode may be left in the queue until its session ends, and whoever
// comes later waits for it, this client included.
//
// The hold has no token. Its session is the one that zk.Conn had when zk.Lock said that it holds,
// which need not be the one that it queued in; the hold ends with that, as soon as zk.Conn tells.
func (l *ZKLock) Acquire(ctx context.Context) (*Hold, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.path, ended(ctx))
	}
	lock := zk.NewLock(l.conn.zk, l.path, everybody)
	work := func(context.Context) (*peerSession, error) {
		if err := lock.Lock(); err != nil {
			return nil, l.conn.translate(err)
		}
		return l.conn.present(), nil
	}
	s, err := handOver(ctx, &l.conn.tasks, l.conn.over, work, func(*peerSession) { _ = lock.Unlock() })
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", l.path, err)
	}
	return newHold(s.life, s.id, 0, func(ctx context.Context) error { return l.unlock(ctx, lock) }), nil
}

// unlock asks zk.Lock once, as its users do. If that fails the znode may stay.
func (l *ZKLock) unlock(ctx context.Context, lock *zk.Lock) error {
	work := func(context.Context) (struct{}, error) { return struct{}{}, lock.Unlock() }
	_, err := handOver(ctx, &l.conn.tasks, l.conn.over, work, func(struct{}) {})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return fmt.Errorf("unconfirmed: %w", err)
	case errors.Is(err, zk.ErrNoNode):
		return lost(errors.New("its znode was deleted"))
	}
	if err = l.conn.translate(err); errors.Is(err, ErrSessionExpired) || errors.Is(err, ErrSessionClosed) {
		return lost(err)
	}
	return err
}
