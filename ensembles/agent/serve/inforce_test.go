package serve

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// A host's status says to which peers and packets its rules and delays apply.
func TestStatusDescribesRules(t *testing.T) {
	rec, err := history.NewRecorder(t.TempDir(), "h1", history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	one, two := []netip.Addr{netip.MustParseAddr("192.0.2.1")}, []netip.Addr{netip.MustParseAddr("192.0.2.2")}
	a := &server{cfg: Config{Root: t.TempDir()}, sup: newSupervisor(t.TempDir(), rec), delays: newDelays(rec),
		firewall: newFirewall(rec)}
	a.firewall.rules = map[string]agent.Block{
		"f1": {ID: "f1", Peers: one, Direction: agent.In},
		"f4": {ID: "f4", Peers: two, Ports: []uint16{1}},
		"f2": {ID: "f2", Peers: one, Payload: true, Direction: agent.Out},
	}
	a.delays.rules = map[string]agent.Delay{"f3": {ID: "f3", Peers: two, Latency: time.Second}}
	a.stall = &stall{sup: a.sup}
	st, err := a.status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []agent.InForce{{ID: "f1", Peers: one, Direction: agent.In},
		{ID: "f2", Peers: one, Direction: agent.Out, Connections: true}, {ID: "f3", Peers: two},
		{ID: "f4", Peers: two, Connections: true}}
	if diff := cmp.Diff(want, st.Network, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"f1", "f2", "f3", "f4"}, st.Rules); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
