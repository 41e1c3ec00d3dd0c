package serve

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/agent"
)

func TestProbeDistinguishesReachedRefusedAndSilent(t *testing.T) {
	h := start(t, long)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	address := func(l net.Listener) netip.AddrPort { return netip.MustParseAddrPort(l.Addr().String()) }
	got, err := h.Probe(t.Context(), 10*time.Second, address(l), address(closed))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] != "" || !strings.Contains(got[1], "refused") {
		t.Errorf("reached, refused: %q", got)
	}
	// A probe without a timeout would report that nothing can be reached.
	if got, err := h.Probe(t.Context(), 0, address(l)); err == nil {
		t.Errorf("a probe without a timeout was made: %q", got)
	}
}

// A fault that would affect the control connection is refused before it is injected.
func TestFaultsOnTheControlConnectionAreRefused(t *testing.T) {
	h := start(t, long)
	own := netip.MustParseAddr("127.0.0.1")
	peers := []netip.Addr{netip.MustParseAddr("192.0.2.1"), own}
	for name, err := range map[string]error{
		"block": second(h.Block(t.Context(), agent.Block{ID: "f1", Peers: peers})),
		"lose": second(h.Block(t.Context(), agent.Block{ID: "f1", Peers: peers, Loss: 1, Direction: agent.In,
			Verdict: agent.Reject, Ports: []uint16{1}})),
		"delay": second(h.Delay(t.Context(), agent.Delay{ID: "f1", Peers: peers, Latency: time.Second})),
		"reset": second(h.Reset(t.Context(), peers...)),
	} {
		if err == nil || !strings.Contains(err.Error(), "control connection") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"block without an id":    second(h.Block(t.Context(), agent.Block{Peers: peers[:1]})),
		"block without peers":    second(h.Block(t.Context(), agent.Block{ID: "f1"})),
		"delay without an id":    second(h.Delay(t.Context(), agent.Delay{Peers: peers[:1], Latency: 1})),
		"delay without a length": second(h.Delay(t.Context(), agent.Delay{ID: "f1", Peers: peers[:1]})),
		"delay with more jitter": second(h.Delay(t.Context(),
			agent.Delay{ID: "f1", Peers: peers[:1], Latency: 1, Jitter: 2})),
		"reset without peers": second(h.Reset(t.Context())),
		"relay to nowhere":    second(h.Relay(t.Context(), netip.AddrPort{}, 1)),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if st := h.status(); len(st.Rules) != 0 {
		t.Errorf("rules: %v", st.Rules)
	}
}

func second[T any](_ T, err error) error { return err }

// Datagrams are counted only by ids that were asked for.
func TestDatagramsAreCounted(t *testing.T) {
	h := start(t, long)
	self := netip.MustParseAddrPort(h.address)
	wanted, err := h.Expect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{wanted, "other", wanted} {
		if _, err := h.Send(t.Context(), agent.Datagrams{ID: id, To: self, Count: 3, Size: 100}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the datagrams", func() bool {
		got, err := h.Heard(t.Context(), wanted)
		return err == nil && got.Count == 6 && got.Last >= got.First && got.First > 0
	})
	if _, err := h.Heard(t.Context(), "other"); err == nil {
		t.Error("an id that nobody asked for was counted")
	}
	for name, d := range map[string]agent.Datagrams{"none": {ID: wanted, To: self},
		"too large": {ID: wanted, To: self, Count: 1, Size: 9000}, "no id": {To: self, Count: 1}} {
		if _, err := h.Send(t.Context(), d); err == nil {
			t.Errorf("sent: %s", name)
		}
	}
}

func TestOnlyKnownWordsReachTheServer(t *testing.T) {
	h := start(t, long)
	for _, word := range []string{"kill", "crst", "srst", "stmk", "RUOK", "ruok\nkill", "..", "x"} {
		if answer, err := h.Ask(t.Context(), word); err == nil || answer != "" {
			t.Errorf("%q was passed on: %q", word, answer)
		}
	}
	if code, body := h.request("GET", "/zookeeper/stmk", "Bearer s3cret", ""); code != http.StatusBadGateway ||
		!strings.Contains(body, "unknown command") {
		t.Errorf("stmk: %d %s", code, body)
	}
}
