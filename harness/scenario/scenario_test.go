package scenario_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"locklab/harness/scenario"
	"locklab/workloads"
)

// mustLoad loads a scenario that gives these keys.
func mustLoad(t *testing.T, src string) *scenario.Scenario {
	t.Helper()
	if src == "" {
		src = "{}"
	}
	s, err := scenario.Load("dir/some-run.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNoKeysAreDefaults(t *testing.T) {
	for _, src := range []string{"{}", "# nothing\n{}\n", "---\n{}", "%YAML 1.2\n---\n{}"} {
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
		"workload: semaphore\nrecipe: curator-semaphore\nunits: 2":                                                            "recipe curator-semaphore takes 2 units one by one, so clients may wait for each other's for ever, and without wait nobody gives up",
		"workload: semaphore\nrecipe: curator-semaphore\nunits: 2\nwait: 1s":                                                  "",
		"arrivals: poisson\nrate: 100..600\nlocks: 2\nhold: exponential(5ms)":                                                 "rate of 600 a second is more than 2 locks can be held, 400 times for exponential(5ms) each: the rest will be dropped",
		"arrivals: poisson\nrate: 100..300\nlocks: 2\nhold: exponential(5ms)":                                                 "",
		"workload: multi-lock\nlocks: 3\nordered: false":                                                                      "clients that take locks in any order may deadlock, and without wait nobody gives up",
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

// What is written of the load in a file is what comes of it.
func TestLoad(t *testing.T) {
	const ms = time.Millisecond
	for src, want := range map[string]workloads.Distribution{
		"5ms":                   workloads.Always(5 * ms),
		"0":                     {},
		"constant(5ms)":         workloads.Always(5 * ms),
		"exponential(5ms)":      {Kind: workloads.Exponential, Centre: 5 * ms},
		"uniform(1ms..9ms)":     {Kind: workloads.UniformOf, From: ms, To: 9 * ms},
		"log-normal(5ms, 0.5)":  {Kind: workloads.LogNormal, Centre: 5 * ms, Sigma: 0.5},
		`"log-normal(5ms,0.5)"`: {Kind: workloads.LogNormal, Centre: 5 * ms, Sigma: 0.5},
	} {
		if got := mustLoad(t, "hold: "+src).Hold; got != want {
			t.Errorf("hold: %s is %+v, want %+v", src, got, want)
		}
	}
	for src, want := range map[string]workloads.Plan{
		"100":           {Rates: []float64{100}},
		"0.5":           {Rates: []float64{0.5}},
		"0..400":        {Rates: []float64{0, 400}, Ramp: true},
		"100,200, 50.5": {Rates: []float64{100, 200, 50.5}},
	} {
		if got := mustLoad(t, "rate: "+src).Rate; !got.Equal(want) {
			t.Errorf("rate: %s is %+v, want %+v", src, got, want)
		}
	}
	if got := mustLoad(t, "lock-choice: zipf(0.99)").LockChoice.Zipf; got != 0.99 {
		t.Errorf("zipf(0.99) is %v", got)
	}
}

// Each process has its share of what is in flight, and none of them nothing.
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
	distribution := func(label string) workloads.Distribution {
		a, b := max(1, span(label)), span(label) // 1: nothing is drawn that is always 0
		return rapid.SampledFrom([]workloads.Distribution{workloads.Always(a), {Kind: workloads.UniformOf, From: min(a, b), To: max(a, b)},
			{Kind: workloads.Exponential, Centre: a}, {Kind: workloads.LogNormal, Centre: a, Sigma: rapid.Float64Range(0, 5).Draw(t, "sigma")}}).Draw(t, label)
	}
	s := &scenario.Scenario{
		Name:              rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,20}|null|true|1e3|0x1f|007|no`).Draw(t, "name"),
		About:             rapid.StringMatching(`|[^\s\p{C}\p{Z}]([^\p{C}\p{Z}]| ){0,40}[^\s\p{C}\p{Z}]`).Draw(t, "about"),
		Answers:           draw("answers", "", "planner", "ci", "designer"),
		Lab:               draw("lab", "auto", "docker", "netns", "process"),
		Seed:              rapid.Uint64().Draw(t, "seed"),
		Workload:          draw("workload", "mutex", "read-write", "semaphore", "multi-lock"),
		Recipe:            draw("recipe", "mutex", "naive-mutex", "none", "curator-rw", "mutex,curator-mutex", "exec:./my-lock", `exec:/opt/lock "quoted" \ -v: #1`),
		ClientImage:       draw("client-image", "", "debian:bookworm"),
		Guard:             draw("guard", "none", "fencing", "zk-multi"),
		Clients:           count("clients"),
		ClientProcesses:   count("client-processes"),
		VictimAlone:       rapid.Bool().Draw(t, "victim-alone"),
		Locks:             count("locks"),
		Wait:              span("wait"),
		Try:               rapid.Bool().Draw(t, "try"),
		ClientsPerSession: count("clients-per-session"),
		SequenceLeft:      count("sequence-left"),
		Placement:         draw("placement", "spread", "leader", "followers"),
		Section:           draw("section", "counter", "append", "none"),
		LockChoice:        rapid.SampledFrom([]workloads.Choice{{}, {Zipf: 1.1}, {Zipf: 0.99}}).Draw(t, "lock-choice"),
		Hold:              distribution("hold"),
		Think:             distribution("think"),
		Arrivals:          draw("arrivals", "closed", "poisson", "uniform"),
		MaxInFlight:       count("max-in-flight"),
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
	// What is another workload's is not written, and has its default after that.
	d := scenario.Defaults()
	s.ReadShare, s.DowngradeShare, s.Permits, s.Units, s.LocksPerAcquire, s.Ordered = d.ReadShare, d.DowngradeShare, d.Permits, d.Units, d.LocksPerAcquire, d.Ordered
	switch s.Workload {
	case "read-write":
		if rapid.Bool().Draw(t, "bursts") {
			s.ReadBurst.Length, s.ReadBurst.Every = 1+span("burst"), 0
			s.ReadBurst.Every = s.ReadBurst.Length + time.Millisecond + span("every")
		}
		s.ReadShare, s.DowngradeShare = rapid.Float64Range(0, 1).Draw(t, "read-share"), rapid.Float64Range(0, 1).Draw(t, "downgrade-share")
	case "semaphore":
		if rapid.Bool().Draw(t, "resized") {
			s.Resize = workloads.Resize{To: 1 + rapid.IntRange(0, 9999).Draw(t, "to"), Every: time.Millisecond + span("every")}
		}
		s.Permits, s.Units = count("permits"), count("units")
	case "multi-lock":
		s.LocksPerAcquire, s.Ordered = count("locks-per-acquire"), rapid.Bool().Draw(t, "ordered")
	}
	if n := rapid.IntRange(0, 4).Draw(t, "rates"); n > 0 {
		for range n {
			s.Rate.Rates = append(s.Rate.Rates, rapid.Float64Range(0.001, 1e6).Draw(t, "rate"))
		}
		s.Rate.Ramp = n == 2 && rapid.Bool().Draw(t, "ramp")
	}
	if rapid.Bool().Draw(t, "timed") {
		s.Duration = 1 + span("duration")
	} else {
		s.Iterations = 1 + count("iterations")
	}
	s.Schedule, s.Liveness = draw("schedule", "explicit", "random", "swarm"), rapid.SampledFrom([]time.Duration{0, scenario.LivenessAuto, time.Second}).Draw(t, "liveness")
	s.FaultInterval, s.FaultLength = scenario.Defaults().FaultInterval, scenario.Defaults().FaultLength
	if s.Drawn() {
		s.FaultInterval = span("fault-interval")
		s.FaultLength = scenario.SpanRange{From: scenario.Span{Timeouts: 0.5}, To: scenario.Lasting(1 + span("fault-length"))}
		s.FaultKinds = rapid.SampledFrom([][]scenario.WeightedKind{nil, {{Kind: "pause", Weight: 1}}, {{Kind: "kill", Weight: 7}, {Kind: "partition", Weight: 1}}}).Draw(t, "fault-kinds")
	}
	for range rapid.IntRange(0, 3).Draw(t, "faults") {
		f := scenario.Fault{
			Kind:   draw("kind", "pause", "kill", "partition"),
			Target: draw("target", "c1", "c12", "zk3", "leader", "follower", "holder", "majority", "all"),
			From:   draw("from", "", "servers"),
			Expect: draw("expect", "", "expiry"),
		}
		if f.Trigger = draw("trigger", "", "between-read-and-write", "between-reads"); f.Trigger == "" {
			f.At = span("at")
			f.Every, f.Repeat = span("every"), count("repeat")
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
	for range rapid.IntRange(0, 3).Draw(t, "thresholds") {
		th := scenario.Threshold{
			Metric:   rapid.StringMatching(`[a-z][a-z0-9_]{0,9}(\.[a-z0-9_]{1,9}){0,2}`).Draw(t, "metric"),
			Op:       draw("op", "<", "<=", ">", ">=", "==", "!="),
			Duration: rapid.Bool().Draw(t, "is a duration"),
		}
		if th.Duration {
			th.Limit = float64(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "limit"))
		} else {
			th.Limit = rapid.Float64Range(1e-9, 1e15).Draw(t, "limit")
		}
		s.Thresholds = append(s.Thresholds, th)
	}
	s.Shown = rapid.MapOf(rapid.SampledFrom([]string{"overlaps", "stale_accepted", "stale_rejected", "lost_updates"}),
		rapid.Int64Range(1, 1e6)).Draw(t, "shown")
	return s
}

// Nothing that a stranger writes makes the loader panic; what it accepts, it
// writes back as a file that it accepts again.
func FuzzLoad(f *testing.F) {
	for _, tt := range slices.Concat(refusedFiles(f), refused, awkward) {
		if len(tt.src) < 5000 {
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
		_, _ = s.Warnings(), s.Explain()
		_ = s.CheckMetrics([]scenario.Metric{{Name: "acquire.p99", Duration: true}})
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
