package zksession

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"locklab/recipes/zkproto"
)

// idleConnection is a connection that go-zookeeper reports events to, but that never dials.
func idleConnection(onState func(StateChange)) *connection {
	c := &connection{
		up:      make(chan struct{}),
		done:    make(chan struct{}),
		gone:    make(chan struct{}),
		changes: newChanges(onState),
		down:    make(chan struct{}),
		doubt:   make(chan struct{}),
	}
	close(c.down)
	c.hosts = &hosts{servers: []string{"127.0.0.1:1"}, over: c.over}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

func session(s zk.State) zk.Event { return zk.Event{Type: zk.EventSession, State: s} }

func TestConnectionStates(t *testing.T) {
	var got []State
	c := idleConnection(func(s StateChange) { got = append(got, s.State) })
	c.grant(zkproto.Grant{Session: 7, Timeout: time.Second})
	for _, e := range []zk.Event{
		session(zk.StateConnecting), session(zk.StateDisconnected), // a handshake that failed: the client was never connected
		session(zk.StateConnecting), session(zk.StateConnected), session(zk.StateHasSession),
		{Type: zk.EventNodeDeleted, State: zk.StateExpired}, // an event of a znode
		session(zk.StateDisconnected), session(zk.StateDisconnected),
		session(zk.StateHasSession), session(zk.StateDisconnected),
		session(zk.StateExpired), session(zk.StateDisconnected),
		session(zk.StateHasSession), // a successor's event, which must not count
	} {
		c.event(e)
	}
	c.changes.deliver()
	if d := cmp.Diff([]State{Connected, Disconnected, Connected, Disconnected, Expired}, got); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
	if !errors.Is(c.Err(), ErrSessionExpired) || c.ID() != 7 || c.life.Err() == nil {
		t.Errorf("err %v, id %d, life %v", c.Err(), c.ID(), c.life.Err())
	}
	if _, err := c.dial("tcp", "127.0.0.1:1", time.Second); err == nil {
		t.Error("dialed after the session's end")
	}
}

func TestAwait(t *testing.T) {
	c := idleConnection(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Await(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("disconnected: %v", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- c.Await(within(t)) }()
	c.event(session(zk.StateHasSession))
	if err := <-waited; err != nil {
		t.Errorf("connected: %v", err)
	}
	c.event(session(zk.StateDisconnected))
	go func() { waited <- c.Await(within(t)) }()
	c.finish(ErrSessionExpired)
	if err := <-waited; !errors.Is(err, ErrSessionExpired) {
		t.Errorf("over: %v", err)
	}
}

func TestTranslate(t *testing.T) {
	unknown := func(code int) error { return fmt.Errorf("unknown error: %v", code) }
	c := idleConnection(nil)
	for _, x := range []struct{ in, want error }{
		{nil, nil},
		{zk.ErrNoNode, ErrNoNode},
		{zk.ErrNodeExists, ErrNodeExists},
		{zk.ErrNoAuth, ErrNoAuth},
		{unknown(-6), ErrUnimplemented},
		{zk.ErrShortBuffer, ErrTooLarge},
		{unknown(codeTooLarge), ErrTooLarge},
		{zk.ErrConnectionClosed, ErrConnectionLoss},
		{zk.ErrSessionMoved, ErrConnectionLoss},
		{zk.ErrNoServer, ErrConnectionLoss},
		{zk.ErrClosing, ErrConnectionLoss},
		{io.ErrUnexpectedEOF, ErrConnectionLoss},
		{unknown(-4), ErrConnectionLoss},
		{unknown(-7), ErrConnectionLoss},
		{unknown(-12), ErrSessionExpired},
		{zk.ErrConnectionClosed, ErrSessionExpired}, // the session is over by now
	} {
		if got := c.translate(x.in); !errors.Is(got, x.want) {
			t.Errorf("%v: got %v, want %v", x.in, got, x.want)
		}
	}
	c = idleConnection(nil)
	if got := c.translate(zk.ErrSessionExpired); !errors.Is(got, ErrSessionExpired) || c.Err() != ErrSessionExpired {
		t.Errorf("the leader says that the session has expired: %v, and the session %v", got, c.Err())
	}
	if got := c.translate(unknown(-127)); errors.Is(got, ErrConnectionLoss) || errors.Is(got, ErrSessionExpired) {
		t.Errorf("throttled: %v", got)
	}
}

// A session whose owner closes it with a context that has ended is closed at the server all the same.
func TestCloseHasAGrace(t *testing.T) {
	server := serve(t, new(scripted))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	z, err := Connect(within(t), Config{Servers: []string{server.address}})
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(ended); err != nil {
		t.Error(err)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if !server.closed {
		t.Error("the server was not told")
	}
}

// A session that is disconnected as its owner closes it is closed as soon as it is connected again.
func TestCloseAwaitsTheReconnect(t *testing.T) {
	server := serve(t, &scripted{answer: func(int32, []byte) (int32, []byte, bool) { return 0, nil, false }})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	z, err := Connect(within(t), Config{Servers: []string{server.address}})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := z.Get(within(t), "/a"); !errors.Is(err, ErrConnectionLoss) {
		t.Error(err)
	}
	if err := z.Close(ended); err != nil {
		t.Error(err)
	}
	if connects, _ := server.counts(); connects != 2 || !server.closed {
		t.Errorf("%d connections; the server was told: %t", connects, server.closed)
	}
}

// Like zk.Conn itself, a plain client takes an answer of any length, although its buffer begins small.
func TestPlainTakesLargeAnswers(t *testing.T) {
	const children = 3 * receiveBuffer / 8 // each of four bytes, after its length
	list := binary.BigEndian.AppendUint32(nil, children)
	for range children {
		list = append(binary.BigEndian.AppendUint32(list, 4), "node"...)
	}
	list = append(list, make([]byte, 68)...) // the parent's stat
	server := serve(t, &scripted{answer: func(int32, []byte) (int32, []byte, bool) { return 0, list, true }})
	p, err := ConnectPlain(within(t), PlainConfig{Config: Config{Servers: []string{server.address},
		Timeout: 20 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, p.Close)
	for range 2 {
		names, _, err := p.Conn.Children("/a")
		if err != nil || len(names) != children {
			t.Errorf("%d children of %d: %v", len(names), children, err)
		}
	}
}

// An answer that is too large is an error of its own, and neither breaks the connection nor disturbs other requests.
func TestTooLargeAnswer(t *testing.T) {
	list := make([]byte, receiveBuffer+1)
	server := serve(t, &scripted{answer: func(op int32, _ []byte) (int32, []byte, bool) {
		if op == opGet {
			return -101, nil, true
		}
		return 0, list, true
	}})
	z := toScripted(t, server, Config{})
	for range 3 {
		_, err := z.Children(within(t), "/a")
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(receiveBuffer)) {
			t.Errorf("a list beyond the limit: %v", err)
		}
		if _, err := z.ChildrenW(within(t), "/a", func(Event) { t.Error("a watch that is not set fires") }); !errors.Is(
			err, ErrTooLarge) {
			t.Errorf("a list with a watch: %v", err)
		}
		if _, _, err := z.Get(within(t), "/a"); !errors.Is(err, ErrNoNode) {
			t.Errorf("another request: %v", err)
		}
	}
	if connects, requests := server.counts(); connects != 1 || requests != 9 {
		t.Errorf("%d connections, %d requests", connects, requests)
	}
}

// A server that breaks each connection at its first request, or that says each time that the session has moved, is
// not asked without a pause, although the requests are repeated.
func TestBrokenConnectionsBackOff(t *testing.T) {
	for name, answer := range map[string]func(int32, []byte) (int32, []byte, bool){
		"broken":        func(int32, []byte) (int32, []byte, bool) { return 0, nil, false },
		"session moved": func(int32, []byte) (int32, []byte, bool) { return zkproto.CodeMoved, nil, true },
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, &scripted{answer: answer})
			z := toScripted(t, server, Config{})
			connects, requests := 0, 0
			for ctx := within(t); connects < 6; connects, requests = server.counts() {
				if _, _, err := z.Get(ctx, "/a"); !errors.Is(err, ErrConnectionLoss) {
					t.Fatal(err)
				}
			}
			if requests > 2*connects {
				t.Errorf("%d requests on %d connections", requests, connects)
			}
			z.hosts.mu.Lock()
			defer z.hosts.mu.Unlock()
			if least := backoffMin << 4; z.hosts.backoff < least {
				t.Errorf("the pause before the last connection was %s, want %s at least", z.hosts.backoff, least)
			}
		})
	}
}

// If the server refuses to set the watches again after a reconnect, the watches fire, because nothing else would tell
// what happens to their znodes.
func TestRefusedWatches(t *testing.T) {
	server := serve(t, &scripted{answer: func(op int32, _ []byte) (int32, []byte, bool) {
		switch op {
		case opGet:
			return 0, make([]byte, 4+6*8+5*4), true // no data, and a znode's stat
		case zkproto.OpSetWatches:
			return -102, nil, true
		}
		return 0, nil, false
	}})
	z := toScripted(t, server, Config{})
	events := make(chan Event, 1)
	if _, _, err := z.GetW(within(t), "/a", func(e Event) { events <- e }); err != nil {
		t.Fatal(err)
	}
	if _, err := z.Children(within(t), "/a"); !errors.Is(err, ErrConnectionLoss) {
		t.Fatal(err)
	}
	select {
	case e := <-events:
		if e != Changed || z.Err() != nil {
			t.Errorf("event %d, %v", e, z.Err())
		}
	case <-within(t).Done():
		t.Error("the watch is dead, and has not fired")
	}
}

// Connect says why it could not connect: each server's last failure.
func TestConnectSaysWhy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := l.Addr().String()
	_ = l.Close()
	silent := serve(t, &scripted{refuse: func(int) bool { return true }})
	ctx, cancel := context.WithCancelCause(within(t))
	defer cancel(nil)
	errEnough := errors.New("tried often enough")
	dialer := new(net.Dialer)
	_, err = Connect(ctx, Config{Servers: []string{refused, silent.address},
		Dial: func(dialing context.Context, network, address string) (net.Conn, error) {
			if connects, _ := silent.counts(); connects > 1 {
				cancel(errEnough)
			}
			return dialer.DialContext(dialing, network, address)
		}})
	for _, want := range []error{context.Canceled, errEnough, syscall.ECONNREFUSED, io.EOF} {
		if !errors.Is(err, want) {
			t.Errorf("%v; want %v in it", err, want)
		}
	}
	if err == nil || !strings.Contains(err.Error(), refused+": ") || !strings.Contains(err.Error(), silent.address+": ") {
		t.Errorf("the servers are not named: %v", err)
	}
}
