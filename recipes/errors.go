package recipes

import (
	"errors"
	"fmt"
)

// The errors that the caller of a recipe may want to tell apart. They are wrapped; use [errors.Is].
var (
	// ErrLockLost says that a hold ended before it was released: its session is
	// over or somebody else deleted its znode.
	ErrLockLost = errors.New("lock lost")
	// ErrNotAcquired says that a lock could not be had without waiting for another contender.
	ErrNotAcquired = errors.New("not acquired")
	// ErrNotReentrant says that a hold's recipe does not support re-entry.
	ErrNotReentrant = errors.New("not reentrant")
	// ErrReleased is the cause of a hold's context after Release, and the result
	// of releasing a hold twice.
	ErrReleased = errors.New("lock released")
	// ErrSequenceExhausted says that the lock's directory has counted its children
	// to 2147483647. Sequence numbers repeat from there on, so no queue can be
	// built on them; the lock needs another path (or its directory a new life).
	ErrSequenceExhausted = errors.New("sequence numbers exhausted")
	// ErrUpgrade says that the holder of a read/write lock asked for the write lock. It would wait for itself, and two
	// readers that did so would wait for each other: release the read lock first, acquire the write lock, and read again
	// what was read. It also refuses a read lock to a writer of a lock without a downgrade.
	ErrUpgrade = errors.New("a lock that is held cannot be upgraded")
	// ErrHeld says that a lock was asked for with the context of a hold of that lock, so that the caller would wait for
	// itself: use [Hold.Reenter], or another context. A [Semaphore] returns it only if its free permits can never suffice
	// while the hold lasts. For read/write locks see ErrUpgrade.
	ErrHeld = errors.New("the caller holds the lock already")
	// ErrQuantity says that more permits were asked for than there can ever be, or than one transaction can take, or none.
	ErrQuantity = errors.New("impossible number of permits")
	// ErrLeaseExpired says that the client ended its holds by its own clock, because the service may have expired the
	// session, or may do so soon, as far as the client can know: the service was silent for too long, or a lease clock
	// ran out. It also stands for a disconnect, where that ends holds. It always comes with ErrLockLost.
	ErrLeaseExpired = errors.New("lease expired")
	// ErrTimeoutTooShort says that a session timeout is too short for a lease clock.
	ErrTimeoutTooShort = errors.New("session timeout too short for a lease clock")
	// ErrUnguarded says that a hold has no znode with a name of its own, by which a transaction could check that it lasts:
	// see [Hold.Multi].
	ErrUnguarded = errors.New("hold has no znode of its own name")
	// ErrInvalidPath says that a path is not one that ZooKeeper accepts, or is the root.
	ErrInvalidPath = errors.New("invalid path")
)

// errNodeGone ends an attempt whose own znode was deleted by an administrator.
var errNodeGone = errors.New("own znode is gone")

// lost is the cause of a hold that ended for the given reason.
func lost(reason error) error { return fmt.Errorf("%w: %w", ErrLockLost, reason) }
