package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"locklab/ensembles/agent"
)

// relayTo makes a relay to a server whose connections each test accepts itself.
func relayTo(t *testing.T) (*delays, *net.TCPListener, netip.AddrPort) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d := newDelays(newRecorder(t))
	t.Cleanup(func() {
		if err := d.end(); err != nil {
			t.Error(err)
		}
	})
	to := netip.MustParseAddrPort(l.Addr().String())
	r, err := d.relay(t.Context(), agent.RelayRequest{To: to, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.relay(t.Context(), agent.RelayRequest{To: to, Seed: 1}); err != nil || again != r {
		t.Errorf("a second relay to %v: %v, %v", to, again, err)
	}
	return d, l.(*net.TCPListener), r.Address
}

// through returns both ends of a connection through a relay.
func through(t *testing.T, l *net.TCPListener, at netip.AddrPort) (client, server *net.TCPConn) {
	t.Helper()
	c, err := net.Dial("tcp4", at.String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{c, s} {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(20 * time.Second))
	}
	return c.(*net.TCPConn), s
}

func TestARelayDelaysEachWay(t *testing.T) {
	d, l, at := relayTo(t)
	client, server := through(t, l, at)
	go io.Copy(server, server)
	trip := func() time.Duration {
		t.Helper()
		begun := time.Now()
		if _, err := client.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return time.Since(begun)
	}
	delay := func(id string, latency, jitter time.Duration) {
		t.Helper()
		if _, err := d.delay(agent.Delay{ID: id, Peers: []netip.Addr{host1}, Latency: latency, Jitter: jitter}); err != nil {
			t.Fatal(err)
		}
	}
	plain := trip()
	for range 9 {
		plain = min(plain, trip()) // a busy machine delays some round trips, but not all
	}
	delay("f1", 60*time.Millisecond, 0)
	one := trip()
	delay("f2", 80*time.Millisecond, 20*time.Millisecond)
	both := trip()
	if _, err := d.clear("f1"); err != nil {
		t.Fatal(err)
	}
	two := trip()
	_, err := d.delay(agent.Delay{ID: "f3", Peers: []netip.Addr{peer2}, Latency: time.Minute})
	if !errors.Is(err, agent.ErrUnsupported) && tryNetem() != nil {
		t.Errorf("a delay to a peer without a relay: %v", err)
	}
	t.Logf("no delay %v, 60 ms %v, with another of 80 ± 20 ms %v, the latter alone %v", plain, one, both, two)
	for name, c := range map[string]struct{ got, least time.Duration }{"one": {one, 120 * time.Millisecond},
		"both": {both, 240 * time.Millisecond}, "two": {two, 120 * time.Millisecond}} {
		if c.got < c.least {
			t.Errorf("%s: %v, want %v at least", name, c.got, c.least)
		}
	}
	if plain > 60*time.Millisecond {
		t.Errorf("without a delay: %v", plain)
	}
	// Data that is held back when a delay ends arrives at once.
	delay("f2", time.Minute, 0)
	var wg sync.WaitGroup
	begun := time.Now()
	wg.Go(func() { trip() })
	time.Sleep(50 * time.Millisecond)
	if _, err := d.clear("f2"); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if took := time.Since(begun); took < 50*time.Millisecond || took > 10*time.Second {
		t.Errorf("held back until the delay ended: %v", took)
	}
}

// A relay to a server far away adds its round trip, whatever delays come and go. The relay beside it, to the same
// server, does not. An agent that ends does not wait for what is held back.
func TestARelayIsFar(t *testing.T) {
	d, l, near := relayTo(t)
	to := netip.MustParseAddrPort(l.Addr().String())
	far := func(roundTrip time.Duration) netip.AddrPort {
		t.Helper()
		r, err := d.relay(t.Context(), agent.RelayRequest{To: to, RoundTrip: &roundTrip})
		if err != nil {
			t.Fatal(err)
		}
		return r.Address
	}
	const added = 60 * time.Millisecond
	at, none := far(added), far(0)
	if at == near || none == near || at == none || far(added) != at {
		t.Errorf("relays at %v, %v and %v, and then %v", near, none, at, far(added))
	}
	trip := func(at netip.AddrPort) (least time.Duration) {
		t.Helper()
		client, server := through(t, l, at)
		defer client.Close()
		go io.Copy(server, server)
		for range 5 { // a busy machine delays some round trips, but not all
			begun := time.Now()
			if _, err := client.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); least == 0 || took < least {
				least = took
			}
		}
		return least
	}
	if _, err := d.delay(agent.Delay{ID: "f1", Peers: []netip.Addr{host1}, Latency: time.Second}); err != nil {
		t.Fatal(err)
	}
	if took := trip(at); took < added || took > time.Second {
		t.Errorf("far, during a delay: %v", took)
	}
	if _, err := d.clear(""); err != nil {
		t.Fatal(err)
	}
	if took := trip(at); took < added {
		t.Errorf("far, once delays are cleared: %v", took)
	}
	if a, b := trip(near), trip(none); a > added || b > added {
		t.Errorf("near: %v and %v", a, b)
	}
	if len(d.inForce()) > 0 || d.has("") {
		t.Errorf("rules: %v", d.inForce())
	}
	if _, err := d.relay(t.Context(), agent.RelayRequest{To: to, RoundTrip: new(-time.Second)}); err == nil {
		t.Error("a round trip of less than nothing was accepted")
	}
	client, server := through(t, l, far(maxLatency))
	if _, err := client.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := d.end(); err != nil {
		t.Error(err)
	}
	if n, err := server.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes arrived minutes early", n)
	}
}

