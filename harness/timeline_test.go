package harness

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/scenario"
	"locklab/workloads"
)

// What is kept of a plan is the plan: whoever judges the run elsewhere need not draw it again.
func TestATimelineIsKept(t *testing.T) {
	for seed := range uint64(30) {
		sc, err := scenario.Builtin(workloads.Builtin, "swarm")
		if err != nil {
			t.Fatal(err)
		}
		sc.Seed = seed + 1
		sc.Faults = []scenario.Fault{{Kind: scenario.FaultPause, Target: scenario.TargetHolder, Trigger: scenario.TriggerWrite, Until: scenario.UntilSuperseded}}
		plan := sc.Plan(nil)
		dir := t.TempDir()
		if err := writeTimeline(dir, sc, plan); err != nil {
			t.Fatal(err)
		}
		got, err := readTimeline(dir, sc)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed+1, diff)
		}
		for i, p := range planned(got) {
			if want := plan.Steps[i].Fault.HitsHolder(); p.HitsHolder != want || p.ID != plan.Steps[i].ID || p.Drawn != plan.Steps[i].Drawn {
				t.Errorf("%+v of %s", p, plan.Steps[i].Fault)
			}
		}
	}
}

// A dry run shows each fault with when it begins and ends.
func TestWriteTimeline(t *testing.T) {
	sc, err := scenario.Load("dry.yaml", []byte(`duration: 20s
seed: 5
faults:
- {kind: kill, target: leader, at: 2s, for: 1.5T, every: 8s}
- {kind: pause, target: c1, trigger: between-read-and-write, until: superseded}
- {kind: restart, target: zk2, at: 9s}
`))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := WriteTimeline(&b, sc, nil); err != nil {
		t.Fatal(err)
	}
	const want = `dry, seed 5: T is 2s, the measured window 20s, then until all is healed and each has got its lock, within 7.4s
between-read-and-write  superseded  f2    pause c1
2s                      5s          f1.1  kill leader
9s                                  f3    restart zk2
10s                     13s         f1.2  kill leader
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
