package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"locklab/recipes/internal/tasks"
)

// A Member is one of the locks of a [Multi].
type Member struct {
	// Key identifies the member, usually by its path. It also decides the canonical order, so every process must give the
	// same lock the same key.
	Key  string
	Lock Lock
}

// MultiConfig says which locks are held together.
type MultiConfig struct {
	Members []Member
	// Canonical acquires in the order of the keys rather than in that of Members.
	// Clients that want overlapping sets of locks in different orders deadlock
	// (each holds what the other waits for) unless they all agree on one order.
	Canonical bool

	_ struct{} // no positional literals
}

// A Multi is several locks held as one, after Curator's InterProcessMultiLock. It
// differs where that is known to be wrong: it stops at the first failure, it has one
// deadline for all, it refuses the same key twice, or the same path of one
// ensemble, and it grants only what is still held in full at the end. Two sessions count
// as sessions with different ensembles if their lists of servers have none in common.
//
// Many goroutines may acquire the same Multi at once.
type Multi struct {
	members []Member
}

// NewMulti checks the configuration. It asks the service nothing.
func NewMulti(cfg MultiConfig) (*Multi, error) {
	if len(cfg.Members) == 0 {
		return nil, errors.New("multi-lock: no members given")
	}
	members := slices.Clone(cfg.Members)
	seen, sites := map[string]bool{}, map[string]site{}
	for i, m := range members {
		switch {
		case m.Lock == nil:
			return nil, fmt.Errorf("multi-lock: member %d (%q) has no lock", i, m.Key)
		case seen[m.Key]:
			// It would wait for itself for ever, unless it were reentrant.
			return nil, fmt.Errorf("multi-lock: member %q is given twice", m.Key)
		}
		seen[m.Key] = true
		l, ok := m.Lock.(placed)
		if !ok {
			continue
		}
		here := l.where()
		for _, other := range members[:i] {
			if there, ok := sites[other.Key]; ok && there.same(here) {
				return nil, fmt.Errorf("multi-lock: members %q and %q are both at %s", other.Key, m.Key, here.path)
			}
		}
		sites[m.Key] = here
	}
	if cfg.Canonical {
		slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Key, b.Key) })
	}
	return &Multi{members}, nil
}

// A placed lock is one that says where it is. Two members at one site would wait for each other.
type placed interface{ where() site }

// A site is a path in the ensemble of a session. The session is nil if it is not known.
type site struct {
	session *Session
	path    string
}

// same reports whether two sites are one, as far as the configuration tells. Sessions whose lists of servers have none
// in common are taken for those of different ensembles.
func (a site) same(b site) bool {
	if a.session == nil || b.session == nil {
		return a.path == b.path
	}
	if path.Join("/", a.session.chroot, a.path) != path.Join("/", b.session.chroot, b.path) {
		return false
	}
	mine, theirs := a.session.servers, b.session.servers
	shared := func(server string) bool { return slices.Contains(theirs, server) }
	return len(mine) == 0 || len(theirs) == 0 || slices.ContainsFunc(mine, shared)
}

// Acquire acquires all members, one after the other, within the one ctx. At the
// first that fails it releases those it has, in reverse, and returns that failure
// joined with whatever went wrong in releasing. It does the same as soon as it has lost a member that it had acquired.
func (m *Multi) Acquire(ctx context.Context) (*MultiHold, error) {
	return m.acquire(ctx, func(ctx context.Context, l Lock) (*Hold, error) { return l.Acquire(ctx) })
}

func (m *Multi) acquire(ctx context.Context, one func(context.Context, Lock) (*Hold, error)) (*MultiHold, error) {
	h := &MultiHold{holds: make([]KeyedHold, 0, len(m.members))}
	// A member that is lost while the client waits for the next one keeps others waiting until it is released, perhaps
	// those for whom the client waits.
	waiting, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	for _, member := range m.members {
		hold, err := one(waiting, member.Lock)
		if err != nil {
			why := fmt.Errorf("multi-lock: acquire %s: %w", member.Key, err)
			if cause := context.Cause(waiting); ctx.Err() == nil && cause != nil {
				why = fmt.Errorf("multi-lock: %w", cause)
			}
			return nil, h.abandon(ctx, why)
		}
		h.holds = append(h.holds, KeyedHold{member.Key, hold})
		defer context.AfterFunc(hold.Context(), func() { lose(KeyedHold{member.Key, hold}.ended()) })()
	}
	// A member may have been lost since. From here on, watch ends the whole when a member is lost.
	h.watch()
	if cause := context.Cause(h.ctx); cause != nil {
		return nil, h.abandon(ctx, fmt.Errorf("multi-lock: %w", cause))
	}
	return h, nil
}

