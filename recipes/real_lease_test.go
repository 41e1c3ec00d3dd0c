package recipes

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/ensembles/labtest/apart"
	"locklab/recipes/zksession"
)

// A follower that is cut off from the other servers goes on answering pings and reads until it notices. That takes
// syncLimit ticks, which is longer here than the session timeout. Two clients are connected to it. The one without a
// lease clock still believes in its lock, and still reads its znode there, when another client has the lock. The one
// with a lease clock has stopped before.
func TestLeaseClockBehindACutOffFollower(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs ZooKeeper")
	}
	skipUnderRace(t)
	const timeout = 4 * time.Second
	lab := apart.Start(t, 60) // ticks: three session timeouts
	leader, follower := lab.Servers[0], lab.Servers[1]
	var mu sync.Mutex
	var states []string
	to := func(server, name string, clock *LeaseClockConfig) *Session {
		return connected(
			t,
			SessionConfig{
				Config: zksession.Config{
					Servers: []string{server},
					Timeout: timeout,
					Logger:  slog.New(slog.DiscardHandler),
					OnState: func(c zksession.StateChange) {
						mu.Lock()
						defer mu.Unlock()
						states = append(states, name+" "+c.State.String())
					},
				},
				LeaseClock: clock,
			},
		)
	}
	clocked := to(follower, "clocked", &LeaseClockConfig{Tick: apart.Tick})
	plain, rival := to(follower, "plain", nil), to(leader, "rival", nil)
	lock := lockPath(t)
	c := acquired(t, realLock(t, "mutex", clocked, lock+"-clocked", nil))
	p := acquired(t, realLock(t, "mutex", plain, lock+"-plain", nil))
	if d, ok := c.Deadline(); !ok || time.Until(d) > timeout || !c.Valid() {
		t.Errorf("deadline in %v, %t", time.Until(d), ok)
	}
	rc, rp := acquiring(
		t,
		realLock(t, "mutex", rival, lock+"-clocked", nil),
	), acquiring(
		t,
		realLock(t, "mutex", rival, lock+"-plain", nil),
	)
	lab.Cut(t, follower)
	cut := time.Now()
	var ended time.Time
	stopped := make(chan struct{})
	go func() { // ends when the hold ends
		defer close(stopped)
		<-c.Context().Done()
		ended = time.Now()
	}()
	// The rival gets one lock after its holder stopped, and the other while its holder still believes that it holds
	// it.
	taken := <-rc
	if cause := context.Cause(c.Context()); !errors.Is(cause, ErrLeaseExpired) || c.Valid() {
		t.Errorf("the rival has the lock; the holder with a clock: cause %v, valid %t", cause, c.Valid())
	}
	at := time.Now()
	<-stopped
	t.Logf(
		"after the cut: the holder with a lease clock stopped after %v, the rival had the lock after %v",
		ended.Sub(cut),
		at.Sub(cut),
	)
	takenToo := <-rp
	if !p.Valid() {
		t.Errorf("the holder without a clock has heard that its hold is lost: %v", context.Cause(p.Context()))
	}
	if _, stat, err := plain.zk.Get(within(t), p.nodes[0]); err != nil || stat.Owner != plain.ID() {
		t.Errorf("the holder without a clock does not see its znode: %+v, %v", stat, err)
	}
	if taken.Token() <= c.Token() || takenToo.Token() <= p.Token() {
		t.Errorf("tokens %d after %d, %d after %d", taken.Token(), c.Token(), takenToo.Token(), p.Token())
	}
	// No server has told the holder without a clock. (The other client's connection may have broken, because the
	// follower answers its pings in order with the heartbeats.)
	mu.Lock()
	if slices.Contains(states, "plain disconnected") {
		t.Errorf("states %v", states)
	}
	mu.Unlock()
	lab.Heal(t, follower)
	if cause := causeOf(t, p); !errors.Is(cause, ErrLockLost) {
		t.Errorf("cause: %v", cause)
	}
	t.Logf("the holder without a lease clock knew after %v", time.Since(cut))
	released(t, taken)
	released(t, takenToo)
	for _, s := range []*Session{clocked, plain} { // each session hears that it is over once its server is back
		eventually(t, "the session is over", func() bool { return errors.Is(s.Err(), zksession.ErrSessionExpired) })
	}
}

// A lock works with a lease clock as it does without. The heartbeats' znode ends with the session, and a session
// timeout that is too short is refused.
func TestRealLeaseClock(t *testing.T) {
	onRealServers(t)
	lock, other := lockPath(t), connected(t, SessionConfig{})
	clock := &LeaseClockConfig{Tick: apart.Tick, Path: lock + "-heartbeats"}
	least, err := clock.MinTimeout()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Connect(within(t), SessionConfig{Config: zksession.Config{Servers: servers(t), Timeout: least},
		LeaseClock: clock}); !errors.Is(
		err,
		ErrTimeoutTooShort,
	) {
		t.Errorf("%v, %v", s, err)
	}
	s := connected(t, SessionConfig{LeaseClock: clock})
	for range 3 {
		h := acquired(t, realLock(t, "mutex", s, lock, nil))
		first, ok := h.Deadline()
		if !ok {
			t.Fatal("no deadline")
		}
		eventually(t, "the deadline moves on", func() bool { d, _ := h.Deadline(); return d.After(first) })
		if left := time.Until(first); left <= 0 || left > s.Timeout()-clock.Tick {
			t.Errorf("%v left of %v", left, s.Timeout())
		}
		released(t, h)
	}
	if nodes := ephemerals(t, other, clock.Path); len(nodes) != 1 {
		t.Errorf("heartbeats %v", nodes)
	}
	if err := s.Close(within(t)); err != nil {
		t.Fatal(err)
	}
	empty(t, other, clock.Path)
	empty(t, other, lock)
}
