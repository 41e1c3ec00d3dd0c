package scenario_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"locklab/chaos"
	"locklab/harness/scenario"
	"locklab/workloads"
)

// lines returns a line for each fault of a plan.
func lines(p chaos.Plan) []string {
	var all []string
	for _, s := range p.Steps {
		line := s.ID + " " + s.Fault.String()
		if s.After != "" {
			line += " after " + s.After
		}
		all = append(all, line)
	}
	return all
}

func TestPlanOfExplicitFaults(t *testing.T) {
	s := mustLoad(t, `duration: 20s
faults:
- {kind: kill, target: leader, at: 9s, for: 1s}
- {kind: pause, target: any-client, at: 1s, for: 1.5T, every: 5s, repeat: 2}
- {kind: partition, target: zk1, from: servers, at: 2s, for: 500ms, every: 6s}
- {kind: pause, target: holder, trigger: before-write, for: 1s, repeat: 3}
`)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	// The last partition that leaves 2 s for recovery begins at 14 s.
	want := []string{
		"f4.1 pause holder before write for 1s",
		"f4.2 pause holder before write for 1s after f4.1",
		"f4.3 pause holder before write for 1s after f4.2",
		"f2.1 pause any-client at 1s for 1.5T",
		"f3.1 partition zk1 from servers at 2s for 500ms",
		"f2.2 pause any-client at 6s for 1.5T",
		"f3.2 partition zk1 from servers at 8s for 500ms",
		"f1 kill leader at 9s for 1s",
		"f3.3 partition zk1 from servers at 14s for 500ms",
	}
	if diff := cmp.Diff(want, lines(s.Plan(nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// drawn returns a scenario whose faults are drawn from the seed, with more keys.
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

// The same seed always gives the same plan, and different seeds give different plans.
func TestPlanFollowsFromSeed(t *testing.T) {
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

// Drawn faults pass the validation of faults in a file: they keep to the scenario's limits, leave time for recovery and
// do not get in each other's way.
func TestDrawnFaultsAreValid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawn(t, rapid.Uint64Min(1).Draw(rt, "seed"), "")
		s.Schedule = rapid.SampledFrom([]string{"random", "swarm"}).Draw(rt, "schedule")
		s.FaultInterval = time.Duration(rapid.IntRange(500, 20_000).Draw(rt, "interval")) * time.Millisecond
		p := s.Plan(nil)
		if len(p.Steps) == 0 {
			rt.Fatal("no fault is drawn")
		}
		c := s.Clone()
		c.Schedule = chaos.ScheduleExplicit
		for i, step := range p.Steps {
			if !step.Drawn || step.Fault.For.IsZero() != step.Fault.Momentary() {
				rt.Errorf("%+v", step)
			}
			if !slices.ContainsFunc(p.Kinds, func(k chaos.WeightedKind) bool { return k.Kind == step.Fault.Kind }) {
				rt.Errorf("the kind of %s is not one of %v", step.Fault, p.Kinds)
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

// In each plan some fault meets a hold, if one of the kinds that it draws from can.
func TestDrawnFaultsMeetHolds(t *testing.T) {
	for seed := range uint64(300) {
		sc, err := scenario.Builtin(workloads.Builtin, "swarm")
		if err != nil {
			t.Fatal(err)
		}
		sc.Seed = seed + 1
		p := sc.Plan(nil)
		meets := slices.ContainsFunc(p.Steps, func(s chaos.PlannedFault) bool {
			return s.Fault.HitsHolder() || !s.Fault.HitsClient() && !s.Fault.Momentary()
		})
		if !meets {
			t.Errorf("seed %d, of %v: %q", sc.Seed, p.Kinds, lines(p))
		}
	}
	// A moved client has to run, so it cannot be the holder, which is struck after it has stopped itself.
	if p := drawn(t, 1, "fault-kinds: move-client\n").Plan(nil); len(p.Steps) == 0 {
		t.Error("no fault is drawn of a kind that meets no holds for certain")
	}
}

// Each swarm leaves out some kinds of faults and has a rate of its own.
func TestSwarmsDifferInKindsAndRate(t *testing.T) {
	kinds, rates := map[string]bool{}, map[time.Duration]bool{}
	for seed := range uint64(50) {
		s := drawn(t, seed+1, "")
		s.Schedule = chaos.ScheduleSwarm
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
	all := slices.DeleteFunc(chaos.Kinds(), func(k chaos.Kind) bool { return k.NotDrawn })
	if p := drawn(t, 1, "").Plan(nil); len(p.Kinds) != len(all) || p.Interval != 4*time.Second {
		t.Errorf("schedule random leaves out kinds or changes the rate: %+v", p)
	}
}

// Kinds are drawn by their weights, and faults at the mean interval that was asked for.
func TestDrawsFollowWeightsAndInterval(t *testing.T) {
	n, of := 0, map[string]int{}
	var busy time.Duration
	for seed := range uint64(100) {
		s := drawn(t, seed+1, "fault-kinds: pause:3,kill\nfault-length: 100ms\n")
		busy += s.Duration - s.Negotiated()
		for _, step := range s.Plan(nil).Steps {
			n++
			of[step.Fault.Kind]++
		}
	}
	// 1,450 faults are expected, with a standard deviation of 38. Few of them do not fit and are left out.
	if want := int(busy / (4 * time.Second)); n < want*9/10 || n > want*11/10 {
		t.Errorf("%d faults drawn, want about %d", n, want)
	}
	if share := float64(of["pause"]) / float64(n); share < 0.7 || share > 0.8 || of["pause"]+of["kill"] != n {
		t.Errorf("drawn %v, want 3 pauses for each kill", of)
	}
}

// No fault is drawn that needs a capability that this machine lacks.
func TestDrawnFaultsNeedNoLackingCapability(t *testing.T) {
	lacking := map[string]string{"netem": "not here"}
	for _, k := range chaos.Kinds() {
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

// Swarms draw every kind of link fault, with all keys that the kind requires. Latency at a server is drawn towards
// clients only, because that works without netem.
func TestSwarmsDrawLinkFaults(t *testing.T) {
	s, err := scenario.Load("f.yaml", []byte("duration: 60s\nschedule: swarm\n"))
	if err != nil {
		t.Fatal(err)
	}
	drawn, ways, rejected := map[string]int{}, map[string]int{}, 0
	for seed := range uint64(200) {
		s.Seed = seed + 1
		for _, p := range s.Plan(nil).Steps {
			f, given := p.Fault, map[string]string{}
			for _, k := range f.Keys() {
				given[k.Key] = k.Text
			}
			drawn[given["kind"]]++
			if f.Kind == "partition" {
				ways[given["way"]]++
				if given["verdict"] == "reject" {
					rejected++
				}
			}
			for _, key := range chaos.KindOf(f.Kind).Required() {
				if given[key] == "" {
					t.Errorf("seed %d draws %s without %s", s.Seed, f, key)
				}
			}
			if f.Kind == "latency" && f.HitsServer() && given["from"] != chaos.FromClients ||
				given["from"] == chaos.FromLeader && f.Target == chaos.TargetLeader {
				t.Errorf("seed %d draws %s", s.Seed, f)
			}
		}
	}
	t.Log(drawn, ways, rejected)
	for _, kind := range []string{"partition", "loss", "bandwidth", "latency", "reset", "mute"} {
		if drawn[kind] == 0 {
			t.Errorf("no %s in 200 swarms", kind)
		}
	}
	if len(ways) != 3 || rejected == 0 {
		t.Errorf("ways %v, %d rejected", ways, rejected)
	}
}

func ExampleScenario_Plan() {
	s, _ := scenario.Load("example.yaml", []byte(`duration: 30s
faults:
- {kind: kill, target: leader, at: 2s, for: 1s, every: 10s}
`))
	for _, step := range s.Plan(nil).Steps {
		fmt.Println(step.ID, step.Fault)
	}
	// Output:
	// f1.1 kill leader at 2s for 1s
	// f1.2 kill leader at 12s for 1s
	// f1.3 kill leader at 22s for 1s
}
