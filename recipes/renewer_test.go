package recipes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/zksession"
)

// renewerOf returns a renewer of sessions of a fake service, and a function that returns the connection of the n-th.
func renewerOf(t *testing.T, svc *fakeService, changed func(Renewal)) (*Renewer, func(n int) *fakeSession) {
	t.Helper()
	var mu sync.Mutex
	var made []*fakeSession
	r, err := NewRenewer(t.Context(), RenewerConfig{
		OnChange: changed,
		Connect: func(context.Context) (*Session, error) {
			s, z := svc.session(t, nil)
			mu.Lock()
			defer mu.Unlock()
			made = append(made, z)
			return s, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r, func(n int) *fakeSession {
		mu.Lock()
		defer mu.Unlock()
		return made[n-1]
	}
}

// present returns the present session, which becomes one with the given id.
func present(t *testing.T, r *Renewer, id int64) *Session {
	t.Helper()
	s, err := r.Session(within(t))
	if err != nil || s.ID() != id {
		t.Fatalf("session %v, %v, want the one with id %d", s, err, id)
	}
	return s
}

// A session that has expired is replaced. Its holds stay lost, and a lock of the renewer is acquired in the next one.
func TestRenewerReplacesSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		var changes []string
		r, z := renewerOf(t, svc, func(c Renewal) {
			changes = append(changes, fmt.Sprintf("%d %v", c.Session.ID(), c.Err))
		})
		var opened []int64
		l := r.Lock(func(s *Session) (Lock, error) {
			opened = append(opened, s.ID())
			return NewMutex(MutexConfig{Session: s, Path: "/lock"})
		})
		first := present(t, r, 1)
		for range 2 { // the lock is opened once
			released(t, acquired(t, l))
		}
		h := acquired(t, l)
		time.Sleep(first.Timeout()) // it lives for long enough to be replaced at once
		z(1).end(zksession.ErrSessionExpired)
		present(t, r, 2)
		if err := causeOf(t, h); !errors.Is(err, ErrLockLost) || !errors.Is(err, zksession.ErrSessionExpired) {
			t.Errorf("cause of the hold's end: %v", err)
		}
		again := acquired(t, l)
		if again.Session() != 2 || again.Token() <= h.Token() || h.Valid() {
			t.Errorf("session %d, token %d after %d, and the first is valid: %t", again.Session(), again.Token(), h.Token(),
				h.Valid())
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Close(ended); err != nil { // as a program does that is told to end
			t.Error(err)
		}
		if err := causeOf(t, again); !errors.Is(err, zksession.ErrSessionClosed) {
			t.Errorf("cause of the hold's end: %v", err)
		}
		if s, err := r.Session(t.Context()); !errors.Is(err, zksession.ErrSessionClosed) {
			t.Errorf("after close: %v, %v", s, err)
		}
		if _, err := l.Acquire(t.Context()); !errors.Is(err, zksession.ErrSessionClosed) {
			t.Errorf("acquire after close: %v", err)
		}
		want := fmt.Sprint([]string{"1 <nil>", "1 " + zksession.ErrSessionExpired.Error(), "2 <nil>"})
		if got := fmt.Sprint(changes); got != want || fmt.Sprint(opened) != "[1 2]" {
			t.Errorf("changes %s, want %s; opened in %v", got, want, opened)
		}
		if left := svc.ephemerals(); len(left) != 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

// An attempt that waits while its session ends goes on in the next session.
func TestRenewedWaiterGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		other, _ := svc.session(t, nil)
		h := acquired(t, newLock(t, "mutex", other, nil)) // at /locks/a
		queued := make(chan int, 2)
		r, z := renewerOf(t, svc, nil)
		l := r.Lock(func(s *Session) (Lock, error) {
			return NewMutex(MutexConfig{Session: s, Path: "/locks/a", OnQueued: func(ahead int) { queued <- ahead }})
		})
		got := make(chan *Hold)
		go func() {
			h, err := l.Acquire(t.Context())
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		<-queued
		if _, err := l.TryAcquire(t.Context()); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("tried behind a holder: %v", err)
		}
		z(1).end(zksession.ErrSessionExpired)
		for ahead := <-queued; ahead != 1; ahead = <-queued { // the try was queued behind two
		}
		released(t, h)
		if h := <-got; h.Session() != 3 {
			t.Errorf("granted in session %d", h.Session())
		}
	})
}

// PerSession makes its thing once in each session, and again in the next.
func TestPerSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		r, z := renewerOf(t, svc, nil)
		present := PerSession(r, func(s *Session) (*RW, error) { return NewRW(RWConfig{Session: s, Path: "/locks/a"}) })
		first, err := present(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if again, err := present(t.Context()); again != first || err != nil {
			t.Errorf("a second lock in one session, or %v", err)
		}
		write := acquired(t, first.Write())
		z(1).end(zksession.ErrSessionExpired)
		<-write.Context().Done()
		synctest.Wait() // until the Renewer knows
		next, err := present(t.Context())
		if err != nil || next == first {
			t.Fatalf("the lock of the session that is over, or %v", err)
		}
		if _, err := next.Downgrade(t.Context(), write); err == nil {
			t.Error("a hold of the old session became a read hold of the new one")
		}
		read, err := next.Downgrade(t.Context(), acquired(t, next.Write()))
		if err != nil || read.Session() == write.Session() {
			t.Fatalf("%v, %v", read, err)
		}
		released(t, read)
	})
}

