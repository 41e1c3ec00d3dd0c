package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// never is how long a znode goes without a watch of our own in tests that must not see one.
const never = time.Hour

// An uncontended acquisition creates and lists, and reads nothing before the grant.
func TestGrantWithoutReading(t *testing.T) {
	for name, maker := range revocables {
		if name == "semaphore" || name == "semaphore-mutex" || name == "shared-semaphore" {
			continue // these read their leases
		}
		svc := newFakeService()
		s, z := svc.session(t, nil)
		s.unwatched = unwatched{never, never}
		l := lockOf(t, maker, s, nil)
		released(t, acquired(t, l)) // makes the directory
		created, listed := z.count("create"), z.count("children")
		h := acquired(t, l)
		if n := z.count("create") - created; n != 1 {
			t.Errorf("%s: %d creates", name, n)
		}
		if n := z.count("children") - listed; n != 1 {
			t.Errorf("%s: %d lists", name, n)
		}
		if n := z.count("watch") + z.count("get") + z.count("list"); n != 0 {
			t.Errorf("%s: %d other reads", name, n)
		}
		_, stat, err := s.zk.Get(within(t), h.Path())
		if err != nil || h.Token() != stat.Czxid {
			t.Errorf("%s: the token is %d, and the znode is %+v, %v", name, h.Token(), stat, err)
		}
		released(t, h)
	}
}

// Where something went wrong between the create and the grant, the znode is read and watched before the grant.
func TestGrantAfterTroubleReads(t *testing.T) {
	for trouble, faults := range map[string]func(z **fakeSession) func(op, path string) fault{
		"the answer to the create is lost": func(**fakeSession) func(op, path string) fault {
			return count("create", 3, loseAfter) // the first is refused, and the second makes the directory
		},
		"the session is connected again": func(z **fakeSession) func(op, path string) fault {
			return func(op, _ string) fault {
				if op == "children" {
					(*z).reconnect()
				}
				return pass
			}
		},
	} {
		svc := newFakeService()
		var z *fakeSession
		svc.set("/locks", nil, 0)
		s, fake := svc.session(t, faults(&z))
		z = fake
		s.unwatched = unwatched{never, never}
		h := acquired(t, newLock(t, "mutex", s, nil))
		if n := z.count("watch"); n == 0 {
			t.Errorf("%s: the znode was not read", trouble)
		}
		_, stat, err := s.zk.Get(within(t), h.Path())
		if err != nil || h.Token() != stat.Czxid {
			t.Errorf("%s: the token is %d, and the znode is %+v, %v", trouble, h.Token(), stat, err)
		}
		svc.remove(h.Path())
		if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) {
			t.Errorf("%s: %v", trouble, cause)
		}
	}
}

// The znode that a client finds under its name after a reconnect is another session's. The client queues again.
func TestGrantAfterTroubleLooksAtTheOwner(t *testing.T) {
	svc := newFakeService()
	svc.set("/locks", nil, 0)
	svc.set("/locks/a", nil, 0)
	var z *fakeSession
	replaced := ""
	s, fake := svc.session(t, func(op, path string) fault {
		if op == "children" && replaced == "" {
			replaced = svc.ephemerals()[0]
			svc.remove(replaced)
			svc.set(replaced, nil, 99)
			z.reconnect()
		}
		return pass
	})
	z = fake
	got := acquiring(t, newLock(t, "mutex", s, nil))
	eventually(t, "the client queues again", func() bool { return len(svc.ephemerals()) == 2 })
	svc.remove(replaced)
	h := <-got
	if h.Path() == replaced {
		t.Error("the hold's znode is another session's")
	}
	released(t, h)
}

// A contender hears of what became of its znode in the queue: when its turn comes, if it does not watch it.
func TestQueueUnwatched(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	other, _ := svc.session(t, nil)
	s.unwatched = unwatched{0, never}
	blocker := acquired(t, newLock(t, "mutex", other, nil))
	queued := make(chan int, 2)
	got := acquiring(t, newLock(t, "mutex", s, func(ahead int) { queued <- ahead }))
	<-queued
	svc.remove(besides(svc, blocker))
	released(t, blocker)
	<-queued // again
	h := <-got
	released(t, h)

	blocker = acquired(t, newLock(t, "mutex", other, nil))
	got = acquiring(t, newLock(t, "mutex", s, func(ahead int) { queued <- ahead }))
	<-queued
	if err := other.Revoke(within(t), besides(svc, blocker)); err != nil {
		t.Fatal(err)
	}
	released(t, blocker)
	h = <-got
	revoked(t, "asked in the queue", h)
	released(t, h)
}

// besides returns the one ephemeral znode besides that of a hold.
func besides(svc *fakeService, h *Hold) string {
	all := svc.ephemerals()
	return all[1-slices.Index(all, h.Path())]
}

// A hold hears of its znode's deletion, and of a revocation, once it has lasted for the time that it may go unwatched.
// Before that it does not ask, and after its release neither.
func TestHoldUnwatched(t *testing.T) {
	for _, held := range []time.Duration{0, time.Millisecond, never} {
		t.Run(fmt.Sprint(held), func(t *testing.T) {
			svc := newFakeService()
			s, z := svc.session(t, nil)
			s.unwatched.held = held
			h := acquired(t, newLock(t, "mutex", s, nil))
			if held != never {
				svc.remove(h.Path())
				if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) {
					t.Error(cause)
				}
				return
			}
			released(t, h)
			if h.unguarded.Stop() {
				t.Error("a hold that was released will be watched")
			}
			if n := z.count("watch"); n != 0 {
				t.Errorf("%d reads", n)
			}
		})
	}
}

// A hold that ends before it is watched is not watched.
func TestHoldEndsUnwatched(t *testing.T) {
	svc := newFakeService()
	s, z := svc.session(t, nil)
	s.unwatched.held = never
	h := acquired(t, newLock(t, "mutex", s, nil))
	h.lose(errors.New("for the test"))
	h.unguarded.Reset(0)
	if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if n := z.count("watch"); n != 0 {
		t.Errorf("%d reads", n)
	}
}
