package run

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/chaos"
	"locklab/ensembles"
	way "locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/workloads/control"
)

// A client process connects to the servers of an ensemble elsewhere by their own addresses and TLS, unless it has to
// take a detour by the agent that speaks for the server. In a lab it connects to the servers' hosts.
func TestRoutes(t *testing.T) {
	host := func(name string, port uint16) *ensembles.Host {
		return &ensembles.Host{Name: name, Server: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 9}), port)}
	}
	zk1, zk2, c1, c2 := host("zk1", 1), host("zk2", 2), host("c1", 0), host("c2", 0)
	access := &remote.Access{Ensemble: way.Ensemble{Servers: []string{"a:2181", "b:2181"}, TLS: &way.TLS{}}}
	ensemble := &ensembles.Ensemble{Servers: []*ensembles.Host{zk1, zk2}}
	p := placement{servers: []*ensembles.Host{zk2, zk1}}
	for _, c := range []struct {
		name    string
		outside *outside
		client  *ensembles.Host
		want    []control.Server
	}{
		{"elsewhere", &outside{access: access}, c1,
			[]control.Server{{Name: "zk2", Address: "b:2181", TLS: true}, {Name: "zk1", Address: "a:2181", TLS: true}}},
		{"elsewhere, by a detour", &outside{access: access}, c2,
			[]control.Server{{Name: "zk2", Address: "b:2181", TLS: true}, {Name: "zk1", Address: "127.0.0.9:1"}}},
		{"in a lab", nil, c1,
			[]control.Server{{Name: "zk2", Address: "127.0.0.9:2"}, {Name: "zk1", Address: "127.0.0.9:1"}}},
	} {
		r := &run{stage: &Stage{outside: c.outside, ensemble: ensemble}, plan: chaos.Plan{},
			detours: map[link]detour{{c2, zk1}: byAgent}}
		got, err := r.routes(t.Context(), c.client, p)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", c.name, err, diff)
		}
		if diff := cmp.Diff(map[string][]string{"c2": {"zk1"}}, r.relayed()); diff != "" {
			t.Errorf("%s: detours (-want +got)\n%s", c.name, diff)
		}
	}
}