func TestARelayPassesEnds(t *testing.T) {
	_, l, at := relayTo(t)
	t.Run("half close", func(t *testing.T) {
		client, server := through(t, l, at)
		fmt.Fprint(client, "question")
		client.CloseWrite()
		if b, err := io.ReadAll(server); err != nil || string(b) != "question" {
			t.Errorf("%q, %v", b, err)
		}
		fmt.Fprint(server, "answer")
		server.Close()
		if b, err := io.ReadAll(client); err != nil || string(b) != "answer" {
			t.Errorf("%q, %v", b, err)
		}
	})
	t.Run("reset", func(t *testing.T) {
		for name, ends := range map[string]func(c, s *net.TCPConn) (*net.TCPConn, *net.TCPConn){
			"of the client's": func(c, s *net.TCPConn) (*net.TCPConn, *net.TCPConn) { return c, s },
			"of the server's": func(c, s *net.TCPConn) (*net.TCPConn, *net.TCPConn) { return s, c },
		} {
			near, far := ends(through(t, l, at))
			near.SetLinger(0)
			near.Close()
			if _, err := far.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("no server", func(t *testing.T) {
		l.Close()
		c, err := net.Dial("tcp4", at.String())
		if err == nil {
			defer c.Close()
			c.SetDeadline(time.Now().Add(20 * time.Second))
			_, err = c.Read(make([]byte, 1))
		} // otherwise the reset arrived first
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%v", err)
		}
	})
}

// A server that does not read slows its client down, because the relay holds a bounded amount of data.
func TestARelayIsBounded(t *testing.T) {
	d, l, at := relayTo(t)
	client, server := through(t, l, at)
	if _, err := d.delay(agent.Delay{ID: "f1", Peers: []netip.Addr{host1}, Latency: time.Minute}); err != nil {
		t.Fatal(err)
	}
	client.SetWriteBuffer(64 << 10)
	client.SetWriteDeadline(time.Now().Add(time.Second))
	sent := 0
	for buf := make([]byte, 64<<10); ; {
		n, err := client.Write(buf)
		sent += n
		if err != nil {
			break
		}
		if sent > 64<<20 {
			t.Fatal("the client was never blocked")
		}
	}
	t.Logf("%d bytes wait", sent)
	if _, err := d.clear("f1"); err != nil {
		t.Fatal(err)
	}
	client.CloseWrite()
	if n, err := io.Copy(io.Discard, server); err != nil || n != int64(sent) {
		t.Errorf("%d of %d bytes arrived: %v", n, sent, err)
	}
}
