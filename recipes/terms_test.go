package recipes

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// A hold ends exactly when the service has been silent for the session timeout, without a promise that it lasts until
// then. Its znode stays until the hold is released, and the session goes on.
func TestSilenceEndsHolds(t *testing.T) {
	for recipe := range makers {
		t.Run(recipe, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				svc := newFakeService()
				s, z := svc.session(t, nil)
				h := acquired(t, newLock(t, recipe, s, nil))
				time.Sleep(time.Minute) // of answers
				z.silence(true)
				time.Sleep(s.Timeout() - time.Nanosecond)
				if _, promised := h.Deadline(); promised || !h.Valid() {
					t.Errorf("before the timeout: %v; a deadline: %t", context.Cause(h.Context()), promised)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				cause := context.Cause(h.Context())
				if !errors.Is(cause, ErrLockLost) || !errors.Is(cause, ErrLeaseExpired) || h.Valid() {
					t.Errorf("after the timeout: %v", cause)
				}
				if len(svc.ephemerals()) == 0 {
					t.Error("the znode was removed before the hold was released")
				}
				releasedLost(t, h)
				synctest.Wait()
				if left := svc.ephemerals(); len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
				z.silence(false)
				released(t, acquired(t, newLock(t, recipe, s, nil)))
			})
		})
	}
}

// When a stopped process goes on, Valid knows that the service was silent, before a timer has run.
func TestSilenceWhileStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		svc := newFakeService()
		s, z := svc.session(t, nil)
		h := acquired(t, newLock(t, "mutex", s, nil))
		z.silence(true)
		synctest.Wait()
		s.terms.mu.Lock()
		s.terms.timer.Stop()
		s.terms.mu.Unlock()
		time.Sleep(time.Minute)
		if h.Context().Err() != nil {
			t.Fatal("the timer ran") // else this shows nothing
		}
		if h.Valid() || h.Context().Err() == nil {
			t.Error("the hold is valid after a silence")
		}
	})
}

// The configuration decides when holds end: after a silence, or only when the service says so. A disconnect ends none.
func TestHoldsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			end          HoldsEnd
			afterSilence bool
		}{{AfterTimeout, false}, {WhenTold, true}} {
			svc := newFakeService()
			s, z := svc.sessionUntil(t, c.end, nil)
			h := acquired(t, newLock(t, "mutex", s, nil))
			z.disconnect()
			synctest.Wait()
			if !h.Valid() || h.Context().Err() != nil {
				t.Errorf("%d: after a disconnect: valid %t, %v", c.end, h.Valid(), context.Cause(h.Context()))
			}
			z.reconnect()
			z.silence(true)
			time.Sleep(time.Minute)
			if h.Valid() != c.afterSilence {
				t.Errorf("%d: after a silence: %v", c.end, context.Cause(h.Context()))
			}
			z.silence(false)
			if c.afterSilence {
				released(t, h)
			}
		}
	})
	if _, err := Connect(within(t), SessionConfig{HoldsEnd: WhenTold + 1}); err == nil {
		t.Error("there is no such end of holds")
	}
}

// A client that is cut off from all servers stops believing by itself, before anything has told it of a loss.
func TestCutOffClientStopsBelieving(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	w := wire.New()
	s := connected(t, SessionConfig{Config: zksession.Config{Dial: w.Dial, Timeout: 2 * time.Second}})
	lock := lockPath(t)
	h := acquired(t, realLock(t, "mutex", s, lock, nil))
	w.Refuse(true)
	w.Strike(wire.OpPing, 1, wire.BlackHole, nil)
	cause := causeOf(t, h)
	if !errors.Is(cause, ErrLeaseExpired) || h.Valid() || s.Err() != nil {
		t.Errorf("cause %v, valid %t, session %v", cause, h.Valid(), s.Err())
	}
	t.Logf("%v since anything was heard, of %v", time.Since(s.zk.Heard()), s.Timeout())
	w.Refuse(false)
	_ = s.zk.Await(within(t)) // it is connected again, or has expired meanwhile
	observer := connected(t, SessionConfig{})
	releasedLost(t, h)
	empty(t, observer, lock)
}
