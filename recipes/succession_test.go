package recipes

import (
	"path"
	"slices"
	"testing"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// hearsOf lets the server of a session tell it of an event, so that the client knows whether the server tells
// transactions.
func hearsOf(t *testing.T, s *Session, by *Session) {
	t.Helper()
	node, err := by.zk.Create(within(t), lockPath(t)+"-told", nil, zksession.Ephemeral)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.zk.Sync(within(t), node); err != nil {
		t.Fatal(err)
	}
	fired := make(chan zksession.Event, 1)
	if _, _, err := s.zk.GetW(within(t), node, func(e zksession.Event) { fired <- e }); err != nil {
		t.Fatal(err)
	}
	if err := by.zk.Delete(within(t), node); err != nil {
		t.Fatal(err)
	}
	<-fired
}

// A queueing is an acquisition that waits in a queue.
type queueing struct {
	s   *Session
	w   *wire.Wire
	at  int // how many requests the session had made
	got <-chan *Hold
}

// queue lets one more client wait for a lock, once its server has told it of a transaction.
func queue(t *testing.T, by *Session, makes func(s *Session, queued func(int)) Lock) queueing {
	t.Helper()
	q := queueing{w: wire.New()}
	q.s = connected(t, SessionConfig{Config: zksession.Config{Dial: q.w.Dial}})
	q.s.unwatched = unwatched{never, never}
	hearsOf(t, q.s, by)
	q.at = len(q.w.Order())
	queued := make(chan int, 10)
	q.got = acquiring(t, makes(q.s, func(ahead int) { queued <- ahead }))
	<-queued
	eventually(t, "it waits", func() bool { return waiting(q.s, "") })
	return q
}

// asked are the requests that the client has made.
func (q queueing) asked() []int32 { return q.w.Order()[q.at:] }

// A waiter behind a holder takes the lock when that goes, and one behind another waiter when that one has held the lock
// and released it: neither lists the queue again.
func TestSuccessionNeedsNoList(t *testing.T) {
	a, lock := connected(t, SessionConfig{}), lockPath(t)
	mutex := func(s *Session, queued func(int)) Lock { return realLock(t, "mutex", s, lock, queued) }
	h := acquired(t, mutex(a, nil))
	b, c, d := queue(t, a, mutex), queue(t, a, mutex), queue(t, a, mutex)
	waited := []int32{wire.OpCreate2, wire.OpChildren, wire.OpGetData, wire.OpGetData, wire.OpChildren}
	released(t, h)
	h = <-b.got
	if got := b.asked(); !slices.Equal(got, waited) {
		t.Errorf("behind a holder: requests %v, want %v", got, waited)
	}
	released(t, h) // unmarked, because b was alone with the holder
	h = <-c.got
	if got, want := c.asked(), append(slices.Clone(waited), wire.OpChildren); !slices.Equal(got, want) {
		t.Errorf("behind an unmarked release: requests %v, want %v", got, want)
	}
	released(t, h)
	h = <-d.got
	if got := c.asked(); got[len(got)-1] != wire.OpMulti {
		t.Errorf("the release after a wait among several is not marked: requests %v", got)
	}
	if got := d.asked(); !slices.Equal(got, waited) {
		t.Errorf("behind a marked release: requests %v, want %v", got, waited)
	}
	released(t, h)
	empty(t, a, lock)
}

// A waiter behind a holder of its own session lists the queue: the end of the session deletes both znodes at once.
func TestNoSuccessionWithinASession(t *testing.T) {
	a, lock := connected(t, SessionConfig{}), lockPath(t)
	mutex := func(s *Session, queued func(int)) Lock { return realLock(t, "mutex", s, lock, queued) }
	h := acquired(t, mutex(a, nil))
	b := queue(t, a, mutex)
	queued := make(chan int, 1)
	c := acquiring(t, mutex(b.s, func(ahead int) { queued <- ahead }))
	<-queued
	released(t, h)
	h = <-b.got
	before := len(b.w.Order())
	released(t, h)
	released(t, <-c)
	if got := b.w.Order()[before:]; !slices.Contains(got, wire.OpChildren) {
		t.Errorf("requests %v without a list", got)
	}
	empty(t, a, lock)
}

// Curator's LeaderLatch waits for the deletion of the znode before its own, and would miss a marked release.
func TestLatchesAreNotMarked(t *testing.T) {
	a, lock := connected(t, SessionConfig{}), lockPath(t)
	latch := func(s *Session, queued func(int)) Lock {
		l, err := NewLeader(LeaderConfig{Session: s, Path: lock, ID: "a", Latch: true, OnQueued: queued})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	h := acquired(t, latch(a, nil))
	b, c := queue(t, a, latch), queue(t, a, latch)
	released(t, h)
	released(t, <-b.got)
	released(t, <-c.got)
	if got := c.asked(); got[len(got)-1] != wire.OpDelete {
		t.Errorf("requests %v: the last is not an ordinary delete", got)
	}
	empty(t, a, lock)
}

// A waiter whose znode somebody has deleted does not take the lock, however the one ahead goes.
func TestSuccessionNeedsOurOwnZnode(t *testing.T) {
	for name, ahead := range map[string]int{"behind a holder": 1, "behind waiters": 3} {
		t.Run(name, func(t *testing.T) {
			a, lock := connected(t, SessionConfig{}), lockPath(t)
			mutex := func(s *Session, queued func(int)) Lock { return realLock(t, "mutex", s, lock, queued) }
			h := acquired(t, mutex(a, nil))
			var others []queueing
			for range ahead - 1 {
				others = append(others, queue(t, a, mutex))
			}
			last := queue(t, a, mutex)
			nodes := mutexLayout.queue(listed(t, a, lock))
			gone := path.Join(lock, nodes[ahead].name)
			if err := a.zk.Delete(within(t), gone); err != nil {
				t.Fatal(err)
			}
			next := acquiring(t, mutex(a, nil)) // it has the lock if the deleted waiter takes it too
			eventually(t, "the next one has its place", func() bool { return len(listed(t, a, lock)) == ahead+1 })
			released(t, h)
			for _, o := range others {
				released(t, <-o.got)
			}
			h = <-next
			if len(last.got) > 0 {
				t.Error("a client without a znode has the lock beside another one")
			}
			released(t, h)
			h = <-last.got
			if h.Path() == gone {
				t.Errorf("the hold is that of %s, which was deleted", gone)
			}
			released(t, h)
			empty(t, a, lock)
		})
	}
}

// A revocation sets the data of the one ahead, and is no release. Nor is one that was followed by a deletion.
func TestRevocationIsNoRelease(t *testing.T) {
	a, lock := connected(t, SessionConfig{}), lockPath(t)
	mutex := func(s *Session, queued func(int)) Lock { return realLock(t, "mutex", s, lock, queued) }
	h := acquired(t, mutex(a, nil))
	b, c := queue(t, a, mutex), queue(t, a, mutex)
	nodes := mutexLayout.queue(listed(t, a, lock))
	if err := a.Revoke(within(t), path.Join(lock, nodes[1].name)); err != nil {
		t.Fatal(err)
	}
	hearsOf(t, c.s, a) // c's server has told it of the revocation by then
	if err := a.zk.Delete(within(t), path.Join(lock, nodes[1].name)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "c waits for the holder", func() bool {
		_, ok := watchOn(c.s, target{h.Path(), true})
		return ok
	})
	if len(b.got)+len(c.got) > 0 {
		t.Error("a waiter has the lock beside its holder")
	}
	released(t, h)
	released(t, <-c.got)
	released(t, <-b.got)
	empty(t, a, lock)
}

// A writer that waits behind one which becomes a reader waits for the reader, whether its predecessor's release would
// have been marked or not.
func TestNoSuccessionAfterDowngrade(t *testing.T) {
	for name, waits := range map[string]bool{"unmarked": false, "marked": true} {
		t.Run(name, func(t *testing.T) {
			a, lock := connected(t, SessionConfig{}), lockPath(t)
			write := func(s *Session, queued func(int)) Lock { return realRW(t, "rw", s, lock, queued).Write() }
			var w *Hold
			s := a
			if waits {
				h := acquired(t, write(a, nil))
				b, c := queue(t, a, write), queue(t, a, write)
				released(t, h)
				released(t, <-b.got)
				w, s = <-c.got, c.s
				if !w.place.contended {
					t.Fatal("the writer's release would not be marked")
				}
			} else {
				w = acquired(t, write(a, nil))
			}
			last := queue(t, a, write)
			r, err := realRW(t, "rw", s, lock, nil).(*RW).Downgrade(within(t), w)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the writer waits for the reader", func() bool {
				_, ok := watchOn(last.s, target{r.Path(), true})
				return ok
			})
			if len(last.got) > 0 {
				t.Error("a writer is in beside a reader")
			}
			released(t, r)
			released(t, <-last.got)
			empty(t, a, lock)
		})
	}
}
