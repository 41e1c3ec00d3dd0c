package zktest_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// ways are the ways into a service that do not leave the process. Each returns a session with a timeout.
var ways = map[string]func(*testing.T, *zktest.Service, time.Duration) zksession.ZooKeeper{
	"calls": func(_ *testing.T, srv *zktest.Service, timeout time.Duration) zksession.ZooKeeper {
		return srv.Session(zktest.SessionConfig{Timeout: timeout})
	},
	"pipes": func(t *testing.T, srv *zktest.Service, timeout time.Duration) zksession.ZooKeeper {
		s, err := zksession.Connect(within(t), zksession.Config{Servers: srv.Addrs(), Dial: srv.Dial, Timeout: timeout})
		check(t, err)
		return s
	},
}

// inEachWay runs a test with a service and a session of each kind, in a bubble of virtual time.
func inEachWay(t *testing.T, cfg zktest.Config, timeout time.Duration,
	test func(*testing.T, *zktest.Service, zksession.ZooKeeper),
) {
	for way, open := range ways {
		t.Run(way, func(t *testing.T) {
			skipUnderRace(t)
			synctest.Test(t, func(t *testing.T) {
				srv := zktest.New(cfg)
				z := open(t, srv, timeout)
				test(t, srv, z)
				_ = z.Close(t.Context()) // it may have ended
				srv.Close()
			})
		})
	}
}

// Each outcome does to the znode, and tells the client, what it says.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		outcome zktest.Outcome
		want    error
		exists  bool
	}{
		{zktest.Answered, nil, true},
		{zktest.RequestLost, zksession.ErrConnectionLoss, false},
		{zktest.ReplyLost, zksession.ErrConnectionLoss, true},
		{zktest.ExpireBefore, zksession.ErrSessionExpired, false},
		{zktest.ExpireAfter, zksession.ErrSessionExpired, true},
	} {
		inEachWay(t, zktest.Config{}, 10*time.Second, func(t *testing.T, srv *zktest.Service, z zksession.ZooKeeper) {
			srv.Next(zktest.OpCreate, zktest.Fault{Outcome: c.outcome})
			_, err := z.Create(t.Context(), "/a", []byte("1"), zksession.Persistent)
			if errors.Is(err, zksession.ErrConnectionLoss) && errors.Is(c.want, zksession.ErrSessionExpired) {
				<-z.Done() // the client lost its connection first, and then heard why
				err = z.Err()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("outcome %d: %v, want %v", c.outcome, err, c.want)
			}
			if n, exists := srv.Node("/a"); exists != c.exists || exists && string(n.Data) != "1" {
				t.Errorf("outcome %d: the znode exists: %t, %q", c.outcome, exists, n.Data)
			}
			if z.Err() != nil {
				return
			}
			if _, err := z.Create(t.Context(), "/b", nil, zksession.Ephemeral); err != nil {
				t.Errorf("outcome %d: the next request: %v", c.outcome, err)
			}
		})
	}
}

// Delays take exactly their time by the clock. A delayed reply tells of what the service did before it.
func TestDelays(t *testing.T) {
	inEachWay(t, zktest.Config{}, time.Minute, func(t *testing.T, srv *zktest.Service, z zksession.ZooKeeper) {
		for _, f := range []zktest.Fault{{Delay: 3 * time.Second}, {ReplyDelay: 3 * time.Second}} {
			srv.Put("/a", []byte("before"))
			srv.Next(zktest.OpGetData, f)
			time.AfterFunc(time.Second, func() { srv.Put("/a", []byte("after")) })
			begun := time.Now()
			data, _, err := z.Get(t.Context(), "/a")
			want := "before"
			if f.Delay > 0 {
				want = "after"
			}
			if took := time.Since(begun); took != 3*time.Second || string(data) != want || err != nil {
				t.Errorf("%+v: %q after %v, %v", f, data, took, err)
			}
		}
		for _, op := range []zktest.Op{zktest.OpSync, zktest.OpMulti} { // the one in memory, the other on a connection
			srv.Delay(op, time.Second)
		}
		begun := time.Now()
		for range 3 {
			check(t, z.Sync(t.Context(), "/"))
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("three slow requests took %v", took)
		}
	})
}

