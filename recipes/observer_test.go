package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/recipes/observe"
)

// A journal has the events that an observer was told.
type journal struct {
	mu     sync.Mutex
	events []observe.Event
}

func (j *journal) observe(e observe.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

// session returns a session on a simulated service that tells the journal.
func (j *journal) session(t *testing.T, svc *fakeService) *Session {
	s, _ := svc.session(t, nil)
	s.observe = j.observe
	return s
}

// clear forgets the events so far.
func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = nil
}

// of returns the events of locks, or those of the session, in order.
func (j *journal) of(locks bool) (events []observe.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.events {
		if (e.Lock != "") == locks {
			events = append(events, e)
		}
	}
	return events
}

// kinds describes events by what the test does not choose.
func kinds(events []observe.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Recipe)))
	}
	return strings.Join(all, ", ")
}

// wants waits until the journal's events of locks are these.
func (j *journal) wants(t *testing.T, want string) {
	t.Helper()
	eventually(t, want, func() bool { return kinds(j.of(true)) == want })
}

// Every recipe tells what becomes of an acquisition and of a hold, once and in order.
func TestObservedLocks(t *testing.T) {
	names := map[string]string{"mutex": "mutex", "naive": "naive-mutex", "rw": "rw/write", "fair-rw": "fair-rw/write",
		"naive-rw": "naive-rw/write", "semaphore-mutex": "semaphore-mutex", "semaphore": "semaphore",
		"shared-semaphore": "semaphore"}
	for _, recipe := range recipeNames {
		t.Run(recipe, func(t *testing.T) {
			var j journal
			svc := newFakeService()
			other, _ := svc.session(t, nil)
			s, lock, name := j.session(t, svc), lockPath(t), names[recipe]
			h := acquired(t, realLock(t, recipe, s, lock, nil))
			begun := time.Now()
			if err := other.zk.Sync(within(t), lock); err != nil { // takes a round trip
				t.Fatal(err)
			}
			least := time.Since(begun)
			released(t, h)
			j.wants(t, strings.ReplaceAll("queued X, granted X, released X", "X", name))
			events := j.of(true)
			granted, over := events[1], events[2]
			if granted.Took <= 0 || over.Took < least || over.Err != nil || granted.Token != h.Token() ||
				over.Token != h.Token() || granted.Session != s.ID() || granted.Lock != lock {
				t.Errorf("granted %+v, released %+v", granted, over)
			}

			j.clear()
			held := acquired(t, realLock(t, recipe, other, lock, nil))
			l := realLock(t, recipe, s, lock, nil).(TryLock)
			if _, err := l.TryAcquire(within(t)); !errors.Is(err, ErrNotAcquired) {
				t.Fatal(err)
			}
			j.wants(t, strings.ReplaceAll("queued X, failed X", "X", name))
			if e := j.of(true); e[0].Ahead < 1 || !errors.Is(e[1].Err, ErrNotAcquired) || e[1].Took <= 0 {
				t.Errorf("a try in vain: %+v", e)
			}

			j.clear()
			released(t, held)
			lost := acquired(t, l)
			if err := other.zk.Delete(within(t), lost.Path()); err != nil {
				t.Fatal(err)
			}
			j.wants(t, strings.ReplaceAll("queued X, granted X, lost X", "X", name))
			if e := j.of(true)[2]; !errors.Is(e.Err, ErrLockLost) || e.Took <= 0 || e.Token != lost.Token() {
				t.Errorf("lost: %+v", e)
			}
			if err := lost.Release(within(t)); !errors.Is(err, ErrLockLost) {
				t.Errorf("release of a lost hold: %v", err)
			}
			if got := len(j.of(true)); got != 3 {
				t.Errorf("%d events, want the hold to end once: %s", got, kinds(j.of(true)))
			}
		})
	}
}

// A downgrade is a reader's grant and the writer's release. A re-entry is no event.
func TestObservedDowngrade(t *testing.T) {
	var j journal
	s := j.session(t, newFakeService())
	rw, err := NewRW(RWConfig{Session: s, Path: lockPath(t)})
	if err != nil {
		t.Fatal(err)
	}
	w := acquired(t, rw.Write())
	if err := w.Reenter(); err != nil {
		t.Fatal(err)
	}
	if err := w.Release(within(t)); err != nil { // of the second entry
		t.Fatal(err)
	}
	r, err := rw.Downgrade(within(t), w)
	if err != nil {
		t.Fatal(err)
	}
	released(t, r)
	j.wants(t, "queued rw/write, granted rw/write, granted rw/read, released rw/write, released rw/read")
}

// An observer may use the session and its locks: it is called without locks held.
func TestObserverMayAcquire(t *testing.T) {
	lock, second := lockPath(t), lockPath(t)+"-2"
	s, _ := newFakeService().session(t, nil)
	tried := make(chan error, 2)
	s.observe = func(e observe.Event) {
		if e.Lock != lock || e.Kind != observe.Queued && e.Kind != observe.Released {
			return
		}
		h, err := realLock(t, "mutex", s, second, nil).Acquire(within(t))
		if err == nil {
			err = h.Release(within(t))
		}
		tried <- err
	}
	released(t, acquired(t, realLock(t, "mutex", s, lock, nil)))
	for range 2 {
		if err := <-tried; err != nil {
			t.Error(err)
		}
	}
}

// Without an observer an acquisition makes nothing more than before.
func TestUnobserved(t *testing.T) {
	s, _ := newFakeService().session(t, nil)
	if on := s.queued("mutex", "/l", nil); on != nil {
		t.Error("OnQueued was made up, which costs a look at the queue")
	}
	want := &Hold{ctx: context.Background()}
	got, err := s.acquire("mutex", "/l", func() (*Hold, error) { return want, nil })
	if got != want || err != nil || got.observed != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
