package scenario_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"locklab/harness/scenario"
)

// lines renders a plan, a fault a line.
func lines(p scenario.Plan) []string {
	var all []string
	for _, s := range p.Steps {
		all = append(all, s.ID+" "+s.Fault.String())
	}
	return all
}

func TestPlanOfExplicitFaults(t *testing.T) {
	s := mustLoad(t, `duration: 20s
faults:
- {kind: kill, target: leader, at: 9s, for: 1s}
- {kind: pause, target: any-client, at: 1s, for: 1.5T, every: 5s, repeat: 2}
- {kind: partition, target: zk1, from: servers, at: 2s, for: 500ms, every: 6s}
- {kind: pause, target: holder, trigger: before-write, for: 1s}
`)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	// The last one that leaves 2 s for recovery begins at 14 s.
	want := []string{"f4 pause holder before write for 1s", "f2.1 pause any-client at 1s for 1.5T", "f3.1 partition zk1 from servers at 2s for 500ms",
		"f2.2 pause any-client at 6s for 1.5T", "f3.2 partition zk1 from servers at 8s for 500ms", "f1 kill leader at 9s for 1s", "f3.3 partition zk1 from servers at 14s for 500ms"}
	if diff := cmp.Diff(want, lines(s.Plan(nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func drawn(t testing.TB, seed uint64, more string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load("drawn.yaml", []byte("schedule: random\nduration: 60s\nclient-processes: 3\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	s.Seed = seed
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// One seed has one plan, and others have others.
func TestPlanIsOfItsSeed(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(20) {
		a, b := drawn(t, seed+1, "").Plan(nil), drawn(t, seed+1, "").Plan(nil)
		if diff := cmp.Diff(a, b); diff != "" {
			t.Fatalf("seed %d draws two plans:\n%s", seed, diff)
		}
		seen[strings.Join(lines(a), "\n")] = true
	}
	if len(seen) != 20 {
		t.Errorf("20 seeds have %d plans", len(seen))
	}
}

// Whatever is drawn could have been written: it keeps to the scenario's limits, leaves time
// for recovery and composes.
func TestDrawnFaultsCouldHaveBeenWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawn(t, rapid.Uint64Min(1).Draw(rt, "seed"), "")
		s.Schedule = rapid.SampledFrom([]string{"random", "swarm"}).Draw(rt, "schedule")
		s.FaultInterval = time.Duration(rapid.IntRange(500, 20_000).Draw(rt, "interval")) * time.Millisecond
		p := s.Plan(nil)
		if len(p.Steps) == 0 {
			rt.Fatal("nothing is drawn")
		}
		c := s.Clone()
		c.Schedule = scenario.ScheduleExplicit
		for i, step := range p.Steps {
			if !step.Drawn || step.Fault.For.IsZero() != step.Fault.Momentary() {
				rt.Errorf("%+v", step)
			}
			if !slices.ContainsFunc(p.Kinds, func(k scenario.WeightedKind) bool { return k.Kind == step.Fault.Kind }) {
				rt.Errorf("%s is of no kind of %v", step.Fault, p.Kinds)
			}
			if i > 0 && step.Fault.At < p.Steps[i-1].Fault.At {
				rt.Errorf("%s is out of order", step.Fault)
			}
			c.Faults = append(c.Faults, step.Fault)
		}
		if err := c.Validate(); err != nil {
			rt.Error(err)
		}
	})
}

// A swarm leaves out kinds in some runs, and differs in its rate.
func TestSwarmsDiffer(t *testing.T) {
	kinds, rates := map[string]bool{}, map[time.Duration]bool{}
	for seed := range uint64(50) {
		s := drawn(t, seed+1, "")
		s.Schedule = scenario.ScheduleSwarm
		p := s.Plan(nil)
		var names []string
		for _, k := range p.Kinds {
			names = append(names, k.Kind)
		}
		kinds[strings.Join(names, ",")], rates[p.Interval] = true, true
		if p.Interval < s.FaultInterval/2 || p.Interval > 2*s.FaultInterval {
			t.Errorf("interval %s", p.Interval)
		}
	}
	if len(kinds) < 5 || len(rates) < 40 {
		t.Errorf("%d sets of kinds, %d rates", len(kinds), len(rates))
	}
	all := slices.DeleteFunc(scenario.FaultKinds(), func(k scenario.FaultKind) bool { return k.NotDrawn })
	if p := drawn(t, 1, "").Plan(nil); len(p.Kinds) != len(all) || p.Interval != 4*time.Second {
		t.Errorf("random leaves something out: %+v", p.Kinds)
	}
}

// Weights and the mean interval come out as asked.
func TestWeightsAndRateOfDraws(t *testing.T) {
	n, of := 0, map[string]int{}
	var busy time.Duration
	for seed := range uint64(100) {
		s := drawn(t, seed+1, "fault-kinds: pause:3,kill\nfault-length: 100ms\n")
		busy += s.Duration - s.Recovery()
		for _, step := range s.Plan(nil).Steps {
			n++
			of[step.Fault.Kind]++
		}
	}
	// 1,450 in all are expected, with a deviation of 38; those that do not fit are few.
	if want := int(busy / (4 * time.Second)); n < want*9/10 || n > want*11/10 {
		t.Errorf("%d faults drawn, want about %d", n, want)
	}
	if share := float64(of["pause"]) / float64(n); share < 0.7 || share > 0.8 || of["pause"]+of["kill"] != n {
		t.Errorf("drawn %v, want 3 pauses for a kill", of)
	}
}

func TestNothingIsDrawnThatCannotBeDone(t *testing.T) {
	lacking := map[string]string{scenario.CapabilityNetem: "not here"}
	for _, k := range scenario.FaultKinds() {
		if k.Capability != "" {
			lacking[k.Capability] = "not here"
		}
	}
	for seed := range uint64(20) {
		sc := scenario.Defaults()
		for _, step := range drawn(t, seed+1, "").Plan(lacking).Steps {
			sc.Faults = append(sc.Faults, step.Fault)
		}
		if needs := sc.Needs(); len(sc.Faults) == 0 || len(needs) > 0 {
			t.Fatalf("%d faults drawn that need %v", len(sc.Faults), needs)
		}
	}
}

func TestLivenessPhase(t *testing.T) {
	const pause = "faults:\n- {kind: pause, target: c1, at: 1s, for: 1s}\n"
	const held = "faults:\n- {kind: pause, target: c1, at: 1s, for: 1s}\n"
	for src, want := range map[string]time.Duration{
		"{}":                             0,
		pause:                            7400 * time.Millisecond, // T and 2 ticks, and 5 s
		pause + "liveness: 7s":           7 * time.Second,
		pause + "liveness: 0":            0,
		"schedule: swarm":                7400 * time.Millisecond,
		"liveness: 2s":                   2 * time.Second,
		pause + "iterations: 50":         0,
		pause + "session-timeout: 10s\n": 9400 * time.Millisecond, // 4 s are the servers' limit
		// 7 clients at 2 locks are 4 turns, which may take twice as long.
		held + "clients: 7\nlocks: 2\nhold: 3s\nthink: 1s":                                 33400 * time.Millisecond,
		held + "workload: semaphore\npermits: 3\nclients: 7\nlocks: 2\nhold: 3s\nunits: 1": 19400 * time.Millisecond,
		held + "clients: 50\nhold: 10s":                                                    127400 * time.Millisecond, // and no longer
	} {
		if got := mustLoad(t, src).LivenessPhase(); got != want {
			t.Errorf("%q: %s, want %s", src, got, want)
		}
	}
}

func ExampleScenario_Plan() {
	s, _ := scenario.Load("example.yaml", []byte("duration: 30s\nfaults:\n- {kind: kill, target: leader, at: 2s, for: 1s, every: 10s}\n"))
	for _, step := range s.Plan(nil).Steps {
		fmt.Println(step.ID, step.Fault)
	}
	// Output:
	// f1.1 kill leader at 2s for 1s
	// f1.2 kill leader at 12s for 1s
	// f1.3 kill leader at 22s for 1s
}
