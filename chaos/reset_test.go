package chaos

import (
	"net/netip"
	"slices"
	"testing"

	"locklab/ensembles"
)

// The links that lost connections follow from the connections that the agent ended.
func TestBrokenLinks(t *testing.T) {
	host := func(name, address string) *ensembles.Host {
		return &ensembles.Host{Name: name, Address: netip.MustParseAddr(address)}
	}
	r := reset{ends{
		host:  host("zk1", "10.0.0.10"),
		peers: []*ensembles.Host{host("c1", "10.0.0.13"), host("c2", "10.0.0.1"), host("c3", "10.0.0.15")},
	}}
	for _, c := range []struct {
		open, want []string
	}{
		{nil, nil},
		{[]string{"10.0.0.10:2181 10.0.0.13:4000"}, []string{"c1"}},
		{[]string{"10.0.0.10:2181 10.0.0.13:4000", "10.0.0.10:2181 10.0.0.13:4001",
			"10.0.0.10:2181 10.0.0.15:4001"}, []string{"c1", "c3"}},
		{[]string{"[::ffff:10.0.0.10]:2181 [::ffff:10.0.0.1]:4000"}, []string{"c2"}},
	} {
		var got []string
		for _, l := range r.broken(c.open) {
			got = append(got, l.to.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.open, got, c.want)
		}
	}
}
