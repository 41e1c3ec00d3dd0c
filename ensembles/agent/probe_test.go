package agent

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestProbeTellsReachedRefusedAndSilent(t *testing.T) {
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
	// A probe without time would prove that nothing can be reached.
	if got, err := h.Probe(t.Context(), 0, address(l)); err == nil {
		t.Errorf("a probe without a timeout was made: %q", got)
	}
}

// A rule that would match the control connection is refused before it is applied.
func TestTheControlConnectionCannotBeBlocked(t *testing.T) {
	h := start(t, long)
	own := netip.MustParseAddr("127.0.0.1")
	_, err := h.Block(t.Context(), Block{ID: "f1", Peers: []netip.Addr{netip.MustParseAddr("192.0.2.1"), own}})
	if err == nil || !strings.Contains(err.Error(), "control connection") {
		t.Errorf("block of the control connection: %v", err)
	}
	for name, b := range map[string]Block{"no id": {Peers: []netip.Addr{own}}, "no peers": {ID: "f1"}} {
		if _, err := h.Block(t.Context(), b); err == nil {
			t.Errorf("block with %s was applied", name)
		}
	}
	if st := h.status(); len(st.Rules) != 0 {
		t.Errorf("rules: %v", st.Rules)
	}
}

func TestOnlyKnownWordsReachTheServer(t *testing.T) {
	h := start(t, long)
	for _, word := range []string{"kill", "crst", "srst", "stmk", "RUOK", "ruok\nkill", "..", "x"} {
		if answer, err := h.Ask(t.Context(), word); err == nil || answer != "" {
			t.Errorf("%q was passed on: %q", word, answer)
		}
	}
	if code, body := h.request("GET", "/zookeeper/stmk", "Bearer s3cret", ""); code != http.StatusBadGateway || !strings.Contains(body, "unknown command") {
		t.Errorf("stmk: %d %s", code, body)
	}
}
