package rundir

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/chaos"
	"locklab/harness/scenario"
	"locklab/workloads"
)

// The planned faults that are read from a run directory are those that were written, so they need not be drawn again
// where a run is judged.
func TestTimelineRoundTrip(t *testing.T) {
	for seed := range uint64(30) {
		sc, err := scenario.Builtin(workloads.Builtin, "swarm")
		if err != nil {
			t.Fatal(err)
		}
		sc.Seed = seed + 1
		sc.Faults = []chaos.Fault{{Kind: "pause", Target: chaos.TargetHolder,
			Trigger: chaos.TriggerWrite, Until: chaos.UntilSuperseded, Repeat: 2}}
		plan := sc.Plan(nil)
		dir := t.TempDir()
		if err := writeTimeline(dir, sc, plan); err != nil {
			t.Fatal(err)
		}
		got, err := ReadTimeline(dir, sc)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plan, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed+1, diff)
		}
		for i, p := range Planned(got) {
			step := plan.Steps[i]
			if p.HitsHolder != step.Fault.HitsHolder() || p.ID != step.ID || p.Drawn != step.Drawn {
				t.Errorf("%+v of %s", p, step.Fault)
			}
		}
	}
}

// A dry run shows when each fault begins and ends.
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
	const want = `dry, seed 5: T is 2s, the measured window 20s, ` +
		`then until all faults are healed and every client has had its lock, within 7.4s
between-read-and-write  superseded  f2    pause c1
2s                      5s          f1.1  kill leader
9s                                  f3    restart zk2
10s                     13s         f1.2  kill leader
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
