package recipes

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zksession"
)

// guardable returns the exclusive locks whose holds can guard a write.
func guardable() (recipes []string) {
	for recipe := range makers {
		if recipe != "naive" {
			recipes = append(recipes, recipe)
		}
	}
	return recipes
}

// set returns the write that a lock protects.
func set(data string) zksession.Op {
	return zksession.Op{Kind: zksession.OpSet, Path: "/ledger", Data: []byte(data), Version: zksession.AnyVersion}
}

// ledger returns what was written last.
func (f *fakeService) ledger() string {
	return string(f.data("/ledger"))
}

func TestGuardedWrite(t *testing.T) {
	for _, recipe := range guardable() {
		svc := newFakeService()
		svc.set("/ledger", nil, 0)
		s, _ := svc.session(t, nil)
		other, _ := svc.session(t, nil)
		h, err := newLock(t, recipe, s, nil).Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		made, err := h.Multi(
			within(t),
			set("mine"),
			zksession.Op{Kind: zksession.OpCreate, Path: "/ledger/entry", Mode: zksession.Persistent},
		)
		if err != nil || svc.ledger() != "mine" || len(made) != 2 || made[0] != "" || made[1] != "/ledger/entry" {
			t.Errorf("%s: %v, %q, %v", recipe, made, svc.ledger(), err)
		}
		// If one of the caller's own operations is refused, the error names it by its own index, and the hold is not
		// lost.
		_, err = h.Multi(within(t), set("half"), zksession.Op{Kind: zksession.OpCheck, Path: "/ledger", Version: 77})
		if op, ok := errors.AsType[*zksession.OpError](err); !ok || op.Index != 1 ||
			!errors.Is(err, zksession.ErrBadVersion) ||
			errors.Is(err, ErrLockLost) ||
			svc.ledger() != "mine" {
			t.Errorf("%s: %q, %v", recipe, svc.ledger(), err)
		}
		_, err = h.Multi(within(t), zksession.Op{Kind: zksession.OpCheck, Path: "/nothing", Version: zksession.AnyVersion})
		if !errors.Is(err, zksession.ErrNoNode) || errors.Is(err, ErrLockLost) || h.Context().Err() != nil {
			t.Errorf("%s: %v", recipe, err)
		}
		if made, err := h.Multi(within(t)); err != nil || len(made) != 0 {
			t.Errorf("%s: a transaction with no operation: %v, %v", recipe, made, err)
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
		if _, err := h.Multi(within(t), set("released")); !errors.Is(err, ErrReleased) || svc.ledger() != "mine" {
			t.Errorf("%s: %q, %v", recipe, svc.ledger(), err)
		}
		released(t, acquired(t, newLock(t, recipe, other, nil)))
	}
}

// A client that does not know that it has lost the lock writes nothing, even if another client already holds the
// lock. The refusal tells it of the loss.
func TestGuardedWriteAfterTheLoss(t *testing.T) {
	for _, recipe := range guardable() {
		svc := newFakeService()
		svc.set("/ledger", nil, 0)
		s, z := svc.session(t, nil)
		s.unwatched.held = never
		other, _ := svc.session(t, nil)
		h := acquired(t, newLock(t, recipe, s, nil))
		z.HoldEvents()
		for _, node := range h.nodes {
			svc.remove(node)
		}
		h2 := acquired(t, newLock(t, recipe, other, nil))
		if h.Context().Err() != nil {
			t.Fatal("the client knows of its loss")
		}
		if _, err := h.Multi(within(t), set("late")); !errors.Is(err, ErrLockLost) ||
			errors.Is(err, zksession.ErrConnectionLoss) ||
			svc.ledger() != "" {
			t.Errorf("%s: %q, %v", recipe, svc.ledger(), err)
		}
		if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) {
			t.Errorf("%s: cause %v", recipe, cause)
		}
		if _, err := h2.Multi(within(t), set("theirs")); err != nil || svc.ledger() != "theirs" {
			t.Errorf("%s: %q, %v", recipe, svc.ledger(), err)
		}
		released(t, h2)
	}
}

// A guarded write of a semaphore's hold checks every lease.
func TestGuardedWriteChecksEveryLease(t *testing.T) {
	for i := range 3 {
		svc := newFakeService()
		svc.set("/ledger", nil, 0)
		s, z := svc.session(t, nil)
		h := acquired(t, newSemaphore(t, SemaphoreConfig{Session: s, Path: "/locks/a", Max: 4}).Of(3))
		z.HoldEvents()
		svc.remove(h.nodes[i])
		if _, err := h.Multi(within(t), set("late")); !errors.Is(err, ErrLockLost) || svc.ledger() != "" {
			t.Errorf("lease %d: %q, %v", i, svc.ledger(), err)
		}
		if err := s.zk.Sync(within(t), "/"); err != nil { // takes a round trip
			t.Error(err)
		}
		if n := len(svc.ephemerals()); n != 2 {
			t.Errorf("lease %d: %d leases are left before the hold is released, want the other two", i, n)
		}
		releasedLost(t, h)
		eventually(t, "the other leases are returned", func() bool { return len(svc.ephemerals()) == 0 })
	}
}

