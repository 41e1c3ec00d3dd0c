package recipes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// Clients of several sessions never hold together and leave nothing behind, although their connections break all the
// time and some of them give up early.
func TestExclusionUnderBreaks(t *testing.T) {
	t.Parallel()
	for _, recipe := range recipeNames {
		t.Run(recipe, func(t *testing.T) {
			t.Parallel()
			lock, other := lockPath(t), connected(t, SessionConfig{})
			var holders holders
			work := func() { _ = other.zk.Sync(within(t), lock) } // takes a round trip
			underBreaks(t, lock, 2, 25, func(s *Session) func(context.Context, *rand.Rand) error {
				l := realLock(t, recipe, s, lock, nil)
				return func(ctx context.Context, _ *rand.Rand) error { return useOnce(t, t.Name(), ctx, l, &holders, work) }
			})
		})
	}
}

// underBreaks lets four sessions on different servers use a lock while their connections break all the time. In each
// session a number of clients acquires a number of times, and each context may end early. Nothing may fail for any
// other reason, and nothing may be left behind.
func underBreaks(
	t *testing.T,
	lock string,
	clients, times int,
	client func(*Session) func(context.Context, *rand.Rand) error,
) {
	t.Helper()
	skipUnderRace(t)
	all := servers(t)
	var wg sync.WaitGroup
	var wires []*wire.Wire
	for i := range 4 {
		all = rotated(all)
		w := wire.New()
		w.BreakAtRandom(rand.New(rand.NewPCG(1, uint64(i))))
		wires = append(wires, w)
		use := client(connected(t, SessionConfig{Config: zksession.Config{Servers: all, Dial: w.Dial}}))
		for j := range clients {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(2, uint64(clients*i+j)))
				for range times {
					ctx := within(t)
					if r.IntN(3) == 0 {
						short, cancel := context.WithTimeout(ctx, time.Duration(r.IntN(20))*time.Millisecond)
						defer cancel()
						ctx = short
					}
					if err := use(ctx, r); err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	broken := 0
	for _, w := range wires {
		broken += w.Losses()
		w.BreakAtRandom(nil) // so that the sessions can be closed
	}
	t.Logf("%d breaks", broken)
	if broken < 10 {
		t.Errorf("only %d connections were broken", broken)
	}
	empty(t, connected(t, SessionConfig{}), lock)
}

// The reply to a create is lost, then the reply to the sync or list of the search too, and in some cases the caller
// gives up meanwhile.
func TestLostCreateAndLostSearch(t *testing.T) {
	skipUnderRace(t)
	for _, op := range []int32{wire.OpMulti, wire.OpChildren} {
		for _, cancelled := range []bool{false, true} {
			t.Run(fmt.Sprintf("op=%d/cancelled=%t", op, cancelled), func(t *testing.T) {
				lock, w := lockPath(t), wire.New()
				s, other := connected(t, SessionConfig{Config: zksession.Config{Dial: w.Dial}}), connected(t, SessionConfig{})
				l := realLock(t, "mutex", s, lock, nil)
				released(t, acquired(t, l))
				w.Lose(wire.OpCreate2, 1)
				n := 1
				if op == wire.OpChildren {
					n = 2 // the first goes with the create
				}
				w.Cut(op, n)
				ctx := within(t)
				if cancelled {
					cancelling, cancel := context.WithCancel(ctx)
					defer cancel()
					ctx = cancelling
					w.OnLoss(cancel)
				}
				h, err := l.Acquire(ctx)
				switch {
				case err == nil:
					released(t, h)
				case !cancelled || !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				empty(t, other, lock)
				released(t, acquired(t, realLock(t, "mutex", other, lock, nil)))
			})
		}
	}
}

// The session is killed while one client holds and another waits in it.
func TestSessionKilled(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	for _, recipe := range recipeNames {
		t.Run(recipe, func(t *testing.T) {
			t.Parallel()
			lock, w := lockPath(t), wire.New()
			var mu sync.Mutex
			var states []zksession.State
			s := connected(t, SessionConfig{Config: zksession.Config{Dial: w.Dial, OnState: func(c zksession.StateChange) {
				mu.Lock()
				defer mu.Unlock()
				states = append(states, c.State)
			}}})
			other := connected(t, SessionConfig{})
			h := acquired(t, realLock(t, recipe, s, lock, nil))
			queued := make(chan struct{}, 1)
			l := realLock(t, recipe, s, lock, func(int) { queued <- struct{}{} })
			waiting := make(chan error, 1)
			go func() { _, err := l.Acquire(within(t)); waiting <- err }()
			<-queued
			kill(t, w, servers(t)[0])
			// If the client reconnects at that moment, it may see that its znode is gone before it hears of the
			// session's end.
			if cause := causeOf(t, h); !errors.Is(cause, ErrLockLost) {
				t.Errorf("cause: %v", cause)
			}
			if err := <-waiting; !errors.Is(err, zksession.ErrSessionExpired) || errors.Is(err, ErrLockLost) {
				t.Errorf("the waiter: %v", err)
			}
			if err := h.Release(within(t)); !errors.Is(err, ErrLockLost) {
				t.Errorf("release: %v", err)
			}
			<-s.Done()
			if !errors.Is(s.Err(), zksession.ErrSessionExpired) {
				t.Error(s.Err())
			}
			dials := w.Dials()
			released(t, acquired(t, realLock(t, recipe, other, lock, nil)))
			empty(t, other, lock)
			if err := s.Close(within(t)); err != nil { // all goroutines have ended
				t.Error(err)
			}
			if w.Dials() != dials {
				t.Errorf("dialed %d times after the session's end", w.Dials()-dials)
			}
			mu.Lock()
			defer mu.Unlock()
			for i, state := range states { // it may have reconnected in between
				want := []zksession.State{zksession.Connected, zksession.Disconnected}[i%2]
				if i == len(states)-1 {
					want = zksession.Expired
				}
				if state != want {
					t.Errorf("states %v", states)
				}
			}
		})
	}
}

// The session expires for lack of contact, and the holder learns of that when it can reach a server again.
func TestSessionExpiresWhileCutOff(t *testing.T) {
	skipUnderRace(t)
	lock, w := lockPath(t), wire.New()
	states := make(chan zksession.StateChange, 10)
	s := connected(
		t,
		SessionConfig{
			Config: zksession.Config{
				Dial:    w.Dial,
				Timeout: 400 * time.Millisecond,
				OnState: func(c zksession.StateChange) { states <- c },
			},
			HoldsEnd: WhenTold,
		},
	)
	other := connected(t, SessionConfig{})
	if c := <-states; c.State != zksession.Connected || c.Session != s.ID() || c.Server == "" ||
		c.Negotiated != s.Timeout() ||
		c.Negotiated < 400*time.Millisecond {
		t.Errorf("%+v", c)
	}
	h := acquired(t, realLock(t, "mutex", s, lock, nil))
	w.Refuse(true)
	w.Cut(wire.OpMulti, 1)
	_ = s.zk.Sync(within(t), "/")
	if c := <-states; c.State != zksession.Disconnected ||
		!errors.Is(c.Err, wire.ErrCut) && !errors.Is(c.Err, net.ErrClosed) {
		t.Errorf("%+v", c)
	}
	// Another client gets the lock although the first one still believes that it holds it.
	h2 := acquired(t, realLock(t, "mutex", other, lock, nil))
	if err := h.Context().Err(); err != nil {
		t.Errorf("the cut-off holder heard that its hold is lost: %v", err)
	}
	if h2.Token() <= h.Token() {
		t.Errorf("token %d after %d", h2.Token(), h.Token())
	}
	// The first client cannot release either, and says so.
	w.Refuse(false)
	if cause := causeOf(t, h); !errors.Is(cause, zksession.ErrSessionExpired) {
		t.Errorf("cause: %v", cause)
	}
	if c := <-states; c.State != zksession.Expired || !errors.Is(c.Err, zksession.ErrSessionExpired) {
		t.Errorf("%+v", c)
	}
	released(t, h2)
	empty(t, other, lock)
}

// cutOff breaks a session's connection and returns once the client knows. No server answers the client until
// w.Refuse(false) is called.
func cutOff(t *testing.T, s *Session, w *wire.Wire, states <-chan zksession.StateChange) {
	t.Helper()
	w.Refuse(true)
	w.Cut(wire.OpMulti, 1)
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	go func() { _ = s.zk.Sync(ctx, "/") }()
	for c := range states {
		if c.State == zksession.Disconnected {
			return
		}
	}
}

// While the client is disconnected, a release is unconfirmed. The janitor carries it out after the reconnect.
func TestReleaseWhileDisconnected(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	for _, recipe := range recipeNames {
		t.Run(recipe, func(t *testing.T) {
			t.Parallel()
			lock, w := lockPath(t), wire.New()
			states := make(chan zksession.StateChange, 10)
			s, other := connected(
				t,
				SessionConfig{Config: zksession.Config{Dial: w.Dial, OnState: func(c zksession.StateChange) { states <- c }}},
			), connected(
				t,
				SessionConfig{},
			)
			l := realLock(t, recipe, s, lock, nil)
			h := acquired(t, l)
			cutOff(t, s, w, states)
			ctx, cancel := context.WithCancel(within(t))
			cancel()
			if err := h.Release(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrLockLost) {
				t.Errorf("release: %v", err)
			}
			if cause := context.Cause(h.Context()); cause != ErrReleased {
				t.Errorf("cause: %v", cause)
			}
			if _, err := l.Acquire(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("acquire: %v", err)
			}
			w.Refuse(false)
			empty(t, other, lock)
			released(t, acquired(t, l)) // the same session goes on
		})
	}
}

// The first server that the client asks never answers, and the context ends.
func TestConnectGivesUp(t *testing.T) {
	all := servers(t)
	w := wire.New()
	w.Mute(all[0])
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if s, err := Connect(ctx, SessionConfig{Config: zksession.Config{Servers: all[:1], Dial: w.Dial}}); !errors.Is(
		err,
		context.DeadlineExceeded,
	) {
		t.Errorf("%v, %v", s, err)
	}
	w = wire.New()
	w.Refuse(true)
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if s, err := Connect(ctx, SessionConfig{Config: zksession.Config{Servers: all, Dial: w.Dial}}); !errors.Is(
		err,
		context.DeadlineExceeded,
	) {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := Connect(t.Context(), SessionConfig{}); err == nil {
		t.Error("connected to nothing")
	}
}

func TestServersInOrder(t *testing.T) {
	all := servers(t)
	for range all {
		state := make(chan zksession.StateChange, 2)
		connected(
			t,
			SessionConfig{Config: zksession.Config{Servers: all, OnState: func(c zksession.StateChange) { state <- c }}},
		)
		if c := <-state; c.Server != all[0] {
			t.Errorf("connected to %s, want %s", c.Server, all[0])
		}
		all = rotated(all)
	}
}

// An OnState function that blocks delays Close, and nothing else.
func TestOnStateMayBlock(t *testing.T) {
	block := make(chan struct{})
	s := connected(t, SessionConfig{Config: zksession.Config{OnState: func(zksession.StateChange) { <-block }}})
	defer close(block)
	lock := lockPath(t)
	released(t, acquired(t, realLock(t, "mutex", s, lock, nil)))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
}

func TestCloseWhileDisconnected(t *testing.T) {
	skipUnderRace(t)
	w := wire.New()
	states := make(chan zksession.StateChange, 10)
	s, err := Connect(
		within(t),
		SessionConfig{
			Config: zksession.Config{
				Servers: servers(t),
				Timeout: 4 * time.Second,
				Dial:    w.Dial,
				OnState: func(c zksession.StateChange) { states <- c },
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	w.Refuse(true)
	w.Cut(wire.OpMulti, 1)
	syncing := make(chan error, 1)
	go func() { syncing <- s.zk.Sync(within(t), "/") }()
	for c := range states {
		if c.State == zksession.Disconnected {
			break
		}
	}
	if err := s.Close(within(t)); !errors.Is(err, zksession.ErrConnectionLoss) {
		t.Errorf("close: %v", err)
	}
	<-syncing
	if c := <-states; c.State != zksession.Closed {
		t.Errorf("%+v", c)
	}
	if err := s.Close(within(t)); err != nil {
		t.Errorf("close again: %v", err)
	}
}
