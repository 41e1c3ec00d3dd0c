package zksession

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/labtest/suite"
	"locklab/recipes/internal/wire"
)

// The first requests and replies that do not fit into the first buffers arrive whole, in both directions, on a
// connection that has carried nothing large before.
func TestLargeOnFreshConnection(t *testing.T) {
	node := freshPath()
	big := bytes.Repeat([]byte("x"), 20*firstBuffer)
	t.Run("create", func(t *testing.T) {
		s := connected(t, Config{})
		var wg sync.WaitGroup
		for i := range 8 { // at the same time: no request may be sent before the buffer is large enough
			wg.Go(func() {
				if _, err := s.Create(within(t), fmt.Sprintf("%s-%d", node, i), big, Ephemeral); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, _, err := connected(t, Config{}).Get(within(t), node+"-0")
		if err != nil || !bytes.Equal(got, big) {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(big))
		}
	})
	t.Run("transaction", func(t *testing.T) {
		s := connected(t, Config{})
		create := Op{Kind: OpCreate, Path: node + "-multi", Data: big, Mode: Ephemeral}
		if _, err := s.Multi(within(t), create); err != nil {
			t.Error(err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		s := connected(t, Config{})
		_, err := s.Create(within(t), node+strings.Repeat("y", sendBuffer), nil, Ephemeral)
		if !errors.Is(err, zk.ErrShortBuffer) {
			t.Errorf("a request beyond the largest buffer: %v, want %v", err, zk.ErrShortBuffer)
		}
	})
}

// Queued requests of a killed session are executed in no other session.
func TestNothingRunsUnderASuccessor(t *testing.T) {
	skipUnderRace(t)
	node, w := freshPath(), wire.New()
	s, ctx := connected(t, Config{Dial: w.Dial}), within(t)
	killed(t, w.Kill)
	c := s.(*connection)
	for i := range 40 { // these bypass the gate, as a request does that was queued before the gate closed
		go func() { _, _ = c.conn.Create(fmt.Sprintf("%s-%d", node, i), nil, 0, nil) }()
	}
	select {
	case <-s.Done():
	case <-ctx.Done():
		t.Fatalf("the session did not end: connection %v, session %x", c.conn.State(), c.conn.SessionID())
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if n := c.conn.SessionID(); n != 0 {
		t.Errorf("go-zookeeper has session %x", n)
	}
	if _, err := s.Create(ctx, node, nil, Persistent); !errors.Is(err, ErrSessionExpired) {
		t.Error(err)
	}
}

// A plain client has one session after another. It reports each, and ends each session's context with the cause of
// its end.
func TestPlainHasASuccessor(t *testing.T) {
	skipUnderRace(t)
	errLost := errors.New("lost")
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprint("keep=", keep), func(t *testing.T) {
			w := wire.New()
			states := make(chan StateChange, 10)
			cfg := config(t, Config{Dial: w.Dial, OnState: func(c StateChange) { states <- c }})
			p, err := ConnectPlain(within(t), PlainConfig{Config: cfg, KeepRequests: keep,
				Lost: func(err error) error { return fmt.Errorf("%w: %w", errLost, err) }})
			if err != nil {
				t.Fatal(err)
			}
			closeAfter(t, p.Close)
			first, err := p.Session(within(t))
			if err != nil || first != p.Last() || first.ID != p.Conn.SessionID() || first.Err() != nil {
				t.Fatalf("%+v, %v", first, err)
			}
			killed(t, w.Kill)
			<-first.Life.Done()
			cause := context.Cause(first.Life)
			if !errors.Is(cause, errLost) || !errors.Is(cause, ErrSessionExpired) ||
				!errors.Is(first.Err(), ErrSessionExpired) {
				t.Errorf("cause %v, err %v", cause, first.Err())
			}
			second, err := p.Session(within(t))
			if err != nil || second.ID == first.ID || second.Err() != nil || p.Err() != nil {
				t.Fatalf("%+v, %v, %v", second, err, p.Err())
			}
			if err := p.Close(within(t)); err != nil {
				t.Error(err)
			}
			if cause := context.Cause(second.Life); !errors.Is(cause, errLost) || !errors.Is(cause, ErrSessionClosed) {
				t.Errorf("cause: %v", cause)
			}
			if _, err := p.Session(within(t)); !errors.Is(err, ErrSessionClosed) || !errors.Is(p.Err(), ErrSessionClosed) {
				t.Errorf("after close: %v, %v", err, p.Err())
			}
			close(states) // Close has waited for the goroutine that reports
			var got []State
			for c := range states {
				if c.Negotiated != 4*time.Second || c.Session != first.ID && c.Session != second.ID {
					t.Errorf("%+v", c)
				}
				got = append(got, c.State)
			}
			if d := cmp.Diff([]State{Connected, Disconnected, Expired, Connected, Closed}, got); d != "" {
				t.Errorf("states (-want +got):\n%s", d)
			}
		})
	}
}

// When a client has tried all servers in vain, its waiting requests fail, unless they are to be kept.
func TestPlainKeepsRequests(t *testing.T) {
	skipUnderRace(t)
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprint("keep=", keep), func(t *testing.T) {
			w := wire.New()
			p, err := ConnectPlain(within(t), PlainConfig{Config: config(t, Config{Dial: w.Dial}), KeepRequests: keep})
			if err != nil {
				t.Fatal(err)
			}
			closeAfter(t, p.Close)
			w.Refuse(true)
			w.Cut(wire.OpSync, 1)
			_, _ = p.Conn.Sync("/") // breaks the connection
			answer := make(chan error, 1)
			go func() { _, err := p.Conn.Sync("/"); answer <- err }()
			if keep {
				select {
				case err := <-answer:
					t.Errorf("a request that was to be kept: %v", err)
				case <-time.After(time.Second):
				}
				w.Refuse(false)
				if err := <-answer; err != nil {
					t.Errorf("a request that was kept: %v", err)
				}
				return
			}
			if err := <-answer; !errors.Is(err, zk.ErrNoServer) {
				t.Errorf("a request that waited: %v", err)
			}
			w.Refuse(false)
			if _, err := p.Session(within(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Enter tells the stat of the znode that it has made, on the leader and on followers, while many sessions create and
// delete, and its list contains the znode. LOCKLAB_TEST_ALL=1 makes a hundred thousand znodes instead of three
// thousand.
func TestEnterTellsTheStat(t *testing.T) {
	total := 3_000
	if suite.All() {
		total = 100_000
	}
	dir, servers := freshPath(), ensemble.Servers(t)
	if _, err := connected(t, Config{}).Create(within(t), dir, nil, Persistent); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context()) // as long as it takes
	const each = 8
	var wg sync.WaitGroup
	for i := range each * len(servers) {
		at := i % len(servers)
		s, err := Connect(within(t), Config{Servers: servers[at : at+1], Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		closeAfter(t, s.Close)
		wg.Go(func() {
			for range total / (each * len(servers)) {
				e, err := s.Enter(ctx, dir+"/n-", nil)
				if err != nil || e.Err != nil {
					t.Error(err, e.Err)
					return
				}
				_, stat, err := s.Get(ctx, e.Path)
				if err != nil || e.Stat != stat || stat.Owner != s.ID() || stat.Czxid == 0 {
					t.Errorf("%s: the create says %+v, a read %+v, %v", e.Path, e.Stat, stat, err)
				}
				if !slices.Contains(e.Names, path.Base(e.Path)) {
					t.Errorf("%s is not in the list that was asked for after its create", e.Path)
				}
				if err := s.Delete(ctx, e.Path); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A read that this package decodes tells what one tells that go-zookeeper decodes.
func TestDirectReadsSayTheSame(t *testing.T) {
	s, dir := connected(t, Config{}), freshPath()
	for _, node := range []string{dir, dir + "/a", dir + "/b"} {
		if _, err := s.Create(within(t), node, []byte("data of "+node), Persistent); err != nil {
			t.Fatal(err)
		}
	}
	data, stat, err := s.Get(within(t), dir)
	if err != nil {
		t.Fatal(err)
	}
	theirs, want, err := s.GetW(within(t), dir, func(Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != string(theirs) || stat != want || stat.Children != 2 {
		t.Errorf("%q with %+v, want %q with %+v", data, stat, theirs, want)
	}
}
