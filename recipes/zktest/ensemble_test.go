package zktest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/ensembles/labtest/suite"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
	"locklab/recipes/zktest/sim"
)

// A simulation is an ensemble with clients of a mutex, and what they did.
type simulation struct {
	*sim.World
	t *testing.T
	*zktest.Ensemble
	clients []*simulated
	grants  []string
	last    int64 // token
}

type simulated struct {
	*sim.Host
	session *recipes.Session
	ended   time.Duration // the session, as its client knows
}

// simulate runs clients on an ensemble until an instant, and then lets them end. Faults may be scheduled by begin.
func simulate(t *testing.T, seed uint64, clients int, until time.Duration, begin func(*simulation)) *simulation {
	t.Helper()
	s := &simulation{t: t}
	sim.Run(seed, func(w *sim.World) {
		s.World, s.Ensemble = w, zktest.NewEnsemble(w, zktest.EnsembleConfig{})
		for i := range clients {
			c := &simulated{Host: w.Host(fmt.Sprintf("c%d", i+1))}
			s.clients = append(s.clients, c)
			go func() {
				c.Sleep(context.Background(), time.Duration(i+1)*time.Millisecond)
				for w.Clock() < until {
					s.contend(c, until)
				}
			}()
		}
		begin(s)
		w.Until(until + time.Hour)
	})
	return s
}

// contend takes the lock again and again in one session.
func (s *simulation) contend(c *simulated, until time.Duration) {
	ctx := context.Background()
	var err error
	config := s.Config(c.Host)
	config.Timeout = 6 * time.Second
	c.session, err = recipes.Connect(ctx, recipes.SessionConfig{Config: config})
	if err != nil {
		s.t.Error(err)
		return
	}
	// Nothing waits for that: whether go-zookeeper takes no time or a second to close a session that has expired is for
	// the scheduler to decide.
	defer func() { go c.session.Close(ctx) }()
	m, err := recipes.NewMutex(recipes.MutexConfig{Session: c.session, Path: "/locks/l"})
	if err != nil {
		s.t.Error(err)
		return
	}
	for s.Clock() < until {
		hold, err := m.Acquire(ctx)
		if err != nil {
			c.ended = s.Clock()
			if !errors.Is(err, zksession.ErrSessionExpired) {
				s.t.Error(err)
			}
			return
		}
		if hold.Token() <= s.last {
			s.t.Errorf("%s got token %x after %x", c.Name, hold.Token(), s.last)
		}
		s.last = hold.Token()
		s.grants = append(s.grants, fmt.Sprintf("%s %x %s", c.Name, hold.Token(), s.Clock()))
		c.Sleep(hold.Context(), 5*time.Millisecond)
		if err := hold.Release(ctx); err != nil && !errors.Is(err, recipes.ErrLockLost) {
			s.t.Error(err)
		}
	}
}

// seeds returns how many seeds are simulated: few in each change's tests and with the race detector, many at night.
func seeds(few, many uint64) uint64 {
	if suite.All() && !testing.Short() {
		return many
	}
	return few
}

// Two executions of one seed are the same, whatever faults there are; those of another seed differ.
func TestEnsembleRepeats(t *testing.T) {
	faults := func(s *simulation) {
		for i := range 8 {
			at := time.Duration(i+1) * 3 * time.Second
			s.After(at, nil, func() {
				server := s.Servers()[s.Rand.IntN(3)]
				client := s.clients[s.Rand.IntN(len(s.clients))]
				switch i % 4 {
				case 0:
					s.Kill(server)
					s.After(2*time.Second, nil, func() { s.Start(server) })
				case 1:
					client.Pause()
					s.After(9*time.Second, nil, client.Resume)
				case 2:
					s.Reset(client.Host)
				case 3:
					s.Cut(server, s.Servers()[0])
					s.After(3*time.Second, nil, func() { s.Heal(server, s.Servers()[0]) })
				}
			})
		}
	}
	for seed := range seeds(1, 20) {
		first := simulate(t, seed, 5, 30*time.Second, faults).grants
		if again := simulate(t, seed, 5, 30*time.Second, faults).grants; !slices.Equal(first, again) {
			t.Errorf("seed %d: %d grants, and then %d others", seed, len(first), len(again))
		}
		if other := simulate(t, seed+100, 5, 30*time.Second, faults).grants; slices.Equal(first, other) {
			t.Errorf("seed %d does not matter", seed)
		}
		if len(first) < 500 {
			t.Errorf("seed %d: only %d grants", seed, len(first))
		}
	}
}

// Requests that a client's goroutines send at the same instant arrive in an order that no scheduler decides.
func TestEnsembleOrdersRequests(t *testing.T) {
	var created, want []string
	sim.Run(1, func(w *sim.World) {
		e, client := zktest.NewEnsemble(w, zktest.EnsembleConfig{}), w.Host("c1")
		go func() {
			ctx := context.Background()
			z, err := zksession.Connect(ctx, e.Config(client))
			if err != nil {
				t.Error(err)
				return
			}
			defer z.Close(ctx)
			begin := make(chan struct{})
			var senders sync.WaitGroup
			for i := range 20 {
				path := fmt.Sprintf("/%02d", i)
				want = append(want, path)
				senders.Go(func() {
					<-begin
					if _, err := z.Create(ctx, path, nil, zksession.Persistent); err != nil {
						t.Error(err)
					}
				})
			}
			close(begin)
			senders.Wait()
		}()
		w.Until(time.Minute)
		for _, x := range e.Transactions() {
			for _, change := range x.Changes {
				created = append(created, change.Path)
			}
		}
	})
	if !slices.Equal(created, want) {
		t.Errorf("the order was %v", created)
	}
}