// While no session can be made, the pauses between the attempts grow to a limit, and who waits for one is told why.
func TestRenewerBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		errDown := errors.New("nothing listens")
		var attempts []time.Time
		var pauses []time.Duration
		var down *fakeSession
		r, err := NewRenewer(t.Context(), RenewerConfig{
			OnChange: func(c Renewal) {
				if c.Session == nil {
					pauses = append(pauses, c.Pause)
				}
			},
			Connect: func(context.Context) (*Session, error) {
				attempts = append(attempts, time.Now())
				if down != nil && len(attempts) < 12 {
					return nil, errDown
				}
				s, z := svc.session(t, nil)
				down = z
				return s, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		down.end(zksession.ErrSessionExpired)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.Session(ctx); !errors.Is(err, errDown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waited for a session: %v", err)
		}
		if s, err := r.Session(t.Context()); err != nil || s.ID() != 2 {
			t.Errorf("in the end: session %v, %v", s, err)
		}
		if len(attempts) != 12 || len(pauses) != 10 || pauses[9] != renewMax {
			t.Fatalf("%d attempts, pauses %v", len(attempts), pauses)
		}
		for i, pause := range pauses { // the first session ended early, which is paused for too
			if i > 0 && pause != min(2*pauses[i-1], renewMax) {
				t.Errorf("pauses do not grow: %v", pauses)
			}
			if took := attempts[i+2].Sub(attempts[i+1]); took < pause/2 || took > pause {
				t.Errorf("after attempt %d: %s of %s", i+1, took, pause)
			}
		}
	})
}

// A renewer that is closed while it makes a session closes that one too.
func TestRenewerClosedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		proceed := make(chan struct{})
		var made []*fakeSession
		r, err := NewRenewer(t.Context(), RenewerConfig{Connect: func(context.Context) (*Session, error) {
			if len(made) > 0 {
				<-proceed
			}
			s, z := svc.session(t, nil)
			made = append(made, z)
			return s, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		made[0].end(zksession.ErrSessionExpired)
		time.Sleep(renewMin) // it is connecting now
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close while Connect does not return: %v", err)
		}
		close(proceed)
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if len(made) != 2 || made[1].Err() != zksession.ErrSessionClosed {
			t.Errorf("made %d sessions, the last one: %v", len(made), made[len(made)-1].Err())
		}
	})
}

// The first session's failure is the caller's to see.
func TestRenewerWithoutFirstSession(t *testing.T) {
	errRefused := errors.New("refused")
	r, err := NewRenewer(t.Context(), RenewerConfig{
		Connect: func(context.Context) (*Session, error) { return nil, errRefused },
	})
	if r != nil || !errors.Is(err, errRefused) {
		t.Errorf("%v, %v", r, err)
	}
}