// A session that is cut off lives for its timeout. A client that finds the service again in time keeps its session and
// hears of what it watches; one that does not hears that its session is over.
func TestCutOff(t *testing.T) {
	const timeout = 10 * time.Second
	for _, away := range []time.Duration{timeout / 2, 2 * timeout} {
		inEachWay(t, zktest.Config{}, timeout, func(t *testing.T, srv *zktest.Service, z zksession.ZooKeeper) {
			_, err := z.Create(t.Context(), "/mine", nil, zksession.Ephemeral)
			check(t, err)
			srv.Put("/watched", nil)
			events := make(chan zksession.Event, 1)
			_, _, err = z.GetW(t.Context(), "/watched", func(e zksession.Event) { events <- e })
			check(t, err)
			srv.CutOff(z.ID())
			<-z.Disconnected()
			srv.Put("/watched", []byte("changed"))
			time.Sleep(away)
			if z.Err() != nil {
				t.Errorf("the client cannot know of the end of its session: %v", z.Err())
			}
			if lives := len(srv.Ephemerals()) > 0; lives != (away < timeout) {
				t.Errorf("after %v the session's znode exists: %t", away, lives)
			}
			srv.Restore(z.ID())
			if away < timeout {
				check(t, z.Await(t.Context()))
				if e := <-events; e != zksession.Changed {
					t.Errorf("event %d", e)
				}
				return
			}
			<-z.Done()
			if e := <-events; !errors.Is(z.Err(), zksession.ErrSessionExpired) || e != zksession.Unwatched {
				t.Errorf("session %v, event %d", z.Err(), e)
			}
		})
	}
}

// A server that lags behind shows an old state, and no event, until a sync or a write through it.
func TestLag(t *testing.T) {
	for what, catchUp := range map[string]func(context.Context, *zktest.Service, zksession.ZooKeeper) error{
		"sync": func(ctx context.Context, _ *zktest.Service, z zksession.ZooKeeper) error { return z.Sync(ctx, "/") },
		"write": func(ctx context.Context, _ *zktest.Service, z zksession.ZooKeeper) error {
			_, err := z.Create(ctx, "/c", nil, zksession.Persistent)
			return err
		},
		"time": func(_ context.Context, srv *zktest.Service, _ zksession.ZooKeeper) error { srv.CatchUp(1); return nil },
	} {
		srv := zktest.New(zktest.Config{Servers: 2})
		ahead, behind := srv.Session(zktest.SessionConfig{}), srv.Session(zktest.SessionConfig{Server: 1})
		events := make(chan zksession.Event, 1)
		_, err := behind.ChildrenW(t.Context(), "/", func(e zksession.Event) { events <- e })
		check(t, err)
		srv.Lag(1)
		for _, node := range []string{"/a", "/b"} {
			_, err = ahead.Create(t.Context(), node, nil, zksession.Persistent)
			check(t, err)
		}
		if seen, err := behind.Children(t.Context(), "/"); err != nil || len(seen) != 0 || len(events) != 0 {
			t.Errorf("%s: a server that lags shows %v, %d events, %v", what, seen, len(events), err)
		}
		if seen, err := ahead.Children(t.Context(), "/"); err != nil || len(seen) != 2 {
			t.Errorf("%s: the other server shows %v, %v", what, seen, err)
		}
		check(t, catchUp(t.Context(), srv, behind))
		if e := <-events; e != zksession.Changed {
			t.Errorf("%s: event %d", what, e)
		}
		if seen, err := behind.Children(t.Context(), "/"); err != nil || len(seen) < 2 {
			t.Errorf("%s: then it shows %v, %v", what, seen, err)
		}
		check(t, ahead.Close(t.Context()))
		check(t, behind.Close(t.Context()))
	}
}

// A session whose server is stopped goes to another server, but not to one that is behind what it has seen.
func TestStop(t *testing.T) {
	srv := zktest.New(zktest.Config{Servers: 3})
	z := srv.Session(zktest.SessionConfig{})
	srv.Lag(1)
	srv.Stop(2)
	_, err := z.Create(t.Context(), "/a", nil, zksession.Ephemeral)
	check(t, err)
	srv.Stop(0)
	<-z.Disconnected()
	again := z.Reconnected()
	select {
	case <-again:
		t.Error("connected to a server that is behind")
	default:
	}
	srv.CatchUp(1)
	<-again
	if _, _, err := z.Get(t.Context(), "/a"); err != nil {
		t.Error(err)
	}
	srv.Stop()
	<-z.Disconnected()
	if _, err := srv.Dial(t.Context(), "tcp", srv.Addrs()[0]); err == nil {
		t.Error("a server that is stopped can be dialed")
	}
	srv.Resume()
	check(t, z.Await(t.Context()))
	check(t, z.Close(t.Context()))
}

