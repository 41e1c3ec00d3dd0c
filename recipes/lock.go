package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// A Lock is something that a client can hold. Many goroutines may acquire the
// same Lock value at once; each call is a contender of its own, even if the
// caller holds the lock already. Re-entry goes by the hold: see [Hold.Reenter].
type Lock interface {
	// Acquire waits until the lock is held, ctx ends or the session is over. It returns a hold, or an error that wraps the
	// context's error, the session's end (see [Session.Err]), ErrSequenceExhausted, or the refusal of the service, such as
	// [ErrNoAuth]. After an error nothing is held, and whatever the attempt left at the service is removed in the
	// background while the session lives, or by its end.
	//
	// Prefer [Do]: it bounds the work by the hold, and releases it even if the work panics. A hold that is not released
	// keeps others waiting for as long as its session lives.
	Acquire(ctx context.Context) (*Hold, error)
}

// A Hold is a lock being held. Its methods may be called from any goroutine.
type Hold struct {
	token   int64
	session int64
	slots   []int // nil but for a semaphore's
	ctx     context.Context
	cancel  context.CancelCauseFunc
	key     any    // of its lock: see [claim]; nil if the lock has none
	under   *claim // of the context with which it was acquired; nil but for a semaphore's
	entries entries
	// reentrant says that entries may be more than one.
	reentrant bool
	place     *place     // where it queued; nil if there is no queue
	path      string     // of its first znode
	nodes     []string   // its znodes, if no other hold can ever have znodes of the same names
	term      *leaseTerm // nil if the hold has no clock of its own
	of        *Session   // nil if it is not a session of this package
	observed  *observed  // nil if there is no observer
	// unwarn ends the wait for the loss of a hold of which the session would warn; nil if there is none.
	unwarn func() bool
	// unguarded runs until the hold's znode is watched; nil if it is from the start.
	unguarded zksession.Timer
	revoked   context.Context
	revoke    context.CancelFunc
	// release releases the lock at the service and waits until that is confirmed or ctx ends. It runs at most once,
	// after the local end of the hold. If the hold was lost, ctx has ended.
	release func(ctx context.Context) error
}

// newHold makes a hold that ends, at the latest, with parent.
func newHold(parent context.Context, session, token int64, release func(context.Context) error) *Hold {
	ctx, cancel := context.WithCancelCause(parent)
	h := &Hold{token: token, session: session, ctx: ctx, cancel: cancel, release: release}
	h.revoked, h.revoke = context.WithCancel(context.Background())
	return h
}

// Token returns the hold's fencing token: the zxid of the transaction that created
// its znode, which rises strictly over the successive holders of one lock (for a semaphore, of one
// slot: see [Hold.Slots]). It is 0 where the recipe has none.
func (h *Hold) Token() int64 { return h.token }

// Slots returns which of a semaphore's permits are held: each is a number that no other hold has at the same time, from
// 0, and usually less than the number of permits (unless that was lowered). Tokens rise strictly over the successive
// holders of one slot, but not over those of different slots: a resource that refuses stale tokens must remember the
// highest for each slot. It is nil for other recipes. It is also nil where clients that know no slots, such as
// Curator's, held permits at the time of the grant: their accesses could not be told apart, and the token is then
// useless. So look at its length before you use it.
func (h *Hold) Slots() []int { return slices.Clone(h.slots) }

// Path returns the path of the hold's znode, by which people find it at the service, and [Session.Revoke] asks for it.
// Of a semaphore's hold it is that of its first permit. It is empty for locks that do not say.
func (h *Hold) Path() string { return h.path }

// Session returns the id of the session that holds.
func (h *Hold) Session() int64 { return h.session }

// Context is cancelled when the hold ends. Its [context.Cause] is then ErrReleased, or wraps ErrLockLost together with
// ErrSessionExpired, ErrSessionClosed, ErrLeaseExpired or the deletion of the hold's znode. It does not prove that the
// lock is held: while the client is stopped, or its server is cut off from the leader, it learns of the loss late.
func (h *Hold) Context() context.Context { return h.ctx }

// Release ends the hold, or undoes an entry if there is one: see [Hold.Reenter]. The hold's context is cancelled before
// the service is told, so that this client stops believing first.
//
// A hold that was lost has to be released too. What it still has at the service keeps other clients waiting until then,
// or until the session ends: a client learns of a loss in the middle of its work, and the next holder must not begin
// while a request of that work is under way. So Release also says that the work has stopped. A hold that is still not
// released a session timeout after its loss is logged as a warning, once. Release returns
//
//   - nil: the service confirmed that the lock is free of this hold; or an entry made by
//     [Hold.Reenter] was undone, and the hold goes on;
//   - an error wrapping ErrLockLost: the hold had ended before, or its session
//     ended while it was being released; what it still has at the service is removed in the background;
//   - an error wrapping [ErrNoAuth]: the ACL of the lock's directory has changed and refuses the delete; the
//     znode stays, and other contenders wait, until the session ends;
//   - an error wrapping that of ctx: not confirmed in time; the attempt goes on in the
//     background until it succeeds or the session is over;
//   - ErrReleased: it was released before; nothing was done.
//
// Release gives the service a second even if ctx has ended, because the end of the caller's work is a common reason to
// release.
func (h *Hold) Release(ctx context.Context) error {
	ctx, stop := tasks.Grace(ctx, releaseGrace)
	defer stop()
	return h.leave(ctx)
}

// releaseGrace is the least time that a release gives the service.
const releaseGrace = time.Second

// leave is Release without the grace.
func (h *Hold) leave(ctx context.Context) error {
	last, ok := h.entries.undo()
	if !ok {
		return ErrReleased
	}
	if last {
		if h.unguarded != nil {
			h.unguarded.Stop()
		}
		if h.unwarn != nil {
			h.unwarn()
		}
		h.cancel(ErrReleased)
	}
	if cause := context.Cause(h.ctx); cause != nil && cause != ErrReleased { // whichever cause came first stays
		if last && h.of != nil {
			_ = h.release(h.ctx) // which has ended, so it does not wait
		}
		return fmt.Errorf("release: %w", cause)
	}
	if !last {
		return nil
	}
	over := h.observed.released()
	err := h.release(ctx)
	if err != nil {
		err = fmt.Errorf("release: %w", err)
	}
	over(err)
	return err
}

// lose ends the hold because of reason, unless it has ended already.
func (h *Hold) lose(reason error) { h.cancel(lost(reason)) }

// The errors that the caller of a recipe may want to tell apart. They are wrapped; use [errors.Is].
var (
	// ErrLockLost says that a hold ended before it was released: its session is over or somebody else deleted its znode.
	ErrLockLost = errors.New("lock lost")
	// ErrNotAcquired says that a lock could not be had without waiting for another contender.
	ErrNotAcquired = errors.New("not acquired")
	// ErrNotReentrant says that a hold's recipe does not support re-entry.
	ErrNotReentrant = errors.New("not reentrant")
	// ErrReleased is the cause of a hold's context after Release, and the result of releasing a hold twice.
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