// A KeyedHold is the hold of one member.
type KeyedHold struct {
	Key string
	*Hold
}

func (k KeyedHold) ended() error {
	return fmt.Errorf("member %s: %w", k.Key, context.Cause(k.Context()))
}

// A MultiHold is all members of a [Multi] being held. Its methods may be called
// from any goroutine.
type MultiHold struct {
	holds   []KeyedHold // in the order in which they were acquired
	ctx     context.Context
	cancel  context.CancelCauseFunc
	stop    []func() bool
	entries entries
	// revoked ends when the first member is asked to leave.
	revoked context.Context
	revoke  context.CancelFunc
}

// Holds returns the members' holds, in the order in which they were acquired. Each
// has a token of its own, for the resource that its own lock protects.
func (h *MultiHold) Holds() []KeyedHold { return slices.Clone(h.holds) }

// Context is cancelled when the first member's hold ends, with that hold's cause and the member's key in it; after
// Release, with ErrReleased. The other members are held until Release, because the work may need them until it has
// stopped.
func (h *MultiHold) Context() context.Context { return h.ctx }

// Revoked returns a channel that is closed once any member has been asked to leave: see [Hold.Revoked].
func (h *MultiHold) Revoked() <-chan struct{} { return h.revoked.Done() }

// watch makes the context, which ends with the first hold.
func (h *MultiHold) watch() {
	ctx := context.Background()
	for _, k := range h.holds {
		ctx = k.mark(ctx)
	}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	h.revoked, h.revoke = context.WithCancel(context.Background())
	for _, k := range h.holds {
		h.stop = append(h.stop, context.AfterFunc(k.Context(), func() { h.cancel(k.ended()) }))
		// AfterFunc calls in a goroutine of its own, which would be too late for the single check that Acquire makes.
		if k.Context().Err() != nil {
			h.cancel(k.ended())
		}
		h.stop = append(h.stop, context.AfterFunc(k.revoked, h.revoke))
		if k.revoked.Err() != nil {
			h.revoke()
		}
	}
}

// Valid reports whether all members' holds last: see [Hold.Valid].
func (h *MultiHold) Valid() bool {
	for _, k := range h.holds {
		if !k.Valid() {
			return false
		}
	}
	return h.ctx.Err() == nil
}

// Release releases all members in reverse, each whether or not the others could be released, and joins their errors;
// see [Hold.Release] for what those mean. If a member was lost before, it returns that loss, and the members are
// released in the background. If there is an entry ([MultiHold.Reenter]), Release undoes that instead, and returns the
// cause if the whole has ended by then. A release after the last returns ErrReleased.
func (h *MultiHold) Release(ctx context.Context) error {
	last, ok := h.entries.undo()
	switch {
	case !ok:
		return ErrReleased
	case !last && h.ctx.Err() != nil:
		return fmt.Errorf("multi-lock: release: %w", context.Cause(h.ctx))
	case !last:
		return nil
	}
	for _, stop := range h.stop {
		stop()
	}
	h.cancel(ErrReleased)
	if cause := context.Cause(h.ctx); cause != ErrReleased { // whichever cause came first stays
		_ = h.release(h.ctx) // which has ended, so it does not wait
		return fmt.Errorf("multi-lock: release: %w", cause)
	}
	ctx, stop := tasks.Grace(ctx, releaseGrace)
	defer stop()
	return h.release(ctx)
}

func (h *MultiHold) release(ctx context.Context) error {
	var errs []error
	for _, k := range slices.Backward(h.holds) {
		if err := k.leave(ctx); err != nil {
			errs = append(errs, fmt.Errorf("multi-lock: %s: %w", k.Key, err))
		}
	}
	return errors.Join(errs...)
}

// abandon releases the members acquired before the failure why. If a member's hold had already ended, its error is
// left out: why names it, or it no longer matters. If ctx has ended, the releases go on in the background, as every
// recipe's do.
func (h *MultiHold) abandon(ctx context.Context, why error) error {
	for _, stop := range h.stop {
		stop()
	}
	if h.cancel != nil {
		h.cancel(why)
	}
	if err := h.release(ctx); err != nil && !errors.Is(err, ErrLockLost) && ctx.Err() == nil {
		return errors.Join(why, err)
	}
	return why
}
