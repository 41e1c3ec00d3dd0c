package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// term returns the context that the session's holds descend from: its present lease term, or its life.
func (s *Session) term() context.Context {
	if s.terms == nil {
		return s.life
	}
	t, _ := s.terms.latest()
	return t.ctx
}

// mayHold returns nil if a hold may be granted now. The error is the session's, or ErrLeaseExpired.
func (s *Session) mayHold() error {
	if err := s.Err(); err != nil {
		return err
	}
	if s.life.Err() != nil {
		return zksession.ErrSessionClosed // Close has begun
	}
	if errors.Is(context.Cause(s.term()), ErrLeaseExpired) {
		return ErrLeaseExpired
	}
	return nil
}

// ready waits until the lease clock allows a hold to be granted. Its error is the session's, or wraps that of ctx
// or the refusal of the heartbeats.
func (s *Session) ready(ctx context.Context) error {
	if s.terms == nil || s.terms.asks {
		return nil // the attempt itself will find that out
	}
	for {
		t, next := s.terms.latest()
		if t.ctx.Err() == nil {
			return nil
		}
		if err := s.terms.refusal(); err != nil {
			return fmt.Errorf("lease clock: %w", err)
		}
		select {
		case <-next:
		case <-s.Done():
			return s.Err()
		case <-ctx.Done():
			return tasks.Ended(ctx)
		}
	}
}

// newHold makes a hold of this session, of the lock with that key.
func (s *Session) newHold(key any, token int64, release func(context.Context) error) *Hold {
	h := newClaimedHold(s.term(), key, s.ID(), token, release)
	h.of = s
	h.term, _ = h.ctx.Value(leaseTermKey{}).(*leaseTerm)
	return h
}

// Deadline returns the time until which the hold certainly lasts, unless an administrator deletes its znode or the
// session is closed: the service does not expire the session before it. The deadline moves on with the heartbeats
// until it passes, which ends the hold. ok is false without a lease clock, and for locks of other packages that have no
// deadline.
func (h *Hold) Deadline() (deadline time.Time, ok bool) {
	if h.term == nil || h.term.of.asks {
		return time.Time{}, false
	}
	h.term.of.mu.Lock()
	defer h.term.of.mu.Unlock()
	return h.term.deadline, true
}

// Valid reports whether the hold lasts, by looking at the clock itself. That differs from a check of the context
// in a process that was stopped: when the process goes on, Valid knows at once, while the timer that ends the context
// may not have run yet. The process can also be stopped after Valid returns; only a token, or [Hold.Multi], protects
// against that.
func (h *Hold) Valid() bool {
	if t := h.term; t != nil {
		t.of.mu.Lock()
		t.of.lapse(t)
		t.of.mu.Unlock()
	}
	return h.ctx.Err() == nil
}

// slotMark stands before the slot in the name of a lease.
const slotMark = "-slot"

// noSlot is the slot of a lease whose name has none, such as a lease of Curator's.
const noSlot = -1

// A lease is a child of a semaphore's directory of leases: one permit in use.
type lease struct {
	name string
	slot int
}

// placeMark stands before the number of the place in the queue from which a lease was acquired.
const placeMark = "-of"

// leasePrefix begins the names of all leases of one attempt.
func leasePrefix(guid string) string { return "_c_" + guid + placeMark }

// leasesOf returns the prefix of the names of all leases acquired from a place in the queue, which has the attempt's
// GUID too. It returns false if the place belongs to another kind of client. Number and GUID together identify one
// znode: an attempt may have had two, one of them a leftover.
func leasesOf(place string) (prefix string, ok bool) {
	guid, number, ok := strings.Cut(strings.TrimPrefix(place, "_c_"), "-"+mutexLayout[0])
	if !ok || protectedPrefix(guid, mutexLayout[0])+number != place {
		return "", false
	}
	return leasePrefix(guid) + number + slotMark, true
}

// leaseName is what a lease is created by, from a place in the queue. The slot is part of the name, so that the
// list of the directory is the list of the slots in use: in the data it would take a
// read of every lease for every acquisition, and the data is the user's.
func leaseName(place string, slot int) string {
	prefix, _ := leasesOf(place)
	return fmt.Sprintf("%s%d-%s", prefix, slot, leaseLayout[0])
}

// parseLease reads a child's name, by the rules of [layout.parse]: whatever
// ends in "lease-" and a sequence number is a lease.
func parseLease(name string) (lease, bool) {
	if _, ok := leaseLayout.parse(name); !ok {
		return lease{}, false
	}
	l := lease{name, noSlot}
	before, ok := strings.CutSuffix(name[:strings.LastIndex(name, leaseLayout[0])], "-")
	i := strings.LastIndex(before, slotMark)
	if !ok || i < 0 {
		return l, true
	}
	digits := before[i+len(slotMark):]
	slot, err := strconv.ParseUint(digits, 10, 31)
	if err == nil && digits == strconv.FormatUint(slot, 10) {
		l.slot = int(slot)
	}
	return l, true
}

// parseLeases returns the leases among children.
func parseLeases(children []string) []lease {
	leases := make([]lease, 0, len(children))
	for _, name := range children {
		if l, ok := parseLease(name); ok {
			leases = append(leases, l)
		}
	}
	return leases
}

// freeSlots returns the n lowest slots that no lease has. They lie below the number of
// permits, provided that n more leases do not exceed it.
func freeSlots(leases []lease, n int) []int {
	var free []int
	for slot := 0; len(free) < n; slot++ {
		if !slices.ContainsFunc(leases, func(l lease) bool { return l.slot == slot }) {
			free = append(free, slot)
		}
	}
	return free
}
