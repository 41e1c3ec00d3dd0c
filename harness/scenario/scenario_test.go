package scenario_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"locklab/harness/scenario"
)

func mustLoad(t *testing.T, src string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load("dir/some-run.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEmptyFileIsDefaults(t *testing.T) {
	for _, src := range []string{"", "# nothing\n", "---\n", "{}", "%YAML 1.2\n---\n{}"} {
		s := mustLoad(t, src)
		want := scenario.Defaults()
		want.Name = "some-run"
		if diff := cmp.Diff(want, s, ignoreOrigins); diff != "" {
			t.Errorf("%q (-want +got):\n%s", src, diff)
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%q: %v", src, err)
		}
	}
}

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

func TestWarnings(t *testing.T) {
	for src, want := range map[string]string{
		"clients: 2\nlocks: 3\nfaults:\n- {kind: pause, target: c1, trigger: between-read-and-write, until: superseded}":      "pause c1 between read and write until superseded: that waits for another client to pick the victim's lock, of 3",
		"faults:\n- {kind: partition, target: leader, from: servers, at: 1s, for: 500ms}":                                     "partition leader from servers at 1s for 500ms: a leader that is cut off serves on for about 1s (sync-limit × tick), so it may stay leader",
		"iterations: 100\nfaults:\n- {kind: kill, target: zk1, at: 1s, for: 1s}":                                              "kill zk1 at 1s for 1s: a run that ends with its iterations may end before the fault does",
		"faults:\n- {kind: kill, target: zk1, at: 1s, for: 3s}\n- {kind: pause, target: zk2, at: 2s, for: 1s}":                "pause zk2 at 2s for 1s: 2 of 3 servers are then out of action, so there is no quorum and no progress until one is healed",
		"servers: 5\nfaults:\n- {kind: kill, target: zk1, at: 1s, for: 3s}\n- {kind: pause, target: zk2, at: 2s, for: 1s}":    "",
		"faults:\n- {kind: kill, target: zk1, at: 1s, for: 1s}\n- {kind: pause, target: zk2, at: 3s, for: 1s}":                "",
		"faults:\n- {kind: kill, target: leader, at: 1s, for: 1s}\n- {kind: kill, target: leader, at: 4s, for: 1s}":           "",
		"faults:\n- {kind: partition, target: follower, from: servers, at: 1s, for: 500ms}":                                   "",
		"clients: 2\nfaults:\n- {kind: pause, target: c1, trigger: between-read-and-write, for: expiry+1s, expect: expiry}\n": "",
	} {
		s := mustLoad(t, src)
		if err := s.Validate(); err != nil {
			t.Errorf("%q: %v", src, err)
		}
		var got strings.Builder
		for _, w := range s.Warnings() {
			got.WriteString(w)
		}
		if got.String() != want {
			t.Errorf("%q:\ngot  %s\nwant %s", src, got.String(), want)
		}
	}
}

func TestSpans(t *testing.T) {
	s := scenario.Defaults() // T = 2s, tick = 200ms
	for text, want := range map[string]time.Duration{
		"3s":        3 * time.Second,
		"0":         0,
		"1.5T":      3 * time.Second,
		"0.67T":     1340 * time.Millisecond,
		"expiry":    2400 * time.Millisecond,
		"expiry+1s": 3400 * time.Millisecond,
	} {
		sp, err := scenario.ParseSpan(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := s.Resolve(sp); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if again, err := scenario.ParseSpan(sp.String()); err != nil || again != sp {
			t.Errorf("%s is written as %s: %v, %v", text, sp, again, err)
		}
	}
	for _, text := range []string{"", "T", "-1T", "1e3T", "0x1T", "NaNT", "InfT", "1001T", "expiry-1s", "expiry1s",
		"expiry+-1s", "expiry+", "Expiry", "superseded", "25h", "expiry+2562047h"} {
		if sp, err := scenario.ParseSpan(text); err == nil {
			t.Errorf("%q is %v, want an error", text, sp)
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
			t.Errorf("%d clients in %d processes, victim alone %t: %v, want %v", tt.clients, tt.processes, tt.alone, got, tt.want)
		}
	}
}

func TestExpected(t *testing.T) {
	s := mustLoad(t, "expect: {effect: fail}")
	for check, want := range map[string]string{"effect": "fail", "tokens": "pass", "fairness": "pass"} {
		if got := s.Expected(check); got != want {
			t.Errorf("%s: %s, want %s", check, got, want)
		}
	}
	s.Recipe = scenario.RecipeNaiveMutex // wakes everybody: no order is promised
	if got := s.Expected(scenario.CheckFairness); got != scenario.ExpectAny {
		t.Errorf("fairness of the naive mutex: %s, want any", got)
	}
}

func TestFaultString(t *testing.T) {
	for _, tt := range []struct {
		f    scenario.Fault
		want string
	}{
		{scenario.Fault{Kind: "pause", Target: "c1", Trigger: scenario.TriggerReadWrite, Until: scenario.UntilSuperseded},
			"pause c1 between read and write until superseded"},
		{scenario.Fault{Kind: "partition", Target: "leader", From: "servers", At: 90 * time.Second, For: scenario.Span{Timeouts: 1.5}},
			"partition leader from servers at 1m30s for 1.5T"},
		{scenario.Fault{Kind: "kill", Target: "zk2", At: 2 * time.Minute, For: scenario.Lasting(3 * time.Second)},
			"kill zk2 at 2m for 3s"},
	} {
		if got := tt.f.String(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// Any scenario that can be written is read back as it was, valid or not.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		src := s.Marshal()
		again, err := scenario.Load("again.yaml", src)
		if err != nil {
			t.Fatalf("%v in\n%s", err, src)
		}
		if diff := cmp.Diff(s, again, ignoreOrigins, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s\nin\n%s", diff, src)
		}
	})
}

func drawScenario(t *rapid.T) *scenario.Scenario {
	draw := func(label string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, label) }
	span := func(label string) time.Duration { return time.Duration(rapid.Int64Range(0, 1e13).Draw(t, label)) }
	count := func(label string) int { return rapid.IntRange(0, 1e6).Draw(t, label) }
	s := &scenario.Scenario{
		Name:              rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,20}|null|true|1e3|0x1f|007|no`).Draw(t, "name"),
		About:             rapid.StringMatching(`|[^\s\p{C}\p{Z}]([^\p{C}\p{Z}]| ){0,40}[^\s\p{C}\p{Z}]`).Draw(t, "about"),
		Lab:               draw("lab", "auto", "docker", "netns", "process"),
		Seed:              rapid.Uint64().Draw(t, "seed"),
		Recipe:            draw("recipe", "mutex", "naive-mutex", "none", "curator-rw", "exec:./my-lock", `exec:/opt/lock "quoted" \ -v: #1`),
		ClientImage:       draw("client-image", "", "debian:bookworm"),
		Guard:             draw("guard", "none", "fencing"),
		Clients:           count("clients"),
		ClientProcesses:   count("client-processes"),
		VictimAlone:       rapid.Bool().Draw(t, "victim-alone"),
		Locks:             count("locks"),
		Hold:              span("hold"),
		Think:             span("think"),
		Warmup:            span("warmup"),
		Drain:             draw("drain", "finish", "cancel"),
		SessionTimeout:    span("session-timeout"),
		Tick:              span("tick"),
		MinSessionTimeout: span("min"),
		MaxSessionTimeout: span("max"),
		InitLimit:         count("init-limit"),
		SyncLimit:         count("sync-limit"),
		Servers:           rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "servers"),
		Storage:           draw("storage", "disk", "tmpfs"),
		Heap:              scenario.Size(count("heap")) * scenario.KiB,
		Observer:          rapid.Bool().Draw(t, "observer"),
		MinAcquired:       count("min-acquired"),
	}
	if rapid.Bool().Draw(t, "timed") {
		s.Duration = 1 + span("duration")
	} else {
		s.Iterations = 1 + count("iterations")
	}
	for range rapid.IntRange(0, 3).Draw(t, "faults") {
		f := scenario.Fault{
			Kind:   draw("kind", "pause", "kill", "partition"),
			Target: draw("target", "c1", "c12", "zk3", "leader", "follower"),
			From:   draw("from", "", "servers"),
			Expect: draw("expect", "", "expiry"),
		}
		if f.Trigger = draw("trigger", "", "between-read-and-write"); f.Trigger == "" {
			f.At = span("at")
		}
		if f.Until = draw("until", "", "superseded"); f.Until == "" {
			f.For = rapid.SampledFrom([]scenario.Span{
				{Plus: 1 + span("for")},
				{Timeouts: rapid.Float64Range(1e-6, 1000).Draw(t, "timeouts")},
				{Expiry: true, Plus: span("plus")},
			}).Draw(t, "span")
		}
		s.Faults = append(s.Faults, f)
	}
	s.Expect = rapid.MapOf(rapid.SampledFrom([]string{"service-exclusion", "belief-exclusion", "effect", "tokens", "fairness", "liveness"}),
		rapid.SampledFrom([]string{"pass", "fail", "any"})).Draw(t, "expect")
	s.Shown = rapid.MapOf(rapid.SampledFrom([]string{"overlaps", "stale_accepted", "stale_rejected", "lost_updates"}),
		rapid.Int64Range(1, 1e6)).Draw(t, "shown")
	return s
}

// Nothing that a stranger writes makes the loader panic; what it accepts, it
// writes back as a file that it accepts again.
func FuzzLoad(f *testing.F) {
	for _, tt := range refused {
		if len(tt.src) < 1000 {
			f.Add([]byte(tt.src))
		}
	}
	all, err := scenario.Builtins(builtins)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range all {
		src, _ := scenario.BuiltinSource(builtins, s.Name)
		f.Add(src)
		f.Add(s.Marshal())
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		s, err := scenario.Load("f.yaml", src)
		if err != nil {
			return
		}
		_ = s.Warnings()
		if s.Validate() != nil {
			return
		}
		again, err := scenario.Load("f.yaml", s.Marshal())
		if err != nil {
			t.Fatalf("%v in\n%s", err, s.Marshal())
		}
		if diff := cmp.Diff(s, again, ignoreOrigins, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
