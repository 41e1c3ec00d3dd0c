package recipes

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/recipes/zksession"
)

// makers make the exclusive locks, by name. For a read/write lock that is the writers' lock.
var makers = map[string]func(*Session, func(ahead int)) (Lock, error){
	"mutex": func(s *Session, queued func(int)) (Lock, error) {
		return NewMutex(MutexConfig{Session: s, Path: "/locks/a", OnQueued: queued})
	},
	"leader": func(s *Session, queued func(int)) (Lock, error) {
		return NewLeader(LeaderConfig{Session: s, Path: "/locks/a", OnQueued: queued})
	},
	"semaphore-mutex": func(s *Session, queued func(int)) (Lock, error) {
		return NewSemaphoreMutex(SemaphoreMutexConfig{Session: s, Path: "/locks/a", OnQueued: queued})
	},
	// Two clients each want more than half of the permits, so they cannot both have theirs at once.
	"semaphore": func(s *Session, queued func(int)) (Lock, error) {
		l, err := NewSemaphore(SemaphoreConfig{Session: s, Path: "/locks/a", Max: 3, OnQueued: queued})
		if err != nil {
			return nil, err
		}
		return l.Of(2), nil
	},
	"shared-semaphore": func(s *Session, queued func(int)) (Lock, error) {
		c, err := NewSharedCount(SharedCountConfig{Session: s, Path: "/locks/count", Seed: 3})
		if err != nil {
			return nil, err
		}
		l, err := NewSemaphore(SemaphoreConfig{Session: s, Path: "/locks/a", Count: c, OnQueued: queued})
		if err != nil {
			return nil, err
		}
		return l.Of(3), nil
	},
	"naive": func(s *Session, queued func(int)) (Lock, error) {
		return NewNaiveMutex(NaiveConfig{Session: s, Path: "/locks/a", OnQueued: queued})
	},
	"rw":       writerOf("rw"),
	"fair-rw":  writerOf("fair-rw"),
	"naive-rw": writerOf("naive-rw"),
}

func writerOf(recipe string) func(*Session, func(int)) (Lock, error) {
	return func(s *Session, queued func(int)) (Lock, error) {
		rw, err := rwMakers[recipe](RWConfig{Session: s, Path: "/locks/a", OnQueued: queued})
		if err != nil {
			return nil, err
		}
		return rw.Write(), nil
	}
}

