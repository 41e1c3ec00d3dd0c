package recipes

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/zksession"
)

// A pulse decides what happens to the heartbeats of a fake session. All requests of that session take a millisecond.
type pulse struct {
	mu   sync.Mutex
	held chan struct{} // nil: heartbeats pass
}

const (
	tripTime = time.Millisecond
	fakeTick = 200 * time.Millisecond // the fake's session timeout is a second
)

func (p *pulse) fault(op, path string) fault {
	time.Sleep(tripTime)
	if op == "multi" && strings.HasPrefix(path, "/heartbeats/") {
		p.mu.Lock()
		held := p.held
		p.mu.Unlock()
		if held != nil {
			<-held
		}
	}
	return pass
}

// stop holds heartbeats back until the returned function is called.
func (p *pulse) stop() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = make(chan struct{})
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(p.held)
		p.held = nil
	})
}

// clocked returns a session with a lease clock on a fake service, in a bubble of synctest.
func clocked(t *testing.T, svc *fakeService) (*Session, *fakeSession, *pulse) {
	t.Helper()
	p := new(pulse)
	s, z := svc.session(t, p.fault)
	if err := s.startLeaseClock(LeaseClockConfig{Tick: fakeTick}); err != nil {
		t.Fatal(err)
	}
	return s, z, p
}

// deadlineOf returns the deadline of a hold that has one.
func deadlineOf(t *testing.T, h *Hold) time.Time {
	t.Helper()
	d, ok := h.Deadline()
	if !ok {
		t.Fatal("no deadline")
	}
	return d
}

// Holds last as long as heartbeats are answered. If they are not, each hold ends exactly at its deadline, to the
// nanosecond, and so before the session can have expired. Its znode stays until the hold is released, and no lock is
// granted until the clock is valid again.
func TestLeaseClock(t *testing.T) {
	for recipe := range makers {
		t.Run(recipe, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newFakeService()
				s, z, p := clocked(t, svc)
				other, _ := svc.session(t, nil)
				h, err := newLock(t, recipe, s, nil).Acquire(within(t))
				if err != nil {
					t.Fatal(err)
				}
				first, before := deadlineOf(t, h), z.count("multi")
				time.Sleep(10 * time.Second)
				if !h.Valid() || !deadlineOf(t, h).After(first) {
					t.Errorf("after 10 s: %v, deadline %v, was %v", context.Cause(h.Context()), deadlineOf(t, h), first)
				}
				if n := z.count("multi") - before; n != 100 { // one every half tick
					t.Errorf("%d heartbeats", n)
				}
				resume := p.stop()
				defer resume()
				stopped := time.Now()
				cause := causeOf(t, h)
				if now := time.Now(); !now.Equal(deadlineOf(t, h)) || now.Sub(stopped) >= s.Timeout()-fakeTick {
					t.Errorf("ended %v after the heartbeats, deadline %v later", now.Sub(stopped), deadlineOf(t, h).Sub(now))
				}
				if !errors.Is(cause, ErrLockLost) || !errors.Is(cause, ErrLeaseExpired) || h.Valid() {
					t.Errorf("cause %v, valid: %t", cause, h.Valid())
				}
				asked := z.count("multi")
				if _, err := h.Multi(within(t)); !errors.Is(err, ErrLeaseExpired) && recipe != "naive" ||
					z.count("multi") != asked {
					t.Errorf("guarded write: %v", err)
				}
				// The work may be waiting for an answer, so the next holder must not begin before the work has stopped.
				waiting, cancel := context.WithTimeout(t.Context(), s.Timeout()/4)
				if early, err := newLock(t, recipe, other, nil).Acquire(waiting); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("another client got %v, %v before the hold was released", early, err)
				}
				cancel()
				if err := h.Release(within(t)); !errors.Is(err, ErrLeaseExpired) {
					t.Errorf("release: %v", err)
				}
				// The service can be reached, but heartbeats are held back.
				h2, err := newLock(t, recipe, other, nil).Acquire(within(t))
				if err != nil {
					t.Fatal(err)
				}
				if err := h2.Release(within(t)); err != nil {
					t.Error(err)
				}
				short, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := newLock(t, recipe, s, nil).Acquire(short); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("acquired without a valid clock: %v", err)
				}
				resume()
				h3, err := newLock(t, recipe, s, nil).Acquire(within(t))
				if err != nil {
					t.Fatal(err)
				}
				if !h3.Valid() || h.Valid() || !deadlineOf(t, h3).After(time.Now()) {
					t.Errorf("valid: %t, the old one: %t", h3.Valid(), h.Valid())
				}
				if err := h3.Release(within(t)); err != nil {
					t.Error(err)
				}
				if left := svc.ephemerals(); len(left) != 1 || !strings.HasPrefix(left[0], "/heartbeats/heartbeat-") {
					t.Errorf("left: %v", left)
				}
				if err := s.Close(within(t)); err != nil || len(svc.ephemerals()) != 0 {
					t.Errorf("close: %v, left %v", err, svc.ephemerals())
				}
			})
		})
	}
}

