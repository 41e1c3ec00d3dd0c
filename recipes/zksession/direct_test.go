package zksession

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zkproto"
)

// entered is the body of an answer to create2.
func entered(path string, czxid, owner int64) []byte {
	b := new(zkproto.Encoder).Text(path).B
	stat := make([]byte, zkproto.StatLength)
	binary.BigEndian.PutUint64(stat, uint64(czxid))
	binary.BigEndian.PutUint64(stat[44:], uint64(owner))
	return append(b, stat...)
}

// listed is the body of an answer to a list.
func listed(names ...string) []byte {
	e := new(zkproto.Encoder).Int32(int32(len(names)))
	for _, name := range names {
		e.Text(name)
	}
	return append(e.B, make([]byte, zkproto.StatLength)...)
}

// Enter sends the create and then the list before it has any answer, and returns what both say.
func TestEnterIsOneRoundTrip(t *testing.T) {
	var ops []int32
	s := serve(t, &scripted{ahead: 2, answer: func(op int32, body []byte) (int32, []byte, bool) {
		ops = append(ops, op)
		switch op {
		case zkproto.OpCreate2:
			return 0, entered("/d/n-0000000003", 77, 7), true
		case zkproto.OpGetChildren2:
			return 0, listed("n-0000000003", "", "n-0000000001"), true
		}
		return -6, nil, true
	}})
	z := toScripted(t, s, Config{})
	e, err := z.Enter(within(t), "/d/n-", []byte("data"))
	if err != nil || e.Err != nil || e.Path != "/d/n-0000000003" || e.Stat != (Stat{Czxid: 77, Owner: 7}) ||
		!slices.Equal(e.Names, []string{"n-0000000003", "", "n-0000000001"}) {
		t.Errorf("%+v, %v", e, err)
	}
	if !slices.Equal(ops, []int32{zkproto.OpCreate2, zkproto.OpGetChildren2}) {
		t.Errorf("requests %v", ops)
	}
}