// A reader that was a writer guards its writes by its own znode.
func TestGuardedWriteAfterDowngrade(t *testing.T) {
	svc := newFakeService()
	svc.set("/ledger", nil, 0)
	s, _ := svc.session(t, nil)
	rw, err := NewRW(RWConfig{Session: s, Path: "/locks/a"})
	if err != nil {
		t.Fatal(err)
	}
	write := acquired(t, rw.Write())
	read, err := rw.Downgrade(within(t), write)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read.Multi(within(t), set("read")); err != nil || svc.ledger() != "read" {
		t.Errorf("%q, %v", svc.ledger(), err)
	}
	if _, err := write.Multi(within(t), set("written")); !errors.Is(err, ErrReleased) || svc.ledger() != "read" {
		t.Errorf("%q, %v", svc.ledger(), err)
	}
	released(t, read)
}

// A hold that has no znode with a name of its own cannot guard a write.
func TestUnguarded(t *testing.T) {
	svc := newFakeService()
	svc.set("/ledger", nil, 0)
	s, _ := svc.session(t, nil)
	none, err := NewNoLock(s.ID()).Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	foreign, _ := NewHold(
		HoldConfig{Parent: t.Context(), Session: s.ID(), Token: 1, Release: func(context.Context) error { return nil }},
	)
	for name, h := range map[string]*Hold{"naive": acquired(t, newLock(t, "naive", s, nil)), "no lock": none,
		"foreign": foreign} {
		if _, err := h.Multi(within(t), set("x")); !errors.Is(err, ErrUnguarded) || svc.ledger() != "" {
			t.Errorf("%s: %q, %v", name, svc.ledger(), err)
		}
		released(t, h)
	}
}

// A guarded write reports an unknown outcome if, and only if, the outcome is unknown.
func TestGuardedWriteOfUnknownOutcome(t *testing.T) {
	for _, c := range []struct {
		what    fault
		written string
		lost    bool
	}{{loseBefore, "", false}, {loseAfter, "mine", false}, {expire, "", true}, {expireThen, "mine", true}} {
		svc := newFakeService()
		svc.set("/ledger", nil, 0)
		s, _ := svc.session(t, count("multi", 1, c.what))
		h := acquired(t, newLock(t, "mutex", s, nil))
		_, err := h.Multi(within(t), set("mine"))
		if !errors.Is(err, zksession.ErrConnectionLoss) || errors.Is(err, ErrLockLost) != c.lost ||
			svc.ledger() != c.written {
			t.Errorf("%d: %q, %v", c.what, svc.ledger(), err)
		}
		if c.lost {
			// From now on no request is sent, so the outcome is known. The hold may have ended by the news that its znode is
			// gone, or that its session is.
			if _, err := h.Multi(within(t), set("late")); !errors.Is(err, ErrLockLost) ||
				errors.Is(err, zksession.ErrConnectionLoss) {
				t.Error(err)
			}
			continue
		}
		if _, err := h.Multi(within(t), set("again")); err != nil || svc.ledger() != "again" {
			t.Errorf("%d: %q, %v", c.what, svc.ledger(), err)
		}
		released(t, h)
	}
	svc := newFakeService()
	svc.set("/ledger", nil, 0)
	asked, answer := make(chan struct{}), make(chan struct{})
	s, _ := svc.session(t, func(op, _ string) fault {
		if op == "multi" {
			close(asked)
			<-answer
		}
		return pass
	})
	h := acquired(t, newLock(t, "mutex", s, nil))
	ctx, cancel := context.WithCancel(within(t))
	go func() { <-asked; cancel() }()
	if _, err := h.Multi(ctx, set("mine")); !errors.Is(err, context.Canceled) || errors.Is(err, ErrLockLost) {
		t.Error(err)
	}
	close(answer)
	eventually(
		t,
		"the request that was given up is executed, since the hold lasts",
		func() bool { return svc.ledger() == "mine" },
	)
	released(t, h)
}

// A refusingSession refuses each transaction, for a reason of the test's choice.
type refusingSession struct {
	*fakeSession
	why error
}

func (z *refusingSession) Multi(ctx context.Context, ops ...zksession.Op) ([]string, error) {
	if z.why != nil {
		return nil, z.why
	}
	return z.fakeSession.Multi(ctx, ops...)
}

// If the service refuses the check of a hold's own znode, the error does not blame one of the caller's operations. A
// session that has expired by then has lost the hold, and it is known that nothing was executed.
func TestGuardedWriteIsRefusedAtItsGuard(t *testing.T) {
	svc := newFakeService()
	svc.set("/ledger", nil, 0)
	_, z := svc.session(t, nil)
	refusing := &refusingSession{fakeSession: z}
	s := NewSession(refusing, nil)
	h := acquired(t, newLock(t, "mutex", s, nil))
	refusing.why = &zksession.OpError{Index: 0, Err: zk.ErrNoAuth}
	_, err := h.Multi(within(t), set("mine"))
	if _, ok := errors.AsType[*zksession.OpError](err); ok || !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("the check of the hold is not allowed: %v", err)
	}
	refusing.why = &zksession.OpError{Index: 0, Err: zksession.ErrSessionExpired}
	_, err = h.Multi(within(t), set("mine"))
	if _, ok := errors.AsType[*zksession.OpError](err); ok || !errors.Is(err, ErrLockLost) ||
		!errors.Is(err, zksession.ErrSessionExpired) || errors.Is(err, zksession.ErrConnectionLoss) {
		t.Errorf("the session has expired: %v", err)
	}
}