// The clock runs out while a client waits. When its turn comes, the client does not get the lock until the clock is
// valid again.
func TestLeaseExpiresInTheQueue(t *testing.T) {
	for recipe := range makers {
		t.Run(recipe, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newFakeService()
				s, _, p := clocked(t, svc)
				other, _ := svc.session(t, nil)
				h, err := newLock(t, recipe, other, nil).Acquire(within(t))
				if err != nil {
					t.Fatal(err)
				}
				got := acquiring(t, newLock(t, recipe, s, nil))
				time.Sleep(time.Second) // the client waits
				resume := p.stop()
				defer resume()
				time.Sleep(2 * s.Timeout())
				if err := h.Release(within(t)); err != nil {
					t.Error(err)
				}
				time.Sleep(2 * s.Timeout())
				select {
				case h := <-got:
					t.Errorf("acquired without a valid clock: %v", h)
				default:
				}
				// The client does not keep others waiting meanwhile.
				h, err = newLock(t, recipe, other, nil).Acquire(within(t))
				if err != nil {
					t.Fatal(err)
				}
				if err := h.Release(within(t)); err != nil {
					t.Error(err)
				}
				resume()
				h = <-got
				if !h.Valid() {
					t.Error(context.Cause(h.Context()))
				}
				if err := h.Release(within(t)); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// When a stopped process goes on, its timers have yet to run. The deadline counts, and not the timers. An answer that
// arrived while the process was stopped does not revive a hold that has ended.
func TestLeaseExpiresWhileStopped(t *testing.T) {
	for _, c := range []struct {
		name string
		look func(*Session, *Hold)
	}{
		{"valid", func(_ *Session, h *Hold) { h.Valid() }},
		{"an answer", func(s *Session, _ *Hold) {
			now := time.Now()
			for range 3 {
				s.clock.acknowledged(beat{now, now})
				now = now.Add(fakeTick)
			}
		}},
		{"another acquisition", func(s *Session, _ *Hold) { _ = s.mayHold() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newFakeService()
				s, _, p := clocked(t, svc)
				h, err := newLock(t, "mutex", s, nil).Acquire(within(t))
				if err != nil {
					t.Fatal(err)
				}
				resume := p.stop()
				defer resume()
				synctest.Wait()
				s.clock.mu.Lock()
				s.clock.timer.Stop()
				s.clock.mu.Unlock()
				time.Sleep(time.Minute)
				if h.Context().Err() != nil {
					t.Fatal("the timer ran") // else this shows nothing
				}
				c.look(s, h)
				if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLeaseExpired) || h.Valid() {
					t.Errorf("cause %v, valid: %t", cause, h.Valid())
				}
			})
		})
	}
}

// Slow answers, lost heartbeats and a znode that an administrator deletes do no harm for a while.
func TestHeartbeatsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		n := 0
		s, _ := svc.session(t, func(op, path string) fault {
			time.Sleep(tripTime)
			if !strings.HasPrefix(path, "/heartbeats") {
				return pass
			}
			n++ // one request at a time
			return []fault{pass, pass, pass, loseBefore, pass, pass, pass, loseAfter}[n%8]
		})
		if err := s.startLeaseClock(LeaseClockConfig{Tick: fakeTick, Interval: fakeTick / 8}); err != nil {
			t.Fatal(err)
		}
		h, err := newLock(t, "mutex", s, nil).Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			time.Sleep(time.Second)
			svc.remove(s.clock.node)
		}
		if !h.Valid() {
			t.Error(context.Cause(h.Context()))
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
	})
}