// The servers elect another leader when they lose theirs, sessions live on, and nothing that was committed is lost.
func TestEnsembleElects(t *testing.T) {
	for seed := range seeds(3, 12) {
		var leaders []string
		s := simulate(t, seed, 3, 40*time.Second, func(s *simulation) {
			strike := []func(*sim.Host){
				s.Kill,
				(*sim.Host).Pause,
				func(h *sim.Host) {
					for _, o := range s.Servers() {
						s.Cut(h, o)
						s.Cut(o, h)
					}
				},
			}[seed%3]
			s.After(10*time.Second, nil, func() {
				leaders = append(leaders, s.Leader().Name)
				strike(s.Leader())
			})
			s.After(39*time.Second, nil, func() { leaders = append(leaders, s.Leader().Name) })
		})
		if len(leaders) != 2 || leaders[0] == leaders[1] {
			t.Errorf("seed %d: the leaders were %v", seed, leaders)
		}
		if s.Expired > 0 {
			t.Errorf("seed %d: %d sessions expired", seed, s.Expired)
		}
		epochs := map[int64]bool{}
		committed := map[string]bool{}
		last := int64(0)
		for _, x := range s.Transactions() {
			epochs[x.Zxid>>32] = true
			committed[fmt.Sprintf("%x", x.Zxid)] = true
			if x.Zxid <= last {
				t.Errorf("seed %d: transaction %x comes after %x", seed, x.Zxid, last)
			}
			last = x.Zxid
		}
		if len(epochs) < 2 {
			t.Errorf("seed %d: the epochs were %v", seed, epochs)
		}
		for _, g := range s.grants {
			if !committed[strings.Fields(g)[1]] {
				t.Errorf("seed %d: the transaction of grant %q was lost", seed, g)
			}
		}
	}
}

// A session of a paused client expires within ZooKeeper's band: 2/3 of the timeout to the timeout and 1½ ticks after
// the client fell silent.
func TestEnsembleExpires(t *testing.T) {
	const paused = 10 * time.Second
	bands := [2]time.Duration{time.Hour, 0}
	for seed := range seeds(4, 30) {
		var session int64
		s := simulate(t, seed, 2, 30*time.Second, func(s *simulation) {
			s.After(paused, nil, func() {
				session = s.clients[1].session.ID()
				s.clients[1].Pause()
			})
			s.After(25*time.Second, nil, s.clients[1].Resume)
		})
		found := false
		for _, x := range s.Transactions() {
			if x.Session == session && x.Closes {
				found = true
				after := time.UnixMilli(x.Time).Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) - paused
				bands[0], bands[1] = min(bands[0], after), max(bands[1], after)
				if after < 4*time.Second || after > 7500*time.Millisecond {
					t.Errorf("seed %d: the session expired after %s", seed, after)
				}
			}
		}
		if !found || s.Expired != 1 || s.clients[1].ended < 25*time.Second {
			t.Errorf("seed %d: %d sessions expired; the client knew at %s", seed, s.Expired, s.clients[1].ended)
		}
	}
	t.Logf("sessions expired %s to %s after their clients fell silent", bands[0], bands[1])
}

// A watch is not lost across two reconnects, although the first of them tells of the change by the answer to another
// request, and breaks before the watches are set again.
func TestWatchAcrossTwoReconnects(t *testing.T) {
	told := 0
	for seed := range uint64(20) {
		fired, ahead := false, false
		sim.Run(seed, func(w *sim.World) {
			e := zktest.NewEnsemble(w, zktest.EnsembleConfig{})
			a, b := w.Host("c1"), w.Host("c2")
			connect := func(h *sim.Host, then func(context.Context, zksession.ZooKeeper) error) {
				cfg, ctx := e.Config(h), context.Background()
				cfg.Timeout = 10 * time.Second
				z, err := zksession.Connect(ctx, cfg)
				if err == nil {
					err = then(ctx, z)
					go z.Close(ctx)
				}
				if err != nil {
					t.Errorf("seed %d: %s: %v", seed, h.Name, err)
				}
			}
			go connect(a, func(ctx context.Context, z zksession.ZooKeeper) error {
				a.Sleep(ctx, 5500*time.Millisecond-w.Clock())
				_, err := z.Create(ctx, "/a", nil, zksession.Persistent)
				return err
			})
			go connect(b, func(ctx context.Context, z zksession.ZooKeeper) error {
				b.Sleep(ctx, time.Second)
				_, err := z.ChildrenW(ctx, "/", func(zksession.Event) { fired = w.Clock() < 20*time.Second })
				for err == nil && w.Clock() < 20*time.Second {
					if _, _, err := z.Get(ctx, "/"); err == nil && !fired && w.Clock() > 6*time.Second {
						ahead = true
					}
					b.Sleep(ctx, 10*time.Millisecond)
				}
				return err
			})
			w.At(5*time.Second, nil, func() {
				for _, s := range e.Servers() {
					e.Cut(b, s)
				}
				e.ResetNext(b, 2)
				e.Reset(b)
			})
			w.At(6*time.Second, nil, func() {
				for _, s := range e.Servers() {
					e.Heal(b, s)
				}
			})
			w.Until(time.Minute)
		})
		if !fired {
			t.Errorf("seed %d: the watch is lost; another answer came first: %t", seed, ahead)
		}
		if ahead {
			told++
		}
	}
	if told == 0 {
		t.Error("in no seed did another answer come before the watches were set again")
	}
}