// A lock on the real client, in virtual time: the hold of a client that is cut off ends when its session can have
// expired, and the client behind it is granted the lock then.
func TestLockInVirtualTime(t *testing.T) {
	skipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.New(zktest.Config{})
		defer srv.Close()
		mutex := func() (*recipes.Session, *recipes.Mutex) {
			s, err := recipes.Connect(t.Context(), recipes.SessionConfig{
				Config: zksession.Config{Servers: srv.Addrs(), Dial: srv.Dial, Timeout: time.Hour},
			})
			check(t, err)
			l, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: "/a"})
			check(t, err)
			return s, l
		}
		cut, l := mutex()
		defer cut.Close(t.Context())
		other, behind := mutex()
		defer other.Close(t.Context())
		h, err := l.Acquire(t.Context())
		check(t, err)
		srv.CutOff(cut.ID())
		begun := time.Now()
		next, err := behind.Acquire(t.Context())
		check(t, err)
		if took := time.Since(begun); took != time.Hour {
			t.Errorf("the next client is granted the lock after %v", took)
		}
		synctest.Wait() // both learn of it at the same instant
		if h.Context().Err() == nil || !errors.Is(context.Cause(h.Context()), recipes.ErrLeaseExpired) {
			t.Errorf("the client that is cut off holds the lock: %v", context.Cause(h.Context()))
		}
		check(t, next.Release(t.Context()))
	})
}

// A service refuses as a whole a transaction that it cannot carry out in full, and all else that is impossible.
func TestAdministrator(t *testing.T) {
	srv := zktest.New(zktest.Config{})
	z := srv.Session(zktest.SessionConfig{})
	_, err := srv.Transact(zktest.AdminOp{Path: "/a"}, zktest.AdminOp{Path: "/b/c"})
	if _, exists := srv.Node("/a"); !errors.Is(err, zksession.ErrNoNode) || exists {
		t.Errorf("%v, and the first znode exists: %t", err, exists)
	}
	for _, dir := range []string{"/jobs", "/jobs/a", "/unused"} {
		_, err := z.Create(t.Context(), dir, nil, zksession.Container)
		check(t, err)
	}
	srv.Put("/jobs/a/1", nil)
	srv.Remove("/jobs/a/1")
	for _, want := range []int{1, 1, 0} {
		if n := srv.ReapContainers(); n != want {
			t.Errorf("%d containers deleted, want %d", n, want)
		}
	}
	if n, _ := srv.Node("/"); !slices.Equal(n.Children, []string{"unused"}) {
		t.Errorf("left: %v", n.Children)
	}
	check(t, z.Close(t.Context()))
	if srv.Expire(z.ID()) {
		t.Error("a session that has been closed expires")
	}
	for range 2 {
		srv.Close()
	}
	if _, err := srv.Dial(t.Context(), "tcp", srv.Addrs()[0]); err == nil {
		t.Error("a service that is closed can be dialed")
	}
}

// A server answers garbage by closing the connection, and goes on serving others.
func TestGarbage(t *testing.T) {
	srv := zktest.Start(t)
	for _, garbage := range []string{"", "GET / HTTP/1.0\r\n\r\n", "\x00\x00\x00\x02ab", "\x00\x00\x00\x00"} {
		conn, err := net.Dial("tcp", srv.Addrs()[0])
		check(t, err)
		_, err = conn.Write([]byte(garbage))
		check(t, err)
		_ = conn.(*net.TCPConn).CloseWrite() // the server may have closed the connection already
		if n, _ := conn.Read(make([]byte, 1)); n != 0 {
			t.Errorf("%q is answered", garbage)
		}
		check(t, conn.Close())
	}
	s, err := zksession.Connect(within(t), zksession.Config{Servers: srv.Addrs()})
	check(t, err)
	check(t, s.Close(within(t)))
}
