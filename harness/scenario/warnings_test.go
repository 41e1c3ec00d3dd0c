package scenario_test

import (
	"strings"
	"testing"
)

// Each doubtful scenario gets exactly one warning, and the scenarios beside it that are sound get none.
func TestWarnings(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"workload: semaphore\nrecipe: curator-semaphore\nunits: 2",
			"recipe curator-semaphore takes 2 units one by one, so clients may wait for each other forever, and " +
				"without wait none gives up"},
		{"workload: semaphore\nrecipe: curator-semaphore\nunits: 2\nwait: 1s", ""},
		{"arrivals: poisson\nrate: 100..600\nlocks: 2\nhold: exponential(5ms)",
			"the rate reaches 600 per second, but 2 locks can be held only 400 times per second for exponential(5ms) " +
				"each, so the rest will be dropped"},
		{"arrivals: poisson\nrate: 100..300\nlocks: 2\nhold: exponential(5ms)", ""},
		{"workload: multi-lock\nlocks: 3\nordered: false",
			"clients that take locks in any order may deadlock, and without wait none gives up"},
		{"clients: 2\nlocks: 3\nfaults:\n- {kind: pause, target: c1, trigger: between-read-and-write, until: superseded}",
			"pause c1 between read and write until superseded: it lasts until another client happens to take the victim's " +
				"lock, one of 3"},
		{"faults:\n- {kind: partition, target: leader, from: servers, at: 1s, for: 500ms}",
			"partition leader from servers at 1s for 500ms: a leader that is cut off serves on for about 1s " +
				"(sync-limit × tick), so it may stay leader"},
		{"iterations: 100\nfaults:\n- {kind: kill, target: zk1, at: 1s, for: 1s}",
			"kill zk1 at 1s for 1s: a run that ends with its iterations may end before the fault does"},
		{"faults:\n- {kind: kill, target: zk1, at: 1s, for: 3s}\n- {kind: pause, target: zk2, at: 2s, for: 1s}",
			"pause zk2 at 2s for 1s: 2 of 3 servers are then out of action, so there is no quorum and no progress " +
				"until one is healed"},
		{"servers: 5\nfaults:\n- {kind: kill, target: zk1, at: 1s, for: 3s}\n- {kind: pause, target: zk2, at: 2s, for: 1s}",
			""},
		{"faults:\n- {kind: kill, target: zk1, at: 1s, for: 1s}\n- {kind: pause, target: zk2, at: 3s, for: 1s}", ""},
		{"faults:\n- {kind: kill, target: leader, at: 1s, for: 1s}\n- {kind: kill, target: leader, at: 4s, for: 1s}",
			""},
		{"faults:\n- {kind: partition, target: follower, from: servers, at: 1s, for: 500ms}", ""},
		{"clients: 2\nfaults:\n" +
			"- {kind: pause, target: c1, trigger: between-read-and-write, for: expiry+1s, expect: expiry}\n", ""},
	} {
		s := mustLoad(t, tt.src)
		if err := s.Validate(); err != nil {
			t.Errorf("%q: %v", tt.src, err)
		}
		if got := strings.Join(s.Warnings(), "\n"); got != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.src, got, tt.want)
		}
	}
}
