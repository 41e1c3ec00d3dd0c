package recipes

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// A server that answers a reconnect with another session has forgotten ours, whose znodes go sooner or later. That is
// an expiry at once, not only when another client has the lock.
func TestForgottenSession(t *testing.T) {
	skipUnderRace(t)
	for name, end := range map[string]HoldsEnd{"after the timeout": AfterTimeout, "when told": WhenTold} {
		t.Run(name, func(t *testing.T) {
			w := wire.New()
			s := connected(t, SessionConfig{Config: zksession.Config{Timeout: 20 * time.Second, Dial: w.Dial}, HoldsEnd: end})
			h := acquired(t, realLock(t, "mutex", s, lockPath(t), nil))
			id := s.ID()
			w.Forget()
			w.Cut(wire.OpGetData, 1)
			_, _, _ = s.zk.Get(within(t), "/") // breaks the connection
			select {
			case <-s.Done():
			case <-within(t).Done():
				t.Fatalf("the session is now %x, and was %x; the hold: %v", s.ID(), id, context.Cause(h.Context()))
			}
			if !errors.Is(s.Err(), zksession.ErrSessionExpired) || s.ID() != id {
				t.Errorf("session %x, which was %x: %v", s.ID(), id, s.Err())
			}
			if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) {
				t.Errorf("the hold ended because of %v", cause)
			}
		})
	}
}

// A plain connection goes on with the session that a server gives it in place of its own, and says that it has lost
// that.
func TestPlainForgottenSession(t *testing.T) {
	skipUnderRace(t)
	w, states := wire.New(), make(chan zksession.StateChange, 100)
	p, err := zksession.ConnectPlain(within(t), zksession.PlainConfig{Config: zksession.Config{Servers: servers(t),
		Dial: w.Dial, Timeout: 20 * time.Second, OnState: func(c zksession.StateChange) { states <- c }}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(within(t))
	old := p.Last()
	w.Forget()
	w.Cut(wire.OpGetData, 1)
	_, _, _ = p.Conn.Get("/") // breaks the connection
	select {
	case <-old.Life.Done():
	case <-within(t).Done():
		t.Fatal("the old session lives")
	}
	next, err := p.Session(within(t))
	if err != nil || next.ID == old.ID || old.Err() == nil {
		t.Errorf("session %x follows %x: %v, %v", next.ID, old.ID, old.Err(), err)
	}
	for c := range states {
		if c.State == zksession.Expired {
			if c.Session != old.ID || !errors.Is(c.Err, zksession.ErrSessionExpired) {
				t.Errorf("%+v, want the end of %x", c, old.ID)
			}
			return
		}
		if c.State == zksession.Connected && c.Session == next.ID {
			t.Fatal("nobody was told that the old session is over")
		}
	}
}