// The end of a session has its own cause, also with a lease clock, and comes at once.
func TestSessionEndsBeforeTheLease(t *testing.T) {
	for _, why := range []error{zksession.ErrSessionExpired, zksession.ErrSessionClosed} {
		synctest.Test(t, func(t *testing.T) {
			svc := newFakeService()
			s, z, _ := clocked(t, svc)
			h, err := newLock(t, "mutex", s, nil).Acquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			z.end(why) // waits for a heartbeat that is under way
			ended := time.Now()
			if cause := causeOf(t, h); !errors.Is(cause, why) || errors.Is(cause, ErrLeaseExpired) || time.Now() != ended {
				t.Errorf("%v after %v", cause, time.Since(ended))
			}
			if _, err := newLock(t, "mutex", s, nil).Acquire(within(t)); !errors.Is(err, why) || errors.Is(err, ErrLockLost) {
				t.Error(err)
			}
		})
	}
}

// A read hold that stands in the writer's place ends with the write hold. A write hold that has ended cannot be
// downgraded.
func TestLeaseClockAndDowngrade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		s, _, p := clocked(t, svc)
		rw, err := NewRW(RWConfig{Session: s, Path: "/locks/a"})
		if err != nil {
			t.Fatal(err)
		}
		write, err := rw.Write().Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		read, err := rw.ReadUnder(within(t), write)
		if err != nil {
			t.Fatal(err)
		}
		defer p.stop()()
		causeOf(t, write)
		if cause := causeOf(t, read); !errors.Is(cause, ErrLeaseExpired) {
			t.Error(cause)
		}
		if _, err := rw.ReadUnder(within(t), write); !errors.Is(err, ErrLeaseExpired) || !errors.Is(err, ErrLockLost) {
			t.Error(err)
		}
		releasedLost(t, read)
		releasedLost(t, write)
		eventually(t, "nothing left but the heartbeats", func() bool { return len(svc.ephemerals()) == 1 })
	})
}

// An acquisition whose context ends with another hold ends too, whatever that hold was lost for, and leaves nothing.
func TestAcquireEndsWithAnotherHold(t *testing.T) {
	for _, why := range []error{ErrLeaseExpired, errNodeGone} {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		other, _ := svc.session(t, nil)
		first := acquired(t, newLock(t, "mutex", other, nil))
		outer, lose := NewHold(HoldConfig{Parent: t.Context(), Release: func(context.Context) error { return nil }})
		time.AfterFunc(10*time.Millisecond, func() { lose(why) })
		if _, err := newLock(t, "mutex", s, nil).Acquire(outer.Context()); !errors.Is(err, ErrLockLost) {
			t.Errorf("%v: %v", why, err)
		}
		eventually(t, "its place is given up", func() bool { return len(svc.ephemerals()) == 1 })
		released(t, first)
	}
}

// A term that the lease clock has ended keeps the next candidate waiting until the leader has stopped and resigns.
func TestLeaseClockAndLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		s, _, p := clocked(t, svc)
		other, _ := svc.session(t, nil)
		first := newLeaderOf(t, LeaderConfig{Session: s, ID: "first"})
		term := leads(t, first)
		next := make(chan *Hold)
		go func() { next <- leads(t, newLeaderOf(t, LeaderConfig{Session: other, ID: "next"})) }()
		resume := p.stop()
		defer resume()
		causeOf(t, term)
		select {
		case <-next:
			t.Fatal("the next candidate leads before the first one has stopped")
		case <-time.After(s.Timeout() / 4):
		}
		if err := first.Resign(within(t)); !errors.Is(err, ErrLeaseExpired) {
			t.Errorf("resign: %v", err)
		}
		released(t, <-next)
		if err := first.Resign(within(t)); err != nil || len(first.terms) != 0 {
			t.Errorf("%d terms are left, %v", len(first.terms), err)
		}
	})
}

func TestWithoutALeaseClock(t *testing.T) {
	s, _ := newFakeService().session(t, nil)
	h, err := newLock(t, "mutex", s, nil).Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := h.Deadline(); ok || !d.IsZero() || !h.Valid() {
		t.Errorf("%v, %t, valid: %t", d, ok, h.Valid())
	}
	if err := h.Release(within(t)); err != nil || h.Valid() {
		t.Errorf("%v, valid: %t", err, h.Valid())
	}
}