// A server without create2 is asked for a create, and the next time at once. The stat is not known then.
func TestEnterWithoutStat(t *testing.T) {
	var ops []int32
	s := serve(t, &scripted{answer: func(op int32, body []byte) (int32, []byte, bool) {
		ops = append(ops, op)
		switch op {
		case zkproto.OpCreate:
			return 0, new(zkproto.Encoder).Text("/d/n-0000000001").B, true
		case zkproto.OpGetChildren2:
			return 0, listed("n-0000000001"), true
		}
		return -6, nil, true
	}})
	z := toScripted(t, s, Config{})
	for range 2 {
		e, err := z.Enter(within(t), "/d/n-", nil)
		if err != nil || e.Err != nil || e.Path != "/d/n-0000000001" || e.Stat != (Stat{}) || len(e.Names) != 1 {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if want := []int32{zkproto.OpCreate2, zkproto.OpGetChildren2, zkproto.OpCreate, zkproto.OpGetChildren2,
		zkproto.OpCreate, zkproto.OpGetChildren2}; !slices.Equal(ops, want) {
		t.Errorf("requests %v, want %v", ops, want)
	}
}

// If the connection breaks between the two answers, the create has succeeded and there is no list. If it breaks before
// both, the outcome is not known.
func TestEnterThatIsCutShort(t *testing.T) {
	for _, broken := range []int32{zkproto.OpCreate2, zkproto.OpGetChildren2} {
		t.Run(fmt.Sprint(broken), func(t *testing.T) {
			var once sync.Once
			s := serve(t, &scripted{answer: func(op int32, body []byte) (code int32, reply []byte, ok bool) {
				ok = true
				if op == broken {
					once.Do(func() { ok = false })
				}
				if op == zkproto.OpCreate2 {
					return 0, entered("/d/n-0000000001", 5, 7), ok
				}
				return 0, listed("n-0000000001"), ok
			}})
			z := toScripted(t, s, Config{})
			e, err := z.Enter(within(t), "/d/n-", nil)
			if broken == zkproto.OpCreate2 && !errors.Is(err, ErrConnectionLoss) {
				t.Errorf("%+v, %v", e, err)
			}
			if broken == zkproto.OpGetChildren2 && (err != nil || e.Stat.Czxid != 5 || !errors.Is(e.Err, ErrConnectionLoss)) {
				t.Errorf("%+v, %v", e, err)
			}
			if names, err := z.Children(within(t), "/d"); err != nil || len(names) != 1 {
				t.Errorf("after the reconnect: %v, %v", names, err)
			}
		})
	}
}

// A refused create is an error, whatever the list says, and so is an answer that is cut off in the middle.
func TestEnterRefused(t *testing.T) {
	s := serve(t, &scripted{answer: func(op int32, body []byte) (int32, []byte, bool) {
		if op == zkproto.OpCreate2 {
			return -101, nil, true
		}
		return 0, listed("x")[:6], true
	}})
	z := toScripted(t, s, Config{})
	if _, err := z.Enter(within(t), "/d/n-", nil); !errors.Is(err, ErrNoNode) {
		t.Error(err)
	}
	if names, err := z.Children(within(t), "/d"); err == nil {
		t.Error(names)
	}
}

// An attempt to send more than fits is refused before it is sent.
func TestEnterTooLarge(t *testing.T) {
	s := serve(t, &scripted{answer: func(int32, []byte) (int32, []byte, bool) { return 0, nil, true }})
	z := toScripted(t, s, Config{})
	if _, err := z.Enter(within(t), "/d/n-", make([]byte, sendBuffer)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if _, requests := s.counts(); requests != 0 {
		t.Errorf("%d requests", requests)
	}
}

// A direct request returns when its context ends, and when the session does, although it is not answered.
func TestDirectRequestsEnd(t *testing.T) {
	asked, release := make(chan struct{}, 2), make(chan struct{})
	s := serve(t, &scripted{answer: func(int32, []byte) (int32, []byte, bool) {
		asked <- struct{}{}
		<-release
		return 0, nil, false
	}})
	z := toScripted(t, s, Config{})
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(within(t))
	go func() { <-asked; cancel() }()
	if err := z.Delete(ctx, "/n"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- z.Delete(context.Background(), "/n") }()
	underWay := func() bool {
		z.frames.mu.Lock()
		defer z.frames.mu.Unlock()
		return len(z.frames.pending) == 2
	}
	for tick := time.NewTicker(time.Millisecond); !underWay(); {
		select {
		case <-tick.C:
		case <-within(t).Done():
			t.Fatal("the second request is not under way")
		}
	}
	z.finish(ErrSessionClosed)
	if err := <-ended; !errors.Is(err, ErrSessionClosed) {
		t.Error(err)
	}
}

// Answers to direct requests do not reach go-zookeeper, which reads the rest as it was sent. The time that it waits for
// a frame begins again with each of them.
func TestDirectAnswersAreTakenOut(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	defer client.Close()
	var ops []int32
	c := newFramedConn(client, 0, 0, nil, func(a answer) { ops = append(ops, a.op) })
	c.begun, c.greeted = true, true
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 3 {
			if _, err := readFrame(server); err != nil {
				return
			}
		}
		_, _ = server.Write(replyFrame(1<<30, 4, 0, listed("a", "b")...))
		_, _ = server.Write(replyFrame(1, 5, 0, []byte("data")...))
		_, _ = server.Write(replyFrame(1<<30+1, 6, -101))
		_, _ = server.Write(replyFrame(2, 7, 0))
	}()
	list, names := lister("/d")
	gone := newDirect(zkproto.OpDelete, nil, nil)
	frames := append(requestFrame(1<<30, zkproto.OpGetChildren2, list.body...), requestFrame(1<<30+1, zkproto.OpDelete)...)
	if !c.send(frames, []sentRequest{{xid: 1 << 30, op: zkproto.OpGetChildren2, direct: list},
		{xid: 1<<30 + 1, op: zkproto.OpDelete, direct: gone}}) {
		t.Fatal("lost")
	}
	if _, err := c.Write(requestFrame(1, opGet)); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.sent(sentRequest{xid: 2, op: opGet})
	c.mu.Unlock()
	for _, want := range [][]byte{replyFrame(1, 5, 0, []byte("data")...), replyFrame(2, 7, 0)} {
		got, err := readFrame(c)
		if err != nil || !bytes.Equal(got, want[4:]) {
			t.Errorf("go-zookeeper reads %q, %v; want %q", got, err, want)
		}
	}
	if err := <-list.answer; err != nil || !slices.Equal(*names, []string{"a", "b"}) {
		t.Errorf("the list: %v, %v", *names, err)
	}
	if err := <-gone.answer; !errors.Is(err, errorOf(-101)) {
		t.Errorf("the delete: %v", err)
	}
	if want := []int32{zkproto.OpGetChildren2, opGet, zkproto.OpDelete, opGet}; !slices.Equal(ops, want) {
		t.Errorf("answers to %v, want %v", ops, want)
	}
}

// A session that comes back says what it has seen, by the answers to direct requests as well.
func TestConnectRequestSaysWhatWasSeen(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	defer client.Close()
	c := newFramedConn(client, 0, 9, nil, func(answer) {})
	connect := append(new(zkproto.Encoder).Int32(44).Int32(0).B, make([]byte, 40)...)
	go func() { _, _ = c.Write(connect) }()
	got, err := readFrame(server)
	if err != nil || binary.BigEndian.Uint64(got[4:]) != 9 || binary.BigEndian.Uint64(connect[8:]) != 0 {
		t.Errorf("sent %v, %v; the request is now %v", got, err, connect)
	}
}

// Whatever a server answers, nothing is read beyond its end.
func FuzzDecode(f *testing.F) {
	f.Add(listed("a", "bc"))
	f.Add(entered("/a", 1, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		if names, err := takeNames(b); err == nil {
			n := 0
			for _, name := range names {
				n += 4 + len(name)
			}
			if n > len(b) {
				t.Errorf("%d bytes of names in an answer of %d", n, len(b))
			}
		}
		if n, err := takeNode(b); err == nil && len(n.data)+zkproto.StatLength > len(b) {
			t.Errorf("%d bytes of data in an answer of %d", len(n.data), len(b))
		}
		if s, rest, err := takeString(b); err == nil && len(s)+len(rest)+4 > len(b) {
			t.Errorf("%d and %d bytes of an answer of %d", len(s), len(rest), len(b))
		}
	})
}

// A session may be disconnected just as a request has waited for it to be connected. The request is not sent on the
// next connection before that has had its handshake.
func TestDirectRequestsComeAfterTheHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{answer: func(op int32, body []byte) (int32, []byte, bool) { return 0, listed("n"), true }}
		held := make(chan struct{})
		var conns []net.Conn
		z, err := Connect(t.Context(), Config{
			Servers: []string{"one:1", "two:1"}, // the second is tried without a pause
			Dial: func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				conns = append(conns, client)
				go func() {
					defer server.Close()
					s.converse(server)
				}()
				if len(conns) == 1 {
					return client, nil
				}
				return &heldConn{Conn: client, held: held}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx := interrupted{within(t), sync.OnceFunc(func() {
			_ = conns[0].Close()
			synctest.Wait() // the next connection is there, and its connect request is not sent yet
			time.AfterFunc(time.Millisecond, func() { close(held) })
		})}
		if names, err := z.Children(ctx, "/d"); len(conns) != 2 || len(names) != 1 || err != nil {
			t.Errorf("%v, %v, after %d connections", names, err, len(conns))
		}
		if err := z.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// An interrupted context calls a function when somebody is about to wait for its end.
type interrupted struct {
	context.Context
	f func()
}

func (c interrupted) Done() <-chan struct{} {
	c.f()
	return c.Context.Done()
}

// A heldConn sends nothing before held is closed. Until then the first write waits, and others are refused.
type heldConn struct {
	net.Conn
	writes atomic.Int32
	held   chan struct{}
}

func (c *heldConn) Write(p []byte) (int, error) {
	if c.writes.Add(1) == 1 {
		<-c.held
	}
	if !tasks.Closed(c.held) {
		return 0, errors.New("written before the connect request")
	}
	return c.Conn.Write(p)
}
