package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/ensembles/agent"
)

// Two peers on the loopback interface. The host is 127.0.0.1.
var (
	host1 = netip.MustParseAddr("127.0.0.1")
	peer2 = netip.MustParseAddr("127.0.0.2")
	peer3 = netip.MustParseAddr("127.0.0.3")
)

// echo listens at an address and sends back what it reads.
func echo(t *testing.T, a netip.Addr) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", netip.AddrPortFrom(a, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); io.Copy(c, c) }()
		}
	}()
	return netip.MustParseAddrPort(l.Addr().String())
}

// dial connects from one address to another and describes the outcome.
func dial(t *testing.T, from netip.Addr, to netip.AddrPort) string {
	t.Helper()
	d := net.Dialer{Timeout: 300 * time.Millisecond, LocalAddr: &net.TCPAddr{IP: from.AsSlice()}}
	c, err := d.DialContext(t.Context(), "tcp4", to.String())
	switch {
	case err == nil:
		c.Close()
		return "reached"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case strings.Contains(err.Error(), "timeout"):
		return "silent"
	}
	return err.Error()
}

// passed sends datagrams and counts those that arrive.
func passed(t *testing.T, from, to netip.Addr, n, size int, every time.Duration) agent.Heard {
	t.Helper()
	listen := func(a netip.Addr) *datagrams {
		d, err := listenDatagrams(t.Context(), netip.AddrPortFrom(a, 0).String(), newRecorder(t).Clock())
		if err != nil {
			t.Fatal(err)
		}
		go d.serve()
		t.Cleanup(func() { d.conn.Close() })
		return d
	}
	sender, receiver := listen(from), listen(to)
	id := receiver.expect().ID
	at := receiver.conn.LocalAddr().(*net.UDPAddr).AddrPort()
	all := agent.Datagrams{ID: id, To: at, Count: n, Size: size, Every: every}
	if _, err := sender.send(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	// Loopback delivers in the order of sending. All have arrived at the latest when a later datagram arrives, to
	// which no rule applies.
	bystander := netip.MustParseAddr("127.0.0.9")
	later := listen(bystander)
	h := agent.Heard{Count: -1}
	for {
		mark := later.expect().ID
		to := later.conn.LocalAddr().(*net.UDPAddr).AddrPort()
		if _, err := later.send(t.Context(), agent.Datagrams{ID: mark, To: to, Count: 1}); err != nil {
			t.Fatal(err)
		}
		for marked := (agent.Heard{}); marked.Count == 0; {
			var err error
			if marked, err = later.result(mark); err != nil {
				t.Fatal(err)
			}
		}
		now, err := receiver.result(id)
		if err != nil {
			t.Fatal(err)
		}
		if now == h {
			return h
		}
		h = now
	}
}

func TestRules(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	f := newFirewall(newRecorder(t))
	must := func(b agent.Block) {
		t.Helper()
		if _, err := f.block(b); err != nil {
			t.Fatal(err)
		}
	}
	clear := func(id string) {
		t.Helper()
		if _, err := f.clear(id); err != nil {
			t.Fatal(err)
		}
	}
	at1, at2, at3 := echo(t, host1), echo(t, peer2), echo(t, peer3)
	// ways describes what gets through: TCP from the host and to it, and datagrams each way.
	ways := func(peer netip.Addr, at netip.AddrPort) string {
		return fmt.Sprintf("%s %s %d %d", dial(t, host1, at), dial(t, peer, at1),
			passed(t, host1, peer, 3, 0, 0).Count, passed(t, peer, host1, 3, 0, 0).Count)
	}
	const free = "reached reached 3 3"
	for _, c := range []struct {
		name string
		b    agent.Block
		want string
	}{
		{"drop", agent.Block{}, "silent silent 0 0"},
		{"drop incoming", agent.Block{Direction: agent.In}, "silent silent 3 0"},
		{"drop outgoing", agent.Block{Direction: agent.Out}, "silent silent 0 3"},
		{"reject", agent.Block{Verdict: agent.Reject}, "refused refused 0 0"},
		{"reject outgoing", agent.Block{Verdict: agent.Reject, Direction: agent.Out}, "refused silent 0 3"},
		// The peer's SYN is answered by a reset. What the host sends arrives, but the answer does not.
		{"reject incoming", agent.Block{Verdict: agent.Reject, Direction: agent.In}, "silent refused 3 0"},
		{"drop a port", agent.Block{Ports: []uint16{at1.Port()}}, "reached silent 3 3"},
		{"drop another port", agent.Block{Ports: []uint16{1, 2}}, free},
		{"lose all", agent.Block{Loss: 100}, "silent silent 0 0"},
		{"payload", agent.Block{Payload: true}, free},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.b
			b.ID, b.Peers = "f1", []netip.Addr{peer2, peer2}
			must(b)
			if got := ways(peer2, at2); got != c.want {
				t.Errorf("%s: %s, want %s", b, got, c.want)
			}
			if got := ways(peer3, at3); got != free {
				t.Errorf("%s: another peer: %s", b, got)
			}
			clear("f1")
			if got := ways(peer2, at2); got != free {
				t.Errorf("after %s: %s", b, got)
			}
		})
	}
	t.Run("together", func(t *testing.T) {
		must(agent.Block{ID: "in", Peers: []netip.Addr{peer2}, Direction: agent.In})
		must(agent.Block{ID: "out", Peers: []netip.Addr{peer2, peer3}, Direction: agent.Out})
		if got := ways(peer2, at2) + ", " + ways(peer3, at3); got != "silent silent 0 0, silent silent 0 3" {
			t.Error(got)
		}
		clear("in")
		if got := ways(peer2, at2) + ", " + ways(peer3, at3); got != "silent silent 0 3, silent silent 0 3" {
			t.Error(got)
		}
		must(agent.Block{ID: "out", Peers: []netip.Addr{peer3}, Direction: agent.Out}) // replaces
		if got := ways(peer2, at2) + ", " + ways(peer3, at3); got != free+", silent silent 0 3" {
			t.Error(got)
		}
		clear("")
		if got := ways(peer3, at3); got != free || len(idsOf(f.inForce())) > 0 {
			t.Error(got, idsOf(f.inForce()))
		}
	})
	t.Run("loss", func(t *testing.T) {
		const n, loss = 3000, 30
		must(agent.Block{ID: "f1", Peers: []netip.Addr{peer2}, Loss: loss, Direction: agent.Out})
		defer clear("f1")
		got, want := passed(t, host1, peer2, n, 0, 100*time.Microsecond).Count, n*(1-loss/100.)
		// Five standard deviations of a binomial distribution are exceeded once in two million runs.
		if slack := 5 * math.Sqrt(n*loss/100.*(1-loss/100.)); math.Abs(float64(got)-want) > slack {
			t.Errorf("%d of %d arrived, want %.0f ± %.0f", got, n, want, slack)
		}
		if got := passed(t, peer2, host1, 100, 0, 0).Count; got != 100 {
			t.Errorf("%d of 100 arrived the other way", got)
		}
	})
	t.Run("bandwidth", func(t *testing.T) {
		b := agent.Block{ID: "f1", Peers: []netip.Addr{peer2}, Bandwidth: 100_000}
		must(b)
		defer clear("f1")
		const size, header = 1000, 28
		h := passed(t, host1, peer2, 400, size, 2*time.Millisecond) // half a megabyte per second for 0.8 s
		got := float64(h.Count * (size + header))
		want := float64(b.Bandwidth) * (1 + float64(h.Last-h.First)/1e9) // the burst is one second's worth
		t.Logf("%d arrived in %v", h.Count, time.Duration(h.Last-h.First))
		if got > want+size+header || got < 0.8*want {
			t.Errorf("%.0f bytes arrived, want %.0f", got, want)
		}
		if h := passed(t, host1, peer3, 100, size, 500*time.Microsecond); h.Count != 100 {
			t.Errorf("%d of 100 arrived at another peer", h.Count)
		}
	})
	t.Run("mute", func(t *testing.T) {
		c, err := net.Dial("tcp4", at1.String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		must(agent.Block{ID: "f1", Peers: []netip.Addr{peer2}, Direction: agent.Out, Ports: []uint16{at1.Port()},
			Payload: true})
		says := func(from netip.Addr) string {
			d := net.Dialer{Timeout: 300 * time.Millisecond, LocalAddr: &net.TCPAddr{IP: from.AsSlice()}}
			c, err := d.DialContext(t.Context(), "tcp4", at1.String())
			if err != nil {
				return err.Error()
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(300 * time.Millisecond))
			fmt.Fprint(c, "x")
			b := make([]byte, 1)
			if _, err := io.ReadFull(c, b); err != nil {
				return "connected, no answer"
			}
			return string(b)
		}
		if got := says(peer2) + ", " + says(peer3); got != "connected, no answer, x" {
			t.Error(got)
		}
		clear("f1")
		if got := says(peer2); got != "x" {
			t.Error(got)
		}
	})
	t.Run("bad rules", func(t *testing.T) {
		for name, b := range map[string]agent.Block{
			"loss": {Loss: 101}, "negative loss": {Loss: -1}, "not a number": {Loss: math.NaN()}, "direction": {Direction: "up"},
			"verdict": {Verdict: "melt"},
			"IPv6":    {Peers: []netip.Addr{netip.MustParseAddr("::1")}}, "bandwidth": {Bandwidth: 1 << 60},
		} {
			b.ID = "f1"
			if b.Peers == nil {
				b.Peers = []netip.Addr{peer2}
			}
			if _, err := f.block(b); err == nil {
				t.Errorf("%s: %s was applied", name, b)
			}
		}
	})
}