func newLock(t *testing.T, name string, s *Session, queued func(int)) Lock {
	t.Helper()
	l, err := makers[name](s, queued)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Each request of an acquisition and its release fails in every way, with and without a predecessor. Whatever
// happens, at most one client holds the lock, nothing is left behind, and a client whose session lives gets the lock
// in the end.
func TestEveryRequestLost(t *testing.T) {
	for recipe := range makers {
		for _, contended := range []bool{false, true} {
			for _, what := range []fault{loseBefore, loseAfter, expire, expireThen} {
				for n := 1; ; n++ {
					name := fmt.Sprintf("%s/contended=%t/fault=%d/request=%d", recipe, contended, what, n)
					if !attemptWithFault(t, name, recipe, contended, what, n) {
						if n < 3 {
							t.Errorf("%s: the fault was never injected", name)
						}
						break
					}
				}
			}
		}
	}
}

// attemptWithFault reports whether there was an n-th request in which to inject the fault.
func attemptWithFault(t *testing.T, name, recipe string, contended bool, what fault, n int) (injected bool) {
	svc := newFakeService()
	var requests atomic.Int32
	s, z := svc.session(t, func(string, string) fault {
		if requests.Add(1) == int32(n) {
			return what
		}
		return pass
	})
	other, _ := svc.session(t, nil)
	var holders holders
	ctx := within(t)
	first := make(chan error, 1)
	if contended {
		blocker, err := newLock(t, recipe, other, nil).Acquire(ctx)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		leave := holders.enter(t, name, blocker)
		queued := make(chan struct{})
		var once sync.Once
		l := newLock(t, recipe, s, func(int) { once.Do(func() { close(queued) }) })
		go func() { first <- useOnce(t, name, ctx, l, &holders) }()
		select {
		case <-queued:
		case <-s.Done():
		}
		leave()
		if err := blocker.Release(ctx); err != nil {
			t.Errorf("%s: release of the holder: %v", name, err)
		}
	} else {
		first <- useOnce(t, name, ctx, newLock(t, recipe, s, nil), &holders)
	}
	err := <-first
	injected = requests.Load() >= int32(n)
	expires := what == expire || what == expireThen
	switch {
	case injected && expires && err == nil && z.Err() != nil:
		// The session expired right after the very last request took effect. In no other case may the client succeed.
	case injected && expires && z.Err() != nil:
		if !errors.Is(err, zksession.ErrSessionExpired) {
			t.Errorf("%s: %v, want ErrSessionExpired", name, err)
		}
	case err != nil:
		t.Errorf("%s: %v", name, err)
	}
	// The next client gets the lock, and after its release nothing is left.
	if err := useOnce(t, name, ctx, newLock(t, recipe, other, nil), &holders); err != nil {
		t.Errorf("%s: next: %v", name, err)
	}
	eventually(t, name+": nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
	return injected
}

// holders counts the clients that hold the lock at the same time.
type holders struct {
	n     atomic.Int32
	token atomic.Int64
}

// enter records a grant. Its result is called before the release of that grant.
func (h *holders) enter(t *testing.T, name string, hold *Hold) (leave func()) {
	if n := h.n.Add(1); n != 1 && hold.Context().Err() == nil {
		t.Errorf("%s: %d hold at once", name, n)
	}
	if last := h.token.Swap(hold.Token()); last >= hold.Token() {
		// An administrator has deleted its znode since it was granted, and nobody got the lock before it.
		eventually(t, fmt.Sprintf("%s: token %d after %d: the hold ends", name, hold.Token(), last),
			func() bool { return hold.Context().Err() != nil })
	}
	return func() { h.n.Add(-1) }
}

// useOnce acquires, runs the critical section, if any, and releases.
func useOnce(t *testing.T, name string, ctx context.Context, l Lock, holders *holders, section ...func()) error {
	h, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	leave := holders.enter(t, name, h)
	for _, work := range section {
		work()
	}
	leave()
	return h.Release(ctx)
}

// The context ends while any one of the requests is under way, and that request is answered late. Nothing is left
// behind.
func TestCancelledAtEveryRequest(t *testing.T) {
	for recipe := range makers {
		t.Run(recipe, func(t *testing.T) {
			t.Parallel() // each waits for the grace of its release
			cancelledAtEveryRequest(t, recipe)
		})
	}
}

func cancelledAtEveryRequest(t *testing.T, recipe string) {
	for n := int32(1); ; n++ {
		name := fmt.Sprintf("%s/request=%d", recipe, n)
		svc := newFakeService()
		var requests atomic.Int32
		var releasing bool // read once reached is closed
		reached, proceed := make(chan struct{}), make(chan struct{})
		s, _ := svc.session(t, func(op, _ string) fault {
			if requests.Add(1) == n {
				releasing = op == "delete"
				close(reached)
				<-proceed
			}
			return pass
		})
		s.unwatched.held = time.Hour // the watch of a hold is not a request of the acquisition
		ctx, cancel := context.WithCancel(within(t))
		l := newLock(t, recipe, s, nil)
		result := make(chan error, 1)
		go func() { result <- useOnce(t, name, ctx, l, new(holders)) }()
		var err error
		over := false
		select {
		case <-reached:
			cancel()
			// The acquire returns although the service does not answer.
			select {
			case err = <-result:
			case <-within(t).Done():
				t.Errorf("%s: cancelled, and does not return", name)
			}
			close(proceed)
		case err = <-result:
			over = true
		}
		cancel()
		if over {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n < 4 {
				t.Errorf("%s: too few requests", name)
			}
			break
		}
		// At the end of a release's grace, the janitor's delete may be answered before the release looks.
		confirmed := err == nil && releasing
		if !errors.Is(err, context.Canceled) && !confirmed {
			t.Errorf("%s: %v", name, err)
		}
		if left := svc.ephemerals(); confirmed && len(left) > 0 {
			t.Errorf("%s: the release is confirmed, and %v is left", name, left)
		}
		eventually(t, name+": nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
	}
}

// The reply to a create is lost, the search for its znode is lost too, and the caller gives up. The session removes
// the znode in the background.
func TestLostCreateThenCancelled(t *testing.T) {
	for recipe := range makers {
		svc := newFakeService()
		svc.set("/locks", nil, 0)
		if recipe != "naive" {
			svc.set("/locks/a", nil, 0)
			svc.set("/locks/a/locks", nil, 0) // a semaphore's queue
		}
		ctx, cancel := context.WithCancel(within(t))
		var syncs atomic.Int32
		s, _ := svc.session(t, func(op, _ string) fault {
			switch {
			case op == "create":
				return loseAfter
			case op == "sync" && syncs.Add(1) == 1:
				cancel()
				return loseBefore
			}
			return pass
		})
		if _, err := newLock(t, recipe, s, nil).Acquire(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", recipe, err)
		}
		eventually(t, recipe+": nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
	}
}

// Many goroutines on one lock value, with every tenth request lost.
func TestManyGoroutinesUnderLoss(t *testing.T) {
	for recipe := range makers {
		svc := newFakeService()
		lossy := everyTenth()
		var holders holders
		var wg sync.WaitGroup
		for range 3 {
			s, _ := svc.session(t, lossy)
			l := newLock(t, recipe, s, nil)
			for range 5 {
				wg.Go(func() {
					for range 10 {
						if err := useOnce(t, recipe, within(t), l, &holders, runtime.Gosched); err != nil {
							t.Errorf("%s: %v", recipe, err)
						}
					}
				})
			}
		}
		wg.Wait()
		eventually(t, recipe+": nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
	}
}

func TestSequenceExhausted(t *testing.T) {
	for _, created := range []int32{2147483647, -2147483648} { // the server prints the second as a negative number
		svc := newFakeService()
		svc.set("/locks", nil, 0)
		svc.set("/locks/a", nil, 0)
		svc.SetCreates("/locks/a", created)
		s, _ := svc.session(t, nil)
		if _, err := newLock(t, "mutex", s, nil).Acquire(within(t)); !errors.Is(err, ErrSequenceExhausted) {
			t.Errorf("after %d creates: %v", created, err)
		}
		eventually(t, "own node deleted", func() bool { return len(svc.ephemerals()) == 0 })
	}
}

// A znode that has our name but belongs to another session is not adopted.
func TestForeignOwnerIsNotAdopted(t *testing.T) {
	svc := newFakeService()
	svc.set("/locks", nil, 0)
	svc.set("/locks/a", nil, 0)
	other, _ := svc.session(t, nil)
	var creates atomic.Int32
	var stolen string
	s, _ := svc.session(t, func(op, path string) fault {
		if op == "create" && creates.Add(1) == 1 {
			stolen = path + "0000000000"
			svc.set(stolen, nil, other.ID())
			return loseBefore
		}
		return pass
	})
	ctx, cancel := context.WithCancel(within(t))
	l := newLock(t, "mutex", s, func(ahead int) {
		if ahead != 1 {
			t.Errorf("%d ahead, want the other", ahead)
		}
		cancel()
	})
	if _, err := l.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if creates.Load() != 2 || !strings.HasPrefix(stolen, "/locks/a/_c_") {
		t.Errorf("%d creates", creates.Load())
	}
}
