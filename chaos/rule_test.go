package chaos

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// ruled returns a host whose agent has these rules in force.
func ruled(t *testing.T, name, address string, rules ...agent.InForce) *ensembles.Host {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(agent.Status{Network: rules}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	c := agent.NewClient(name, strings.TrimPrefix(s.URL, "http://"), "")
	t.Cleanup(c.Close)
	return &ensembles.Host{Name: name, Address: netip.MustParseAddr(address), Agent: c}
}

// A link may be disturbed by rules of other faults that are about it, but not by other rules at its ends.
func TestOnlyRulesAboutALinkExcuse(t *testing.T) {
	const a, b, elsewhere = "10.0.0.1", "10.0.0.2", "10.0.0.3"
	about := func(id, peer string, d agent.Direction) []agent.InForce {
		return []agent.InForce{{ID: id, Peers: []netip.Addr{netip.MustParseAddr(peer)}, Direction: d}}
	}
	tcp := func(r []agent.InForce) []agent.InForce { r[0].Connections = true; return r }
	for name, c := range map[string]struct {
		from, to               []agent.InForce
		connections, datagrams bool
	}{
		"none":                     {},
		"another link's":           {about("f2", elsewhere, agent.Both), about("f3", elsewhere, agent.Both), false, false},
		"its own":                  {about("f1", b, agent.Both), about("f1", a, agent.Both), false, false},
		"at one end":               {about("f2", b, agent.Both), nil, true, true},
		"at the other end":         {nil, about("f2", a, agent.Both), true, true},
		"outgoing packets only":    {about("f2", b, agent.Out), nil, true, true},
		"incoming packets only":    {nil, about("f2", a, agent.In), true, true},
		"the other direction only": {about("f2", b, agent.In), nil, true, false},
		"the other direction only, at its sender": {nil, about("f2", a, agent.Out), true, false},
		"connections only":                        {nil, tcp(about("f2", a, agent.Both)), true, false},
		"one of several rules": {append(about("f2", elsewhere, agent.Both),
			about("f3", b, agent.Both)...), nil, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := hostLink{from: ruled(t, "a", a, c.from...), to: ruled(t, "b", b, c.to...)}
			own := []rule{{host: l.from, id: "f1"}, {host: l.to, id: "f1"}}
			if err := excuse(t.Context(), own, l, errFake, nil); (err == nil) != c.connections ||
				err != nil && !errors.Is(err, errFake) {
				t.Errorf("connections: %v", err)
			}
			if err := excuseWay(t.Context(), own, l, errFake); (err == nil) != c.datagrams ||
				err != nil && !errors.Is(err, errFake) {
				t.Errorf("datagrams: %v", err)
			}
			least := errors.New("not even the least")
			want := errFake
			if c.connections {
				want = least
			}
			if err := excuse(t.Context(), own, l, errFake, func() error { return least }); !errors.Is(err, want) {
				t.Errorf("with the least that must hold: %v", err)
			}
		})
	}
}
