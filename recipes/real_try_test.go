package recipes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// realTry makes a lock for TryAcquire.
func realTry(t *testing.T, recipe string, s *Session, lock string) TryLock {
	t.Helper()
	return realLock(t, recipe, s, lock, nil).(TryLock)
}

// An attempt costs these requests: where the lock is free, with its release, and where it is taken.
func TestTryRequests(t *testing.T) {
	onRealServers(t)
	for recipe, want := range map[string]struct{ free, taken int }{
		// create and getChildren at once, delete
		"mutex":    {3, 3},
		"rw":       {3, 3},
		"fair-rw":  {3, 3},
		"naive-rw": {3, 3},
		// create, getData
		"naive": {3, 2},
		// create and getChildren of the queue; getChildren of the leases; delete
		"semaphore-mutex":  {6, 4},
		"semaphore":        {7, 4},
		"shared-semaphore": {10, 5}, // and the count, again after an acquisition
	} {
		t.Run(recipe, func(t *testing.T) {
			w, lock := wire.New(), lockPath(t)
			s, other := connected(t, SessionConfig{Config: zksession.Config{Dial: w.Dial}}), connected(t, SessionConfig{})
			s.unwatched = unwatched{never, never}
			l, theirs := realTry(t, recipe, s, lock), realLock(t, recipe, other, lock, nil)
			released(t, acquired(t, l)) // makes the parents
			before, _ := w.Requests()
			h, err := l.TryAcquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			released(t, h)
			after, by := w.Requests()
			if after-before != want.free {
				t.Errorf("free: %d requests, want %d (%v in all)", after-before, want.free, by)
			}
			h = acquired(t, theirs)
			held := len(ephemerals(t, other, lock))
			_, listsBefore, _ := fired(t)
			before, _ = w.Requests()
			for range 3 {
				if _, err := l.TryAcquire(within(t)); !errors.Is(err, ErrNotAcquired) {
					t.Error(err)
				}
			}
			after, by = w.Requests()
			if after-before != 3*want.taken {
				t.Errorf("taken: %d requests, want three times %d (%v in all)", after-before, want.taken, by)
			}
			if n := len(ephemerals(t, other, lock)); n != held {
				t.Errorf("%d znodes, want the holder's %d", n, held)
			}
			if _, lists, _ := fired(t); lists != listsBefore {
				t.Errorf("%d watches on lists fired, want none", lists-listsBefore)
			}
			watches := 0
			s.hub.mu.Lock()
			for target := range s.hub.watches {
				if target.path != lock+"-count" {
					watches++
				}
			}
			s.hub.mu.Unlock()
			if want := map[bool]int{true: 1}[recipe == "naive"]; watches != want { // on the lock's only znode
				t.Errorf("%d watches left, want %d", watches, want)
			}
			released(t, h)
			empty(t, s, lock)
		})
	}
}

// One reply is lost, or one request is cut off, at every point of an attempt that finds the lock taken.
func TestTryBreaksAnywhere(t *testing.T) {
	skipUnderRace(t)
	for recipe, ops := range map[string]map[int32]int{
		"mutex":           {wire.OpCreate2: 1, wire.OpChildren: 1, wire.OpDelete: 1},
		"naive-rw":        {wire.OpCreate2: 1, wire.OpChildren: 1, wire.OpDelete: 1},
		"naive":           {wire.OpCreate: 1, wire.OpGetData: 1},
		"semaphore-mutex": {wire.OpCreate2: 1, wire.OpChildren: 2, wire.OpDelete: 1},
	} {
		for op, steps := range ops {
			for _, cut := range []bool{false, true} {
				for n := 1; n <= steps; n++ {
					t.Run(fmt.Sprintf("%s/%s-%d/cut=%t", recipe, wire.OpNames[op], n, cut), func(t *testing.T) {
						lock, w := lockPath(t), wire.New()
						s, other := connected(t, SessionConfig{Config: zksession.Config{Dial: w.Dial}}), connected(t, SessionConfig{})
						h := acquired(t, realLock(t, recipe, other, lock, nil))
						held := len(ephemerals(t, other, lock))
						if cut {
							w.Cut(op, n)
						} else {
							w.Lose(op, n)
						}
						l := realTry(t, recipe, s, lock)
						if _, err := l.TryAcquire(within(t)); !errors.Is(err, ErrNotAcquired) {
							t.Error(err)
						}
						if w.Losses() != 1 {
							t.Errorf("the connection was broken %d times, want once", w.Losses())
						}
						if n := len(ephemerals(t, other, lock)); n != held {
							t.Errorf("%d znodes, want the holder's %d", n, held)
						}
						released(t, h)
						h, err := l.TryAcquire(within(t))
						if err != nil {
							t.Fatalf("the lock is free, but: %v", err)
						}
						released(t, h)
						empty(t, other, lock)
					})
				}
			}
		}
	}
}

// Attempts of several sessions never hold together and leave nothing behind, although their connections break all the
// time and some callers give up early.
func TestTryUnderBreaks(t *testing.T) {
	for _, recipe := range []string{"mutex", "rw", "semaphore"} {
		t.Run(recipe, func(t *testing.T) {
			lock := lockPath(t)
			var holders holders
			underBreaks(t, lock, 2, 25, func(s *Session) func(context.Context, *rand.Rand) error {
				l := realTry(t, recipe, s, lock)
				return func(ctx context.Context, _ *rand.Rand) error {
					h, err := l.TryAcquire(ctx)
					if errors.Is(err, ErrNotAcquired) {
						return nil
					}
					if err != nil {
						return err
					}
					holders.enter(t, t.Name(), h)()
					return h.Release(ctx)
				}
			})
		})
	}
}
