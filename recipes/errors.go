package recipes

import (
	"context"
	"errors"
	"fmt"
)

// What the caller of a recipe may want to tell apart. Errors are wrapped; use
// [errors.Is].
var (
	// ErrLockLost says that a hold ended before it was released: its session is
	// over or somebody else deleted its znode.
	ErrLockLost = errors.New("lock lost")
	// ErrNotAcquired says that a lock could not be had without waiting for somebody.
	ErrNotAcquired = errors.New("not acquired")
	// ErrNotReentrant says that a hold is of a recipe that knows no re-entry.
	ErrNotReentrant = errors.New("not reentrant")
	// ErrReleased is the cause of a hold's context after Release, and the result
	// of releasing a hold twice.
	ErrReleased = errors.New("lock released")
	// ErrSessionExpired says that ZooKeeper declared the session expired.
	ErrSessionExpired = errors.New("session expired")
	// ErrSessionClosed says that the session was closed by its owner.
	ErrSessionClosed = errors.New("session closed")
	// ErrSequenceExhausted says that the lock's directory has counted its children
	// to 2147483647. Sequence numbers repeat from there on, so no queue can be
	// built on them; the lock needs another path (or its directory a new life).
	ErrSequenceExhausted = errors.New("sequence numbers exhausted")
	// ErrUpgrade says that the holder of a read lock asked for the write lock. It would
	// wait for itself, and two who did so for each other: release the read lock
	// first, acquire the write lock, and read anew what was read.
	ErrUpgrade = errors.New("a read lock cannot be upgraded")
	// ErrQuantity says that more permits were asked for than there can ever be, or none.
	ErrQuantity = errors.New("impossible number of permits")
	// ErrLeaseExpired says that a session's lease clock ran out: the service may expire the session
	// soon, or has done so, as far as the client can know. It always comes with ErrLockLost.
	ErrLeaseExpired = errors.New("lease expired")
	// ErrTimeoutTooShort says that a session timeout is too short for a lease clock.
	ErrTimeoutTooShort = errors.New("session timeout too short for a lease clock")
	// ErrUnguarded says that a hold has no znode of its own name, by which a transaction could
	// tell that it lasts: see [Hold.Multi].
	ErrUnguarded = errors.New("hold has no znode of its own name")
	// ErrInvalidPath says that a path is not one that ZooKeeper accepts, or is the root.
	ErrInvalidPath = errors.New("invalid path")
)

// What a [ZooKeeper] answers, besides [ErrSessionExpired] and [ErrSessionClosed].
// Any other error means that the service refused the request for good.
var (
	// ErrNoNode says that the znode (or, for a create, its parent) does not exist.
	ErrNoNode = errors.New("no node")
	// ErrNodeExists says that the znode to create exists already.
	ErrNodeExists = errors.New("node exists")
	// ErrBadVersion says that the znode has another version than the one required.
	ErrBadVersion = errors.New("bad version")
	// ErrUnimplemented says that the server does not know the request.
	ErrUnimplemented = errors.New("unimplemented")
	// ErrConnectionLoss says that the outcome is unknown: the connection went away,
	// or the session moved, before the answer was here. The session still lives as far as we know.
	ErrConnectionLoss = errors.New("connection loss")
)

// errNodeGone ends an attempt whose own znode was deleted by somebody else.
var errNodeGone = errors.New("own znode is gone")

// lost is the cause of a hold that ended for the given reason.
func lost(reason error) error { return fmt.Errorf("%w: %w", ErrLockLost, reason) }

// ended returns why ctx ended, in a way that is both its standard error and its cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
