package recipes

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// ledgerOf makes the znode that a lock protects, and returns its path and a function that reads it.
func ledgerOf(t *testing.T, s *Session) (ledger string, read func() string) {
	t.Helper()
	ledger = lockPath(t) + "-ledger"
	if err := ensureDir(within(t), s.zk, ledger); err != nil {
		t.Fatal(err)
	}
	return ledger, func() string {
		t.Helper()
		if err := s.zk.Sync(within(t), ledger); err != nil {
			t.Fatal(err)
		}
		data, _, err := s.zk.Get(within(t), ledger)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
}

// On a real service, the write of a client that has lost its lock without hearing of it is refused, whether or not
// another client holds the lock by then.
func TestRealGuardedWrite(t *testing.T) {
	for _, recipe := range recipeNames {
		if recipe == "naive" {
			continue
		}
		t.Run(recipe, func(t *testing.T) {
			lock := lockPath(t)
			s, other := connected(
				t,
				SessionConfig{},
			), connected(
				t,
				SessionConfig{Config: zksession.Config{Servers: rotated(servers(t))}},
			)
			ledger, read := ledgerOf(t, other)
			write := func(h *Hold, data string) error {
				_, err := h.Multi(
					within(t),
					zksession.Op{Kind: zksession.OpSet, Path: ledger, Data: []byte(data), Version: zksession.AnyVersion},
				)
				return err
			}
			h := acquired(t, realLock(t, recipe, s, lock, nil))
			if err := write(h, "mine"); err != nil || read() != "mine" {
				t.Errorf("%q, %v", read(), err)
			}
			// This is how the hold looks to a client that the event has not reached.
			stale := newHold(t.Context(), s.ID(), h.Token(), nil)
			stale.nodes, stale.of = slices.Clone(h.nodes), s
			if err := other.zk.Delete(within(t), h.nodes[0]); err != nil {
				t.Fatal(err)
			}
			if len(h.nodes) > 1 {
				causeOf(t, h)
				releasedLost(t, h) // and with it the leases that are left
			}
			h2 := acquired(t, realLock(t, recipe, other, lock, nil))
			if err := write(stale, "late"); !errors.Is(err, ErrLockLost) || errors.Is(err, zksession.ErrConnectionLoss) ||
				read() != "mine" {
				t.Errorf("%q, %v", read(), err)
			}
			if cause := context.Cause(stale.Context()); !errors.Is(cause, ErrLockLost) {
				t.Errorf("cause: %v", cause)
			}
			if err := write(h2, "theirs"); err != nil || read() != "theirs" {
				t.Errorf("%q, %v", read(), err)
			}
			_, err := h2.Multi(
				within(t),
				zksession.Op{Kind: zksession.OpSet, Path: ledger, Data: []byte("half"), Version: zksession.AnyVersion},
				zksession.Op{Kind: zksession.OpCheck, Path: ledger, Version: 77},
			)
			if op, ok := errors.AsType[*zksession.OpError](err); !ok || op.Index != 1 ||
				!errors.Is(err, zksession.ErrBadVersion) ||
				read() != "theirs" {
				t.Errorf("%q, %v", read(), err)
			}
			released(t, h2)
			causeOf(t, h)
		})
	}
}

// A client was cut off until its session expired and another client had the lock. When it comes back, its write is
// refused.
func TestGuardedWriteOfAnExpiredSession(t *testing.T) {
	skipUnderRace(t)
	lock, w := lockPath(t), wire.New()
	s, other := connected(
		t,
		SessionConfig{
			Config:   zksession.Config{Dial: w.Dial, Timeout: 400 * time.Millisecond},
			HoldsEnd: WhenTold,
		},
	), connected(
		t,
		SessionConfig{},
	)
	ledger, read := ledgerOf(t, other)
	h := acquired(t, realLock(t, "mutex", s, lock, nil))
	w.Refuse(true)
	w.Cut(wire.OpMulti, 1)
	_ = s.zk.Sync(within(t), "/")
	h2 := acquired(t, realLock(t, "mutex", other, lock, nil))
	if h.Context().Err() != nil {
		t.Error("the cut-off holder heard that its hold is lost")
	}
	answer := make(chan error, 1)
	go func() {
		_, err := h.Multi(
			within(t),
			zksession.Op{Kind: zksession.OpSet, Path: ledger, Data: []byte("late"), Version: zksession.AnyVersion},
		)
		answer <- err
	}()
	w.Refuse(false)
	if err := <-answer; !errors.Is(err, ErrLockLost) || !errors.Is(err, zksession.ErrSessionExpired) {
		t.Error(err)
	}
	if got := read(); got != "" {
		t.Errorf("written: %q", got)
	}
	released(t, h2)
}

// The request or the reply of a guarded write is lost: the caller is told, and the hold goes on.
func TestGuardedWriteUnanswered(t *testing.T) {
	skipUnderRace(t)
	for _, c := range []struct {
		name    string
		arm     func(*wire.Wire)
		written string
	}{
		{"reply", func(w *wire.Wire) { w.Lose(wire.OpMulti, 1) }, "mine"},
		{"request", func(w *wire.Wire) { w.Cut(wire.OpMulti, 1) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			lock, w := lockPath(t), wire.New()
			s := connected(t, SessionConfig{Config: zksession.Config{Dial: w.Dial}})
			ledger, read := ledgerOf(t, s)
			h := acquired(t, realLock(t, "mutex", s, lock, nil))
			c.arm(w)
			op := zksession.Op{Kind: zksession.OpSet, Path: ledger, Data: []byte("mine"), Version: 0}
			if _, err := h.Multi(within(t), op); !errors.Is(err, zksession.ErrConnectionLoss) || errors.Is(err, ErrLockLost) {
				t.Error(err)
			}
			if got := read(); got != c.written {
				t.Errorf("written: %q", got)
			}
			// The version makes the service refuse the second write if it executed the first.
			_, err := h.Multi(within(t), op)
			if executed := c.written != ""; executed != errors.Is(err, zksession.ErrBadVersion) || !executed && err != nil ||
				read() != "mine" {
				t.Errorf("again: %q, %v", read(), err)
			}
			released(t, h)
		})
	}
}