func TestReset(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	rec := newRecorder(t)
	open := func(to netip.AddrPort) net.Conn {
		c, err := net.Dial("tcp4", to.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	at3 := echo(t, peer3)
	l, err := net.Listen("tcp4", peer2.String()+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c2, c3 := open(netip.MustParseAddrPort(l.Addr().String())), open(at3)
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	before, err := established(rec, []netip.Addr{peer2})
	if err != nil || len(before.Open) != 1 {
		t.Fatalf("%v, %v", before, err)
	}
	done, err := reset(rec, []netip.Addr{peer2})
	if err != nil || len(done.Open) != 1 || done.Open[0] != before.Open[0] || done.At == 0 {
		t.Errorf("%v, %v", done, err)
	}
	for name, c := range map[string]net.Conn{"near": c2, "far": far} {
		c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.ECONNABORTED) {
			t.Errorf("the %s end: %v", name, err)
		}
	}
	fmt.Fprint(c3, "x")
	if _, err := c3.Read(make([]byte, 1)); err != nil {
		t.Errorf("another peer's connection: %v", err)
	}
	if after, err := established(rec, []netip.Addr{peer2}); err != nil || len(after.Open) != 0 {
		t.Errorf("%v, %v", after, err)
	}
}

// An operation that this kernel does not support fails with an error that names the same capability as the capability
// report.
func TestCapabilities(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	caps, err := (&server{}).capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(caps)
	d := newDelays(newRecorder(t))
	_, err = d.delay(agent.Delay{ID: "f1", Peers: []netip.Addr{peer2}, Latency: time.Second})
	if (caps[agent.CapNetem] != "") != errors.Is(err, agent.ErrUnsupported) ||
		err != nil && (!strings.Contains(err.Error(), agent.CapNetem) || len(idsOf(d.inForce())) > 0) {
		t.Errorf("netem: %q, delay without a relay: %v", caps[agent.CapNetem], err)
	}
	if links, err := qdiscs(); err != nil || strings.Contains(links, "netem") ||
		err == nil && caps[agent.CapNetem] != "" && strings.Contains(links, "htb") {
		t.Errorf("left behind: %v, %v", links, err)
	}
	f := newFirewall(newRecorder(t))
	for name, b := range map[string]agent.Block{agent.CapReject: {Verdict: agent.Reject}, agent.CapLoss: {Loss: 1},
		agent.CapLimit: {Bandwidth: 1000}, agent.CapNetAdmin: {}} {
		b.ID, b.Peers = "f1", []netip.Addr{peer2}
		if _, err := f.block(b); (caps[name] != "") != errors.Is(err, agent.ErrUnsupported) {
			t.Errorf("%s: %q, rule: %v", name, caps[name], err)
		}
	}
}

// A kernel error that means a missing feature becomes ErrUnsupported with the name of the feature.
func TestAsUnsupported(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("x: %w", syscall.ENOENT), "nftables numgen"}, {syscall.EOPNOTSUPP, "nftables numgen"},
		{syscall.EPERM, "CAP_NET_ADMIN"},
		{syscall.EINVAL, ""}, {context.Canceled, ""},
	} {
		err := asUnsupported(c.err, agent.CapLoss)
		if !errors.Is(err, c.err) || errors.Is(err, agent.ErrUnsupported) != (c.want != "") ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v became %v", c.err, err)
		}
	}
	if asUnsupported(nil, agent.CapLoss) != nil || errors.Is(asUnsupported(syscall.ENOENT), agent.ErrUnsupported) {
		t.Error("a nil error became an error")
	}
}

func idsOf(all []agent.InForce) []string {
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}
