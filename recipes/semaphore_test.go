package recipes

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"locklab/recipes/zksession"
)

const semPath = "/locks/a"

func newSemaphore(t *testing.T, cfg SemaphoreConfig) *Semaphore {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = semPath
	}
	s, err := NewSemaphore(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// below returns the ephemeral znodes below a path.
func (f *fakeService) below(dir string) []string {
	return slices.DeleteFunc(f.ephemerals(), func(p string) bool { return !strings.HasPrefix(p, dir+"/") })
}

// usage counts permits in use, by slot.
type usage struct {
	mu     sync.Mutex
	held   map[int]bool
	tokens map[int]int64
	most   int
}

// enter records a grant. Its result is called before the release of that grant.
func (u *usage) enter(t *testing.T, h *Hold, n, permits int) (leave func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held == nil {
		u.held, u.tokens = map[int]bool{}, map[int]int64{}
	}
	slots := h.Slots()
	if len(slots) != n {
		t.Errorf("slots %v, want %d", slots, n)
	}
	for _, slot := range slots {
		if u.held[slot] || slot >= permits {
			t.Errorf("slot %d of %d is granted while held: %t", slot, permits, u.held[slot])
		}
		if h.Token() <= u.tokens[slot] {
			t.Errorf("slot %d: token %d after %d", slot, h.Token(), u.tokens[slot])
		}
		u.held[slot], u.tokens[slot] = true, h.Token()
	}
	u.most = max(u.most, len(u.held))
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, slot := range slots {
			delete(u.held, slot)
		}
	}
}

