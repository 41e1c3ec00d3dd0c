package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"locklab/chaos"
	"locklab/harness/scenario"
)

// loadWithFaults loads and validates a scenario of 3 servers and 30 s with these entries of faults.
func loadWithFaults(entries ...string) (*scenario.Scenario, error) {
	src := "servers: 3\nduration: 30s\nfaults:\n- " + strings.Join(entries, "\n- ") + "\n"
	s, err := scenario.Load("f.yaml", []byte(src))
	if err == nil {
		err = s.Validate()
	}
	return s, err
}

// A fault of links is read with the links that it is about and with what it does to them.
func TestLinkFaultsAreRead(t *testing.T) {
	for _, tt := range []struct{ fault, want string }{
		{"{kind: partition, target: zk2, from: leader, way: out, verdict: reject, at: 1s, for: 2s}",
			"partition zk2 from leader way out verdict reject at 1s for 2s"},
		{"{kind: partition, target: all, from: clients, at: 1s, for: 2s}", "partition all from clients at 1s for 2s"},
		{"{kind: partition, target: leader, from: servers, shape: bridge, at: 1s, for: 2s}",
			"partition leader from servers shape bridge at 1s for 2s"},
		{"{kind: loss, target: c1, from: servers, loss: 0.3, at: 1s, for: 2s}",
			"loss c1 from servers loss 0.3 at 1s for 2s"},
		{"{kind: bandwidth, target: zk1, from: clients, bandwidth: 64KiB, at: 1s, for: 2s}",
			"bandwidth zk1 from clients bandwidth 64KiB at 1s for 2s"},
		{"{kind: latency, target: c1, from: leader, latency: 1s, jitter: 200ms, at: 1s, for: 2s}",
			"latency c1 from leader latency 1s jitter 200ms at 1s for 2s"},
		{"{kind: reset, target: c1, from: servers, at: 1s}", "reset c1 from servers at 1s"},
	} {
		s, err := loadWithFaults(tt.fault)
		if err != nil {
			t.Error(err)
		} else if got := s.Faults[0].String(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

// A fault is refused if the links it names do not exist, or if its keys contradict each other.
func TestLinkFaultsAreRefused(t *testing.T) {
	for _, tt := range []struct{ fault, want string }{
		{"{kind: partition, target: c1, from: clients, at: 1s, for: 2s}", "clients have no links to each other"},
		{"{kind: loss, target: c1, from: clients, loss: 0.1, at: 1s, for: 2s}",
			"clients have no links to each other"},
		{"{kind: partition, target: leader, from: leader, at: 1s, for: 2s}", "the leader has no link to itself"},
		{"{kind: partition, target: all, from: servers, at: 1s, for: 2s}",
			"all servers cannot be cut off from all servers (shape: ring, or from: clients)"},
		{"{kind: partition, target: all, from: servers, shape: ring, at: 1s, for: 2s}",
			"in a ring of 3 servers every server still reaches every other (servers: 5)"},
		{"{kind: partition, target: zk1, from: servers, shape: ring, at: 1s, for: 2s}",
			"a ring takes all servers, not zk1"},
		{"{kind: partition, target: c1, from: servers, shape: halves, at: 1s, for: 2s}",
			"shape halves starts from one server, not from c1"},
		{"{kind: partition, target: zk1, from: clients, shape: bridge, at: 1s, for: 2s}",
			"shape bridge cuts links between servers"},
		{"{kind: partition, target: zk1, from: servers, shape: halves, way: in, at: 1s, for: 2s}",
			"shape halves cuts links between servers, in both directions"},
		{"{kind: loss, target: c1, from: servers, loss: 0.00001, at: 1s, for: 2s}",
			"cannot be told from none (loss: 0.003, or more)"},
		{"{kind: loss, target: c1, from: servers, loss: 0.0029, at: 1s, for: 2s}",
			"cannot be told from none (loss: 0.003, or more)"},
		{"{kind: loss, target: c1, from: servers, loss: 2, at: 1s, for: 2s}", "is not a share"},
		{"{kind: loss, target: c1, from: servers, at: 1s, for: 2s}", "a loss without loss"},
		{"{kind: bandwidth, target: c1, from: servers, bandwidth: 1GiB, at: 1s, for: 2s}",
			"cannot be told from none (bandwidth: 50MiB, or less)"},
		{"{kind: latency, target: c1, from: servers, latency: 1h, at: 1s, for: 2s}",
			"a latency of 1h and 0s of jitter are not between 0 and 4.5s together"},
		{"{kind: latency, target: c1, from: servers, latency: 1s, jitter: 2s, at: 1s, for: 2s}",
			"packets cannot come 2s early that are 1s late (jitter: 1s, or less)"},
		{"{kind: latency, target: c1, from: servers, latency: 1s, loss: 0.5, at: 1s, for: 2s}",
			"loss is for losses, not for latency"},
		{"{kind: reset, target: c1, from: servers, at: 1s, for: 2s}",
			"for is for faults that last, and a reset is over at once"},
		{"{kind: partition, target: c1, from: servers, verdict: melt, at: 1s, for: 2s}", "unknown value \"melt\""},
	} {
		_, err := loadWithFaults(tt.fault)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.fault, err, tt.want)
		}
	}
	one := "servers: 1\nduration: 30s\nfaults:\n- {kind: loss, target: zk1, from: servers, loss: 0.1, at: 1s, for: 2s}\n"
	if err := refuse(one); err == nil || !strings.Contains(err.Error(), "no other servers") {
		t.Error(err)
	}
}

// Two faults may not end or stop the same server at the same time, whichever begins first, unless they are of one kind
// that can be shared.
func TestFaultsOfOneSlotMayNotOverlap(t *testing.T) {
	kinds := map[string]string{}
	for _, k := range chaos.Kinds() {
		if k.Targets&chaos.OnServer == 0 || k.Slot == "" {
			continue
		}
		var entry strings.Builder
		entry.WriteString("kind: " + k.Name)
		if !k.Momentary {
			entry.WriteString(", for: 6s")
		}
		for _, key := range k.Required() {
			if key != "by" {
				t.Fatalf("%s needs %s", k.Name, key)
			}
			entry.WriteString(", by: 1h")
		}
		kinds[k.Name] = entry.String()
	}
	for _, name := range []string{"pause", "kill", "stop", "restart", "crash-loop", "slow-disk", "clock-step"} {
		if kinds[name] == "" {
			t.Errorf("%s does not occupy a slot of a server", name)
		}
	}
	for a, first := range kinds {
		for b, second := range kinds {
			refuseBoth := func(at, target string) error {
				return refuse(fmt.Sprintf("servers: 3\nduration: 60s\nfaults:\n"+
					"- {%s, target: zk1, at: 2s}\n- {%s, target: %s, at: %s}\n", first, second, target, at))
			}
			allowed := a == b && chaos.KindOf(a).Shared
			for _, target := range []string{"zk1", "leader", "follower", "any"} {
				err := refuseBoth("4s", target)
				if allowed != (err == nil) || err != nil && !strings.Contains(err.Error(), "overlaps with") {
					t.Errorf("%s of %s during %s of zk1: %v", b, target, a, err)
				}
			}
			if err := refuseBoth("4s", "zk2"); err != nil {
				t.Errorf("%s of zk2 during %s of zk1: %v", b, a, err)
			}
			if err := refuseBoth("40s", "zk1"); err != nil {
				t.Errorf("%s of zk1 after %s: %v", b, a, err)
			}
		}
	}
}
