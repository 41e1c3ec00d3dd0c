package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Faults with triggers that strike one host wait for one another in their order, and those of other hosts do not.
func TestFaultsWithTriggersFollowOneAnother(t *testing.T) {
	pause := func(target Target, repeat int) Fault {
		return Fault{Kind: "pause", Target: target, Trigger: TriggerHold, For: Lasting(time.Second), Repeat: repeat}
	}
	p := Planned{Faults: []Fault{pause("c1", 0), pause("c2", 0), pause("c1", 2), pause("c2", 0)}}
	got := map[string]string{}
	for _, s := range p.named(&Setting{}) {
		got[s.ID] = s.After
	}
	want := map[string]string{"f1": "", "f2": "", "f3.1": "f1", "f3.2": "f3.1", "f4": "f2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after which fault each begins (-want +got):\n%s", diff)
	}
	if s := (&Setting{}); s.CheckTogether(p.Faults[0], p.Faults[2]) != nil {
		t.Error("two faults of one host that follow one another are refused")
	}
}

// Only connections that a fault may act on need relays.
func TestRelays(t *testing.T) {
	for _, c := range []struct {
		name   string
		target Target
		from   string
		want   string
	}{
		{"a client", "c1", FromServers, "c1>zk1 c1>zk2"},
		{"a client that is drawn", TargetAnyClient, FromServers, "c1>zk1 c1>zk2 c2>zk1 c2>zk2"},
		{"a server", "zk2", FromClients, "c1>zk2 c2>zk2"},
		{"a server by its role", TargetLeader, FromClients, "c1>zk1 c1>zk2 c2>zk1 c2>zk2"},
		{"servers among themselves", "zk1", FromServers, ""},
	} {
		p := Plan{Steps: []PlannedFault{{Fault: Fault{Kind: "latency", Target: c.target,
			Params: latencyParams{LinkParams: LinkParams{From: c.from}}}}, {Fault: Fault{Kind: "pause", Target: "c2"}}}}
		var got []string
		for _, client := range []string{"c1", "c2"} {
			for _, server := range []string{"zk1", "zk2"} {
				if p.Relays(client, server) {
					got = append(got, client+">"+server)
				}
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