// Goroutines of several sessions take different quantities while every tenth request is lost. No slot is held twice,
// tokens rise for each slot, and nothing is left behind.
func TestSemaphoreUnderLoss(t *testing.T) {
	const permits = 4
	svc := newFakeService()
	lossy := everyTenth()
	var u usage
	var wg sync.WaitGroup
	for range 3 {
		s, _ := svc.session(t, func(op, path string) fault {
			if n := len(svc.children(semPath + "/leases")); n > permits {
				t.Errorf("%d leases", n)
			}
			return lossy(op, path)
		})
		sem := newSemaphore(t, SemaphoreConfig{Session: s, Max: permits})
		for i := range 4 {
			wg.Go(func() {
				for j := range 10 {
					n := 1 + (i+j)%permits
					h, err := sem.Acquire(within(t), n)
					if err != nil {
						t.Error(err)
						return
					}
					leave := u.enter(t, h, n, permits)
					leave()
					if err := h.Release(within(t)); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	eventually(t, "nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
}

// All permits can be in use at once, and never more.
func TestSemaphoreGrantsAll(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	queued := make(chan int, 10)
	sem := newSemaphore(t, SemaphoreConfig{Session: s, Max: 3, OnQueued: func(ahead int) { queued <- ahead }})
	var u usage
	var holds []*Hold
	for range 3 {
		h, err := sem.Acquire(within(t), 1)
		if err != nil {
			t.Fatal(err)
		}
		u.enter(t, h, 1, 3)
		holds = append(holds, h)
		if ahead := <-queued; ahead != 0 {
			t.Errorf("%d ahead", ahead)
		}
	}
	if u.most != 3 {
		t.Errorf("%d at once", u.most)
	}
	got := make(chan *Hold, 2)
	for want := range 2 {
		go func() {
			h, err := sem.Acquire(within(t), 1)
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		if ahead := <-queued; ahead != 1 {
			t.Errorf("waiter %d: %d ahead", want, ahead)
		}
	}
	eventually(t, "one waiter watches the leases, the other does not", func() bool {
		return svc.listing(semPath+"/leases") == 1
	})
	// The next grant gets the slot that was just returned.
	for i := 2; i >= 1; i-- {
		slot := holds[i].Slots()
		if err := holds[i].Release(within(t)); err != nil {
			t.Error(err)
		}
		if h := <-got; !slices.Equal(h.Slots(), slot) || h.Token() <= holds[i].Token() {
			t.Errorf("slots %v, token %d after %v, %d", h.Slots(), h.Token(), slot, holds[i].Token())
		}
	}
}

func TestSemaphoreQuantity(t *testing.T) {
	svc := newFakeService()
	s, z := svc.session(t, nil)
	sem := newSemaphore(t, SemaphoreConfig{Session: s, Max: 3})
	for _, n := range []int{-1, 0, 4} {
		if _, err := sem.Of(n).Acquire(within(t)); !errors.Is(err, ErrQuantity) {
			t.Errorf("%d of 3: %v", n, err)
		}
	}
	if len(z.counts) != 0 {
		t.Errorf("asked the service: %v", z.counts)
	}
	_, err := NewSemaphore(SemaphoreConfig{Session: s, Path: semPath})
	if !errors.Is(err, ErrQuantity) || !strings.Contains(err.Error(), "give Max or Count") {
		t.Errorf("neither Max nor Count: %v", err)
	}
	for _, cfg := range []SemaphoreConfig{
		{Path: semPath, Max: 1},
		{Session: s, Max: 1},
		{Session: s, Path: semPath},
		{Session: s, Path: semPath, Max: 1, Count: newCountOf(t, s, countPath, 1)},
		{Session: s, Path: semPath, Count: newCountOf(t, new(Session), countPath, 1)},
	} {
		if _, err := NewSemaphore(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
	for _, cfg := range []SemaphoreMutexConfig{{Path: semPath}, {Session: s}} {
		if _, err := NewSemaphoreMutex(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// Two clients that each want three of four permits do not block each other for ever.
func TestSemaphoreDoesNotHoldAndWait(t *testing.T) {
	svc := newFakeService()
	var wg sync.WaitGroup
	for range 2 {
		s, _ := svc.session(t, nil)
		l := newSemaphore(t, SemaphoreConfig{Session: s, Max: 4}).Of(3)
		wg.Go(func() {
			for range 20 {
				h, err := l.Acquire(within(t))
				if err != nil {
					t.Error(err)
					return
				}
				if err := h.Release(within(t)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// An administrator deletes one of three leases: the hold ends, and its release returns its other leases.
func TestSemaphoreHoldEndsAsAWhole(t *testing.T) {
	for i := range 3 {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		h, err := newSemaphore(t, SemaphoreConfig{Session: s, Max: 3}).Acquire(within(t), 3)
		if err != nil {
			t.Fatal(err)
		}
		svc.remove(svc.ephemerals()[i])
		if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) {
			t.Error(cause)
		}
		if n := len(svc.ephemerals()); n != 2 {
			t.Errorf("%d leases are left before the hold is released, want the other two", n)
		}
		releasedLost(t, h)
		eventually(t, "the others are returned", func() bool { return len(svc.ephemerals()) == 0 })
	}
}

// Leases of other clients' locks count, and slots then have no meaning. Other children do not count.
func TestSemaphoreForeignLeases(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	queued := make(chan int, 10)
	sem := newSemaphore(
		t,
		SemaphoreConfig{Session: s, Max: 2, Data: []byte("mine"), OnQueued: func(ahead int) { queued <- ahead }},
	)
	if p, err := sem.Participants(within(t)); len(p) != 0 || err != nil {
		t.Errorf("before the first use: %v, %v", p, err)
	}
	h, err := sem.Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	<-queued
	for _, name := range []string{"0", "zzz", "lease-", "x-lock-0000000000"} {
		svc.set(path.Join(semPath, "leases", name), nil, 0)
	}
	theirs := path.Join(semPath, "leases", "_c_"+uuid.NewString()+"-lease-0000000009")
	svc.set(theirs, []byte("theirs"), 1<<40)
	permits, err := sem.Participants(within(t))
	if err != nil || len(permits) != 2 {
		t.Fatalf("%+v, %v", permits, err)
	}
	for _, p := range permits {
		want := Permit{
			Path:    path.Join(semPath, "leases", p.Name),
			Name:    p.Name,
			Slot:    0,
			Session: s.ID(),
			Data:    []byte("mine"),
		}
		if p.Name == path.Base(theirs) {
			want = Permit{Path: theirs, Name: p.Name, Slot: -1, Session: 1 << 40, Data: []byte("theirs")}
		}
		if fmt.Sprint(p) != fmt.Sprint(want) {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	ctx, cancel := context.WithCancel(within(t))
	waited := make(chan error, 1)
	go func() { _, err := sem.Acquire(ctx, 1); waited <- err }()
	if ahead := <-queued; ahead != 1 {
		t.Errorf("%d ahead beside a foreign lease", ahead)
	}
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
	h, err = sem.Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if h.Slots() != nil || h.Token() == 0 {
		t.Errorf("slots %v, token %d beside a foreign lease", h.Slots(), h.Token())
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// The number of permits is raised while a client waits, lowered below what is in use, and raised again.
func TestSemaphoreIsResized(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	c := newCountOf(t, s, countPath, 1)
	queued := make(chan int, 10)
	sem := newSemaphore(t, SemaphoreConfig{Session: s, Count: c, OnQueued: func(ahead int) { queued <- ahead }})
	ctx := within(t)
	got := make(chan *Hold, 1)
	acquire := func(n, wantAhead int) {
		go func() {
			h, err := sem.Acquire(ctx, n)
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		if ahead := <-queued; ahead != wantAhead {
			t.Errorf("%d ahead, want %d", ahead, wantAhead)
		}
	}
	acquire(3, 1) // more than there are now, but the number may still rise
	if err := c.SetCount(ctx, 3); err != nil {
		t.Fatal(err)
	}
	all := <-got
	if !slices.Equal(all.Slots(), []int{0, 1, 2}) {
		t.Error(all.Slots())
	}
	if err := c.SetCount(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if all.Context().Err() != nil {
		t.Error("lowering the number ended a hold")
	}
	acquire(1, 1)
	if err := c.SetCount(ctx, 3); err != nil { // as many as are in use
		t.Fatal(err)
	}
	select {
	case <-got:
		t.Error("granted the fourth of three")
	default:
	}
	if err := c.SetCount(ctx, 4); err != nil {
		t.Fatal(err)
	}
	last := <-got
	if !slices.Equal(last.Slots(), []int{3}) {
		t.Error(last.Slots())
	}
	if err := c.SetCount(ctx, 0); err != nil {
		t.Fatal(err)
	}
	for _, h := range []*Hold{all, last} {
		if err := h.Release(ctx); err != nil {
			t.Error(err)
		}
	}
	acquire(1, 1) // none is in use, but the semaphore has none
	if n := len(svc.children(semPath + "/leases")); n != 0 {
		t.Errorf("%d leases", n)
	}
	if err := c.SetCount(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := (<-got).Release(ctx); err != nil {
		t.Error(err)
	}
}

// Something that the transaction relies on changes just before it.
func TestSemaphoreTransactionIsRefused(t *testing.T) {
	own := func(ops string) string { return strings.Fields(ops)[0] }
	for name, c := range map[string]struct {
		change  func(f *fakeService, ops string)
		creates int  // how many places in the queue are created
		queues  bool // whether the client then has to wait
	}{
		"number lowered": {func(f *fakeService, _ string) { f.set(countPath, encodeCount(0), 0) }, 1, true},
		"number set":     {func(f *fakeService, _ string) { f.set(countPath, encodeCount(2), 0) }, 1, false},
		"number deleted": {func(f *fakeService, _ string) { f.remove(countPath) }, 1, false},
		"place lost":     {func(f *fakeService, ops string) { f.remove(own(ops)) }, 2, false},
		"leases reaped":  {func(f *fakeService, _ string) { f.remove(semPath + "/leases") }, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			svc := newFakeService()
			var s *Session
			armed := false
			places := 0
			s, z := svc.session(t, func(op, p string) fault {
				if op == "create" && strings.HasPrefix(p, semPath+"/locks/") {
					places++
				}
				if op == "multi" && armed {
					armed = false
					c.change(svc, p)
				}
				return pass
			})
			queued := make(chan int, 10)
			sem := newSemaphore(
				t,
				SemaphoreConfig{Session: s, Count: newCountOf(t, s, countPath, 1), OnQueued: func(ahead int) { queued <- ahead }},
			)
			h, err := sem.Acquire(within(t), 1) // makes the directories
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Release(within(t)); err != nil {
				t.Fatal(err)
			}
			<-queued
			armed, places = true, 0
			before := z.counts["multi"]
			got := acquiring(t, sem.Of(1))
			<-queued
			if c.queues {
				eventually(t, "it waits", func() bool { return svc.listing(semPath+"/leases") == 1 })
				svc.set(countPath, encodeCount(1), 0)
			}
			if err := (<-got).Release(within(t)); err != nil {
				t.Error(err)
			}
			if n := z.counts["multi"] - before; n != 2 || places != c.creates {
				t.Errorf("%d transactions, %d places, want 2, %d", n, places, c.creates)
			}
			eventually(t, "nothing left behind", func() bool { return len(svc.below(semPath)) == 0 })
		})
	}
}

// The head of the queue waits for permits when an administrator deletes its place: it queues again, and the next
// waiter becomes the head.
func TestSemaphorePlaceLostWhileWaiting(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	other, _ := svc.session(t, nil)
	queued := make(chan int, 10)
	sem := newSemaphore(t, SemaphoreConfig{Session: s, Max: 1, OnQueued: func(ahead int) { queued <- ahead }})
	h, err := newSemaphore(t, SemaphoreConfig{Session: other, Max: 1}).Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() { got <- useOnce(t, "waiter", within(t), sem.Of(1), new(holders)) }()
	<-queued
	place := svc.below(semPath + "/locks")[0]
	eventually(t, "it waits", func() bool {
		return svc.listing(semPath+"/leases") == 1 && svc.watching(place) == 1
	})
	svc.set(place, []byte("changed"), 0) // this changes nothing
	eventually(t, "the place is watched again", func() bool { return svc.watching(place) == 1 })
	svc.remove(place)
	if ahead := <-queued; ahead != 1 {
		t.Errorf("%d ahead", ahead)
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	eventually(t, "nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
}

// The reply to the transaction is lost, and before the search an administrator deletes some or all of its leases: the
// attempt starts over, and never hands out the remaining ones.
func TestSemaphoreLostReplyAndLeases(t *testing.T) {
	for deleted := 0; deleted <= 3; deleted++ {
		svc := newFakeService()
		lose := count("multi", 2, loseAfter) // the first transaction finds no directory
		attempts := map[string]bool{}
		done := false
		s, _ := svc.session(t, func(op, ops string) fault {
			if op == "sync" && !done {
				done = true
				for i, node := range svc.below(semPath + "/leases") {
					if i < deleted {
						svc.remove(node)
					}
				}
			}
			if op == "multi" && strings.Contains(ops, "/locks/a/locks/") {
				attempts[strings.Fields(ops)[1][:len(semPath+"/leases/_c_")+36]] = true
			}
			return lose(op, ops)
		})
		h, err := newSemaphore(t, SemaphoreConfig{Session: s, Max: 3}).Acquire(within(t), 3)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		if deleted > 0 {
			want = 2
		}
		if len(attempts) != want || h.Context().Err() != nil || len(svc.below(semPath)) != 3 {
			t.Errorf("%d deleted: attempts %v, left %v", deleted, attempts, svc.ephemerals())
		}
		if err := h.Release(within(t)); err != nil {
			t.Errorf("%d deleted: %v", deleted, err)
		}
	}
}

// An administrator deletes a lease after the transaction and before the client reads it.
func TestSemaphoreLeaseGoneBeforeGrant(t *testing.T) {
	svc := newFakeService()
	done := false
	s, _ := svc.session(t, func(op, p string) fault {
		if op == "watch" && strings.HasPrefix(p, semPath+"/leases/") && !done {
			done = true
			svc.remove(p)
		}
		return pass
	})
	h, err := newSemaphore(t, SemaphoreConfig{Session: s, Max: 1}).Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(svc.below(semPath)); !done || n != 1 || h.Context().Err() != nil {
		t.Errorf("%d left, %v", n, h.Context().Err())
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// However many waiters give up, only one watch on the leases is left, and no place in the queue.
func TestSemaphoreWatchesLeft(t *testing.T) {
	svc := newFakeService()
	s, z := svc.session(t, nil)
	h, err := newSemaphore(t, SemaphoreConfig{Session: s, Max: 1}).Acquire(within(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		ctx, cancel := context.WithCancel(within(t))
		sem := newSemaphore(t, SemaphoreConfig{Session: s, Max: 1})
		waited := make(chan error, 1)
		before := func() int { z.mu.Lock(); defer z.mu.Unlock(); return z.counts["list"] + z.counts["children"] }
		n := before()
		go func() { _, err := sem.Acquire(ctx, 1); waited <- err }()
		// The requests: the queue, the leases, and the leases again with a watch.
		eventually(t, "it waits", func() bool { return before() == n+3 })
		cancel()
		if err := <-waited; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		eventually(t, "the waiter's place is gone", func() bool { return len(svc.below(semPath+"/locks")) == 0 })
	}
	if n := svc.listing(semPath + "/leases"); n != 1 || z.count("list") != 1 {
		t.Errorf("%d watches left, %v", n, z.counts)
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
	eventually(t, "no watch is left", func() bool {
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		return len(s.hub.watches) == 0
	})
}

// More permits than one transaction can take are an impossible number, not only an error of the transport.
func TestSemaphoreQuantityBeyondATransaction(t *testing.T) {
	svc := newFakeService()
	_, z := svc.session(t, nil)
	s := NewSession(&refusingSession{fakeSession: z, why: zksession.ErrTooLarge}, nil)
	_, err := newSemaphore(t, SemaphoreConfig{Session: s, Path: "/a", Max: 5000}).Acquire(within(t), 2000)
	if !errors.Is(err, ErrQuantity) || !errors.Is(err, zksession.ErrTooLarge) {
		t.Error(err)
	}
	eventually(t, "nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
}
