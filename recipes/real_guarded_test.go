package recipes

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
)

// ledgerOf makes the znode that a lock protects, and returns its path and what reads it.
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

// On a real service the write of a client that has lost its lock, and has not heard of it, is refused, whoever
// holds by then.
func TestRealGuardedWrite(t *testing.T) {
	for _, recipe := range recipeNames {
		if recipe == "naive" {
			continue
		}
		t.Run(recipe, func(t *testing.T) {
			lock := lockPath(t)
			s, other := connected(t, SessionConfig{}), connected(t, SessionConfig{Servers: rotated(servers(t))})
			ledger, read := ledgerOf(t, other)
			write := func(h *Hold, data string) error {
				_, err := h.Multi(within(t), Op{Kind: OpSet, Path: ledger, Data: []byte(data), Version: AnyVersion})
				return err
			}
			h := acquired(t, realLock(t, recipe, s, lock, nil))
			if err := write(h, "mine"); err != nil || read() != "mine" {
				t.Errorf("%q, %v", read(), err)
			}
			// The hold as one sees it whom the event has not reached.
			stale := newHold(t.Context(), s.ID(), h.Token(), nil)
			stale.nodes, stale.of = slices.Clone(h.nodes), s
			if err := other.zk.Delete(within(t), h.nodes[0]); err != nil {
				t.Fatal(err)
			}
			h2 := acquired(t, realLock(t, recipe, other, lock, nil))
			if err := write(stale, "late"); !errors.Is(err, ErrLockLost) || errors.Is(err, ErrConnectionLoss) || read() != "mine" {
				t.Errorf("%q, %v", read(), err)
			}
			if cause := context.Cause(stale.Context()); !errors.Is(cause, ErrLockLost) {
				t.Errorf("cause: %v", cause)
			}
			if err := write(h2, "theirs"); err != nil || read() != "theirs" {
				t.Errorf("%q, %v", read(), err)
			}
			_, err := h2.Multi(within(t), Op{Kind: OpSet, Path: ledger, Data: []byte("half"), Version: AnyVersion}, Op{Kind: OpCheck, Path: ledger, Version: 77})
			if op, ok := errors.AsType[*OpError](err); !ok || op.Index != 1 || !errors.Is(err, ErrBadVersion) || read() != "theirs" {
				t.Errorf("%q, %v", read(), err)
			}
			released(t, h2)
			causeOf(t, h)
		})
	}
}

// A client that was cut off until its session had expired, and another had the lock, writes nothing as it comes back.
func TestGuardedWriteOfAnExpiredSession(t *testing.T) {
	skipUnderRace(t)
	lock, w := lockPath(t), wire.New()
	s, other := connected(t, SessionConfig{Dial: w.Dial, Timeout: 400 * time.Millisecond}), connected(t, SessionConfig{})
	ledger, read := ledgerOf(t, other)
	h := acquired(t, realLock(t, "mutex", s, lock, nil))
	w.Refuse(true)
	w.Cut(wire.OpSync, 1)
	_ = s.zk.Sync(within(t), "/")
	h2 := acquired(t, realLock(t, "mutex", other, lock, nil))
	if h.Context().Err() != nil {
		t.Error("the cut-off holder learned of its loss")
	}
	answer := make(chan error, 1)
	go func() {
		_, err := h.Multi(within(t), Op{Kind: OpSet, Path: ledger, Data: []byte("late"), Version: AnyVersion})
		answer <- err
	}()
	w.Refuse(false)
	if err := <-answer; !errors.Is(err, ErrLockLost) || !errors.Is(err, ErrSessionExpired) {
		t.Error(err)
	}
	if got := read(); got != "" {
		t.Errorf("written: %q", got)
	}
	released(t, h2)
}

// The reply to a guarded write is lost, or the request: the caller is told, and the hold goes on.
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
			s := connected(t, SessionConfig{Dial: w.Dial})
			ledger, read := ledgerOf(t, s)
			h := acquired(t, realLock(t, "mutex", s, lock, nil))
			c.arm(w)
			op := Op{Kind: OpSet, Path: ledger, Data: []byte("mine"), Version: 0}
			if _, err := h.Multi(within(t), op); !errors.Is(err, ErrConnectionLoss) || errors.Is(err, ErrLockLost) {
				t.Error(err)
			}
			if got := read(); got != c.written {
				t.Errorf("written: %q", got)
			}
			// By its version the repetition is refused if the first was executed.
			_, err := h.Multi(within(t), op)
			if executed := c.written != ""; executed != errors.Is(err, ErrBadVersion) || !executed && err != nil || read() != "mine" {
				t.Errorf("again: %q, %v", read(), err)
			}
			released(t, h)
		})
	}
}
