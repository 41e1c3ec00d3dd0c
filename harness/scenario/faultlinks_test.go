package scenario_test

import (
	"strings"
	"testing"

	"locklab/harness/scenario"
)

// Faults of links say which, and how.
func TestFaultsOfLinks(t *testing.T) {
	for entry, want := range map[string]string{
		"{kind: partition, target: zk2, from: leader, way: out, verdict: reject, at: 1s, for: 2s}": "partition zk2 from leader way out verdict reject at 1s for 2s",
		"{kind: partition, target: all, from: clients, at: 1s, for: 2s}":                           "partition all from clients at 1s for 2s",
		"{kind: partition, target: leader, from: servers, shape: bridge, at: 1s, for: 2s}":         "partition leader from servers shape bridge at 1s for 2s",
		"{kind: loss, target: c1, from: servers, loss: 0.3, at: 1s, for: 2s}":                      "loss c1 from servers loss 0.3 at 1s for 2s",
		"{kind: bandwidth, target: zk1, from: clients, bandwidth: 64KiB, at: 1s, for: 2s}":         "bandwidth zk1 from clients bandwidth 64KiB at 1s for 2s",
		"{kind: latency, target: c1, from: leader, latency: 1s, jitter: 200ms, at: 1s, for: 2s}":   "latency c1 from leader latency 1s jitter 200ms at 1s for 2s",
		"{kind: reset, target: c1, from: servers, at: 1s}":                                         "reset c1 from servers at 1s",
	} {
		s, err := scenario.Load("f.yaml", []byte("servers: 3\nduration: 30s\nfaults:\n- "+entry+"\n"))
		if err == nil {
			err = s.Validate()
		}
		if err != nil {
			t.Error(err)
		} else if got := s.Faults[0].String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A fault of links that there are not, or that says what it does not mean, is refused.
func TestFaultsOfNoLinks(t *testing.T) {
	for entry, want := range map[string]string{
		"{kind: partition, target: c1, from: clients, at: 1s, for: 2s}":                          "clients have no links to each other",
		"{kind: loss, target: c1, from: clients, loss: 0.1, at: 1s, for: 2s}":                    "clients have no links to each other",
		"{kind: partition, target: leader, from: leader, at: 1s, for: 2s}":                       "the leader has no link to itself",
		"{kind: partition, target: all, from: servers, at: 1s, for: 2s}":                         "all servers cannot be cut off from all servers (shape: ring, or from: clients)",
		"{kind: partition, target: all, from: servers, shape: ring, at: 1s, for: 2s}":            "in a ring of 3 servers every server has every other (servers: 5)",
		"{kind: partition, target: zk1, from: servers, shape: ring, at: 1s, for: 2s}":            "a ring is of all servers, not of zk1",
		"{kind: partition, target: c1, from: servers, shape: halves, at: 1s, for: 2s}":           "shape halves needs a server to begin with, not c1",
		"{kind: partition, target: zk1, from: clients, shape: bridge, at: 1s, for: 2s}":          "shape bridge is of the links between servers",
		"{kind: partition, target: zk1, from: servers, shape: halves, way: in, at: 1s, for: 2s}": "shape halves is of the links between servers, both ways",
		"{kind: loss, target: c1, from: servers, loss: 0.00001, at: 1s, for: 2s}":                "cannot be told from none (loss: 0.003, or more)",
		"{kind: loss, target: c1, from: servers, loss: 0.0029, at: 1s, for: 2s}":                 "cannot be told from none (loss: 0.003, or more)",
		"{kind: loss, target: c1, from: servers, loss: 2, at: 1s, for: 2s}":                      "is not a share",
		"{kind: loss, target: c1, from: servers, at: 1s, for: 2s}":                               "a loss without loss",
		"{kind: bandwidth, target: c1, from: servers, bandwidth: 1GiB, at: 1s, for: 2s}":         "cannot be told from none (bandwidth: 50MiB, or less)",
		"{kind: latency, target: c1, from: servers, latency: 1h, at: 1s, for: 2s}":               "a latency of 1h and 0s of jitter are not between 0 and 4.5s together",
		"{kind: latency, target: c1, from: servers, latency: 1s, jitter: 2s, at: 1s, for: 2s}":   "packets cannot come 2s early that are 1s late (jitter: 1s, or less)",
		"{kind: latency, target: c1, from: servers, latency: 1s, loss: 0.5, at: 1s, for: 2s}":    "loss is for losses, not for latency",
		"{kind: reset, target: c1, from: servers, at: 1s, for: 2s}":                              "for is for faults that last, and a reset is over at once",
		"{kind: partition, target: c1, from: servers, verdict: melt, at: 1s, for: 2s}":           "unknown value \"melt\"",
	} {
		err := whyRefused("servers: 3\nduration: 30s\nfaults:\n- " + entry + "\n")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%s:\ngot  %v\nwant %s", entry, err, want)
		}
	}
	one := "servers: 1\nduration: 30s\nfaults:\n- {kind: loss, target: zk1, from: servers, loss: 0.1, at: 1s, for: 2s}\n"
	if err := whyRefused(one); err == nil || !strings.Contains(err.Error(), "no other servers") {
		t.Error(err)
	}
}

// whyRefused is why a file is, if it is.
func whyRefused(file string) error {
	s, err := scenario.Load("f.yaml", []byte(file))
	if err == nil {
		err = s.Validate()
	}
	return err
}
