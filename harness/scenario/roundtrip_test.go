package scenario_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/harness/settings"
	"locklab/workloads"
)

// Load reads back what Marshal writes of any scenario, valid or not.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		src := s.Marshal()
		reread, err := scenario.Load("reread.yaml", src)
		if err != nil {
			t.Fatalf("%v in\n%s", err, src)
		}
		if diff := cmp.Diff(s, reread, ignoreOrigins, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s\nin\n%s", diff, src)
		}
	})
}

// drawScenario draws a scenario that can be written to a file; it need not be valid.
func drawScenario(t *rapid.T) *scenario.Scenario {
	draw := func(label string, choices ...string) string { return rapid.SampledFrom(choices).Draw(t, label) }
	within := func(label string, lo, hi time.Duration) time.Duration {
		return time.Duration(rapid.Int64Range(int64(lo), int64(hi)).Draw(t, label))
	}
	span := func(label string) time.Duration { return within(label, 0, 10_000*time.Second) }
	count := func(label string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, label) }
	distribution := func(label string) workloads.Distribution {
		a, b := max(1, span(label)), span(label) // at least 1, because a distribution of 0 is read as none
		sigma := rapid.Float64Range(0, 5).Draw(t, "sigma")
		return rapid.SampledFrom([]workloads.Distribution{
			workloads.Always(a),
			{Kind: workloads.UniformOf, From: min(a, b), To: max(a, b)},
			{Kind: workloads.Exponential, Centre: a},
			{Kind: workloads.LogNormal, Centre: a, Sigma: sigma},
		}).Draw(t, label)
	}
	const most = 10_000
	s := &scenario.Scenario{
		Name:    rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,20}|null|true|1e3|0x1f|007|no`).Draw(t, "name"),
		About:   rapid.StringMatching(`|[^\s\p{C}\p{Z}]([^\p{C}\p{Z}]| ){0,40}[^\s\p{C}\p{Z}]`).Draw(t, "about"),
		Answers: draw("answers", "", "planner", "ci", "designer"),
		Lab:     draw("lab", ensembles.LabNames()...),
		Seed:    rapid.Uint64().Draw(t, "seed"),
		// They are not written without connect.
		MaxRate: scenario.Defaults().MaxRate, MaxLatency: scenario.Defaults().MaxLatency,
		Workload: draw("workload", "mutex", "read-write", "semaphore", "multi-lock"),
		Recipe: draw("recipe", "mutex", "naive-mutex", "none", "curator-rw", "mutex,curator-mutex", "exec:./my-lock",
			`exec:/opt/lock --as="quoted" \ -v: #1`),
		ClientImage:       draw("client-image", "", "debian:bookworm"),
		Layout:            nodes.Layout(draw("layout", "", "queue", "__lock__#", "a#,b#")),
		Guard:             draw("guard", "none", "fencing", "zk-multi"),
		Clients:           count("clients", 1, most),
		ClientsPerSession: count("clients-per-session", 0, most),
		Placement:         draw("placement", "spread", "leader", "followers", "own-follower"),
		RoundTrip: rapid.SampledFrom([]scenario.RoundTrip{{}, {Relayed: true},
			{Relayed: true, Added: 1500 * time.Microsecond}}).Draw(t, "round-trip"),
		Section:           draw("section", "counter", "append", "none"),
		ClientProcesses:   count("client-processes", 1, 64),
		VictimAlone:       rapid.Bool().Draw(t, "victim-alone"),
		Locks:             count("locks", 1, most),
		MaxInFlight:       count("max-in-flight", 0, most),
		Queue:             count("queue", 0, most),
		Warmup:            span("warmup"),
		Drain:             draw("drain", "finish", "cancel"),
		SessionTimeout:    within("session-timeout", time.Millisecond, time.Hour),
		Tick:              within("tick", 10*time.Millisecond, time.Minute),
		MinSessionTimeout: within("min", 0, time.Hour),
		MaxSessionTimeout: within("max", 0, time.Hour),
		SyncLimit:         count("sync-limit", 1, most),
		Servers:           rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "servers"),
		ZooKeeper:         draw("zookeeper", "", "default", "zookeeper:3.9,/opt/zk 3"),
		Storage:           draw("storage", "disk", "tmpfs"),
		JVM:               draw("jvm", "lab", "production"),
		Heap:              settings.Size(count("heap", 64<<10, 64<<20)) * settings.KiB,
		Observer:          rapid.Bool().Draw(t, "observer"),
		MinAcquired:       count("min-acquired", 0, 1_000_000_000),
	}
	s.Wait, s.Try = span("wait"), rapid.Bool().Draw(t, "try")
	s.LockChoice = rapid.SampledFrom([]workloads.Choice{{}, {Zipf: 1.1}, {Zipf: 0.99}}).Draw(t, "lock-choice")
	s.Hold, s.Think = distribution("hold"), distribution("think")
	s.Arrivals = draw("arrivals", "closed", "poisson", "uniform")
	// Keys of another workload are not written, so they have their defaults when the file is read.
	d := scenario.Defaults()
	s.ReadShare, s.DowngradeShare, s.Permits, s.Units = d.ReadShare, d.DowngradeShare, d.Permits, d.Units
	s.LocksAtOnce, s.Ordered = d.LocksAtOnce, d.Ordered
	switch s.Workload {
	case "mutex":
		s.Term, s.DieShare = span("term"), rapid.Float64Range(0, 1).Draw(t, "die-share")
	case "read-write":
		s.ReadShare = rapid.Float64Range(0, 1).Draw(t, "read-share")
		s.DowngradeShare = rapid.Float64Range(0, 1).Draw(t, "downgrade-share")
	case "semaphore":
		if rapid.Bool().Draw(t, "resized") {
			s.Resize = workloads.Resize{To: 1 + rapid.IntRange(0, 9999).Draw(t, "to"), Every: time.Millisecond + span("every")}
		}
		s.Permits, s.Units = count("permits", 1, most), count("units", 1, most)
	case "multi-lock":
		s.LocksAtOnce, s.Ordered = count("locks-per-acquire", 1, most), rapid.Bool().Draw(t, "ordered")
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
		s.Iterations = count("iterations", 1, 1_000_000_000)
	}
	s.Schedule = draw("schedule", "explicit", "random", "swarm")
	s.Liveness = rapid.SampledFrom([]scenario.Liveness{0, scenario.LivenessAuto, scenario.Liveness(time.Second)}).
		Draw(t, "liveness")
	s.FaultInterval, s.FaultLength = d.FaultInterval, d.FaultLength
	if s.Drawn() {
		s.FaultInterval = within("fault-interval", 10*time.Millisecond, 24*time.Hour)
		s.FaultLength = chaos.SpanRange{From: chaos.Span{Timeouts: 0.5}, To: chaos.Lasting(1 + span("fault-length"))}
		s.FaultKinds = rapid.SampledFrom([]chaos.Weights{
			nil,
			{{Kind: "pause", Weight: 1}},
			{{Kind: "kill", Weight: 7}, {Kind: "partition", Weight: 1}},
		}).Draw(t, "fault-kinds")
	}
	for range rapid.IntRange(0, 3).Draw(t, "faults") {
		f := chaos.Fault{
			Target: chaos.Target(draw("target", "c1", "c12", "zk3", "leader", "follower", "holder", "majority", "all")),
			Expect: draw("expect", "", "expiry"),
		}
		if err := f.Set("kind", draw("kind", "pause", "kill", "partition")); err != nil {
			t.Fatal(err)
		}
		if from := draw("from", "", "servers"); f.Kind == "partition" && from != "" {
			if err := f.Set("from", from); err != nil {
				t.Fatal(err)
			}
		}
		if f.Trigger = draw("trigger", "", "between-read-and-write", "between-reads"); f.Trigger == "" {
			f.At = span("at")
			f.Every, f.Repeat = span("every"), count("repeat", 0, 200)
		}
		if f.Until = draw("until", "", "superseded"); f.Until == "" {
			f.For = rapid.SampledFrom([]chaos.Span{
				{Plus: 1 + span("for")},
				{Timeouts: rapid.Float64Range(1e-6, 1000).Draw(t, "timeouts")},
				{Expiry: true, Plus: span("plus")},
			}).Draw(t, "span")
		}
		s.Faults = append(s.Faults, f)
	}
	s.Expect = rapid.MapOf(
		rapid.SampledFrom([]string{
			"service-exclusion", "belief-exclusion", "effect", "tokens", "fairness", "liveness",
		}),
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
	s.Sometimes = rapid.SliceOfNDistinct(rapid.SampledFrom(check.ConditionNames()), 0, 3, rapid.ID).Draw(t, "sometimes")
	s.Shown = rapid.MapOf(rapid.SampledFrom([]string{"overlaps", "stale_accepted", "stale_rejected", "lost_updates"}),
		rapid.Int64Range(1, 1e6)).Draw(t, "shown")
	return s
}

// No source makes the loader panic, and what it accepts is written as a file that it accepts again.
func FuzzLoad(f *testing.F) {
	for _, tt := range refusals(f) {
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
		reread, err := scenario.Load("f.yaml", s.Marshal())
		if err != nil {
			t.Fatalf("%v in\n%s", err, s.Marshal())
		}
		if diff := cmp.Diff(s, reread, ignoreOrigins, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}
