package scenario_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/scenario"
	"locklab/workloads"
)

func TestNegotiated(t *testing.T) {
	for _, tt := range []struct {
		src      string
		want     time.Duration
		warnings int
	}{
		{"session-timeout: 2s", 2 * time.Second, 0},
		{"session-timeout: 100ms", 400 * time.Millisecond, 1},                   // 2 ticks of 200ms
		{"session-timeout: 10s", 4 * time.Second, 1},                            // 20 ticks
		{"session-timeout: 10s\nmax-session-timeout: 10s", 10 * time.Second, 0}, // limits can be set
		{"session-timeout: 2s\ntick: 2s", 4 * time.Second, 1},                   // ZooKeeper's own tick
		{"session-timeout: 100ms\nmin-session-timeout: 50ms", 100 * time.Millisecond, 0},
	} {
		s := mustLoad(t, tt.src)
		if got := s.Negotiated(); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.src, got, tt.want)
		}
		if w := s.Warnings(); len(w) != tt.warnings {
			t.Errorf("%q: warnings %q, want %d", tt.src, w, tt.warnings)
		}
	}
}

// Each process gets its share of the acquisitions in flight, and at least one.
func TestInFlight(t *testing.T) {
	for _, tt := range []struct {
		clients, processes, most int
		alone                    bool
		want                     []int
	}{
		{8, 2, 0, false, []int{4, 4}},
		{8, 2, 6, false, []int{3, 3}},
		{7, 3, 4, false, []int{1, 1, 2}},
		{8, 3, 3, true, []int{1, 1, 1}},
		{9, 3, 8, true, []int{1, 3, 4}},
	} {
		s := scenario.Defaults()
		s.Arrivals, s.Rate.Rates = workloads.Poisson, []float64{10}
		s.Clients, s.ClientProcesses, s.MaxInFlight, s.VictimAlone = tt.clients, tt.processes, tt.most, tt.alone
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if got := s.InFlight(); !cmp.Equal(tt.want, got) {
			t.Errorf("%d of %d clients in %d processes: %v, want %v", tt.most, tt.clients, tt.processes, got, tt.want)
		}
	}
}

func TestClientsPerProcess(t *testing.T) {
	for _, tt := range []struct {
		clients, processes int
		alone              bool
		want               []int
	}{
		{64, 2, false, []int{32, 32}},
		{7, 3, false, []int{3, 2, 2}},
		{4, 2, true, []int{1, 3}},
		{8, 3, true, []int{1, 4, 3}},
		{3, 3, true, []int{1, 1, 1}},
		{1, 1, true, []int{1}},
	} {
		s := scenario.Defaults()
		s.Clients, s.ClientProcesses, s.VictimAlone = tt.clients, tt.processes, tt.alone
		if got := s.ClientsPerProcess(); !cmp.Equal(tt.want, got) {
			t.Errorf("%d clients in %d processes, victim alone %t: %v, want %v", tt.clients, tt.processes, tt.alone,
				got, tt.want)
		}
	}
}

func TestLivenessPhase(t *testing.T) {
	const pause = "faults:\n- {kind: pause, target: c1, at: 1s, for: 1s}\n"
	for src, want := range map[string]time.Duration{
		"{}":                             0,
		pause:                            7400 * time.Millisecond, // T + 2 ticks + 5 s
		pause + "liveness: 7s":           7 * time.Second,
		pause + "liveness: 0":            0,
		"schedule: swarm":                7400 * time.Millisecond,
		"liveness: 2s":                   2 * time.Second,
		pause + "iterations: 50":         0,
		pause + "session-timeout: 10s\n": 9400 * time.Millisecond, // the servers' limit of T is 4 s

		// 7 clients at 2 locks take 4 turns, and locks are drawn, so it may take twice as long.
		pause + "clients: 7\nlocks: 2\nhold: 3s\nthink: 1s":                                 33400 * time.Millisecond,
		pause + "workload: semaphore\npermits: 3\nclients: 7\nlocks: 2\nhold: 3s\nunits: 1": 19400 * time.Millisecond,

		// A turn is bounded by 2 m.
		pause + "clients: 50\nhold: 10s": 127400 * time.Millisecond,
	} {
		if got := mustLoad(t, src).LivenessPhase(); got != want {
			t.Errorf("%q: %s, want %s", src, got, want)
		}
	}
}
