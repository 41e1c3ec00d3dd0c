package recipes

import (
	"errors"
	"slices"
	"testing"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// The changes of a session come in order. The end of the session is the loss of its holds.
func TestObservedSession(t *testing.T) {
	skipUnderRace(t)
	var j journal
	var states []zksession.State // by the one goroutine that calls; read after the end
	w := wire.New()
	s := connected(t, SessionConfig{
		Config: zksession.Config{Dial: w.Dial,
			OnState: func(c zksession.StateChange) { states = append(states, c.State) }},
		Observe: j.observe,
	})
	acquired(t, realLock(t, "mutex", s, lockPath(t), nil))
	again := s.zk.Reconnected()
	w.Lose(wire.OpMulti, 1)
	if err := s.zk.Sync(within(t), "/"); !errors.Is(err, zksession.ErrConnectionLoss) {
		t.Fatalf("the request that broke the connection: %v", err)
	}
	<-again
	if err := s.Close(within(t)); err != nil {
		t.Fatal(err)
	}
	// Close has waited for all events.
	session := j.of(false)
	if got := kinds(session); got != "connected, disconnected, connected, ended" {
		t.Fatal(got)
	}
	if session[0].Took != 0 || session[1].Err == nil || session[2].Took <= 0 || session[2].Server == "" ||
		!errors.Is(session[3].Err, zksession.ErrSessionClosed) {
		t.Errorf("%+v", session)
	}
	lost := j.of(true)
	if got := kinds(lost); got != "queued mutex, granted mutex, lost mutex" {
		t.Fatal(got)
	}
	if !errors.Is(lost[2].Err, zksession.ErrSessionClosed) {
		t.Errorf("lost with %v", lost[2].Err)
	}
	want := []zksession.State{zksession.Connected, zksession.Disconnected, zksession.Connected, zksession.Closed}
	if !slices.Equal(states, want) {
		t.Errorf("OnState was called with %v, want %v", states, want)
	}
}
