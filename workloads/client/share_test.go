package client

import (
	"slices"
	"testing"
)

func TestClientsAreGrouped(t *testing.T) {
	cfg := valid()
	cfg.Clients, cfg.ClientsPerSession = 5, 2
	p := &process{cfg: cfg}
	var all []*client
	for i := range cfg.Clients {
		all = append(all, newClient(p, i))
	}
	for i, c := range all {
		for j, d := range all {
			if same := i/2 == j/2; (c.session == d.session) != same {
				t.Errorf("clients %d and %d share a session: %t, want %t", i, j, c.session == d.session, same)
			}
		}
	}
}

// Sessions are dealt to the servers that they are pinned to; the other servers come last.
func TestPinnedServers(t *testing.T) {
	cfg := valid()
	a, b, c := "10.0.0.1:2181", "10.0.0.2:2181", "10.0.0.3:2181"
	for pinned, want := range map[int][][]string{1: {{a, b, c}, {a, b, c}}, 2: {{a, b, c}, {b, a, c}, {a, b, c}}} {
		cfg.Pinned = pinned
		for session, order := range want {
			if got := cfg.serversFor(session); !slices.Equal(got, order) {
				t.Errorf("pinned to %d, session %d: %v, want %v", pinned, session, got, order)
			}
			for stay, want := range map[bool][]string{false: order, true: order[:1]} {
				if cfg.Stay = stay; !slices.Equal(cfg.homeOf(session), want) {
					t.Errorf("pinned to %d, session %d, stays %t: %v, want %v", pinned, session, stay, cfg.homeOf(session), want)
				}
			}
		}
	}
}
