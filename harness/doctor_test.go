package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/scenario"
)

// healthy is a machine that lacks nothing. closed counts the labs that were taken down.
func healthy(closed *int) patient {
	return patient{cores: 8, memory: 16 << 30, available: 8 << 30, clock: "tsc",
		image: func(context.Context) (string, error) { return "zookeeper:3.9", nil },
		open:  func(context.Context) (ward, error) { return healthyWard(closed), nil }}
}

func healthyWard(closed *int) ward {
	done := func(context.Context) error { return nil }
	return ward{
		disk: func(context.Context) (agent.Disk, error) {
			return agent.Disk{FreeBytes: 50 << 30, Syncs: 200, P50: time.Millisecond, P99: 2 * time.Millisecond, Max: 3 * time.Millisecond}, nil
		},
		capabilities: func(context.Context) (agent.Capabilities, error) {
			return agent.Capabilities{agent.CapNetAdmin: "", agent.CapNetem: "", agent.CapFaketime: "", agent.CapReject: "", agent.CapLoss: "", agent.CapLimit: "", agent.CapDestroy: ""}, nil
		},
		serve: done, hold: done, close: func(context.Context) { *closed++ },
	}
}

// What each lack is found as, whether runs are possible all the same, what cures it, and which faults cannot be done.
func TestDiagnose(t *testing.T) {
	broken := errors.New("broken")
	fails := func(context.Context) error { return broken }
	// inside changes what is found in the machine's lab.
	inside := func(change func(*ward)) func(*patient) {
		return func(m *patient) {
			open := m.open
			m.open = func(ctx context.Context) (ward, error) {
				w, err := open(ctx)
				change(&w)
				return w, err
			}
		}
	}
	lacks := func(name string) func(*patient) {
		return inside(func(w *ward) {
			all := w.capabilities
			w.capabilities = func(ctx context.Context) (agent.Capabilities, error) {
				caps, err := all(ctx)
				caps[name] = "not in this kernel"
				return caps, err
			}
		})
	}
	for _, c := range []struct {
		name    string
		change  func(*patient)
		lacking []string // the findings that are not OK
		ill     bool     // no run is possible
		cure    string
		cannot  []string // faults
		lab     bool     // one was made
	}{
		{name: "nothing", change: func(*patient) {}, lab: true},
		{name: "cores", change: func(m *patient) { m.cores = 1 }, lacking: []string{"cores"}, lab: true},
		{name: "memory", change: func(m *patient) { m.available = 1 << 30 }, lacking: []string{"memory"}, lab: true},
		{name: "clock", change: func(m *patient) { m.clock = "hpet" }, lacking: []string{"clock source"}, lab: true},
		{name: "engine", change: func(m *patient) {
			m.image = func(context.Context) (string, error) { return "", fmt.Errorf("ping: %w", ensembles.ErrNoEngine) }
		}, lacking: []string{"Docker engine"}, ill: true, cure: "apt-get install docker.io"},
		{name: "image", change: func(m *patient) {
			m.image = func(context.Context) (string, error) { return "", ensembles.ErrNoImage }
		}, lacking: []string{"image"}, ill: true, cure: "make image"},
		{name: "containers", change: func(m *patient) { m.open = func(context.Context) (ward, error) { return ward{}, broken } }, lacking: []string{"containers"}, ill: true},
		{name: "Java", change: inside(func(w *ward) { w.serve = fails }), lacking: []string{"Java and ZooKeeper"}, ill: true, lab: true},
		{name: "a fast disk", change: inside(func(w *ward) {
			w.disk = func(context.Context) (agent.Disk, error) {
				return agent.Disk{FreeBytes: 50 << 30, Syncs: 200, P99: 80 * time.Millisecond}, nil
			}
		}), lacking: []string{"fsync"}, cure: "locklab run --storage tmpfs", lab: true},
		{name: "room", change: inside(func(w *ward) {
			w.disk = func(context.Context) (agent.Disk, error) { return agent.Disk{FreeBytes: 1 << 20}, nil }
		}), lacking: []string{"disk"}, lab: true},
		{name: "a disk", change: inside(func(w *ward) {
			w.disk = func(context.Context) (agent.Disk, error) { return agent.Disk{}, broken }
		}), lacking: []string{"disk"}, ill: true, lab: true},
		{name: "ptrace", change: inside(func(w *ward) { w.hold = fails }), lacking: []string{agent.CapPtrace}, cure: "sysctl kernel.yama.ptrace_scope=1", cannot: []string{scenario.FaultSlowDisk}, lab: true},
		{name: "libfaketime", change: lacks(agent.CapFaketime), lacking: []string{agent.CapFaketime}, cure: cures[agent.CapFaketime], cannot: []string{scenario.FaultClockStep}, lab: true},
		{name: "netem", change: lacks(agent.CapNetem), lacking: []string{agent.CapNetem}, cure: "modprobe sch_netem", lab: true},
		{name: "NET_ADMIN", change: lacks(agent.CapNetAdmin), lacking: []string{agent.CapNetAdmin}, ill: true, lab: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			closed := 0
			m := healthy(&closed)
			c.change(&m)
			d, err := diagnose(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			var lacking, cannot, cured []string
			for _, f := range d.Findings {
				if f.OK {
					if f.Cure != "" {
						t.Errorf("%s is well and has a cure: %s", f.Name, f.Cure)
					}
					continue
				}
				lacking = append(lacking, f.Name)
				cured = append(cured, f.Cure)
			}
			for _, f := range d.Faults {
				if !f.Can {
					cannot = append(cannot, f.Kind)
				}
			}
			if diff := cmp.Diff(c.lacking, lacking); diff != "" {
				t.Errorf("lacking (-want +got):\n%s", diff)
			}
			if len(cured) > 0 && cured[0] != c.cure {
				t.Errorf("cure %q, want %q", cured[0], c.cure)
			}
			if diff := cmp.Diff(c.cannot, cannot); diff != "" {
				t.Errorf("faults that cannot be done (-want +got):\n%s", diff)
			}
			if d.Well() == c.ill {
				t.Errorf("well: %v", d.Well())
			}
			if want := map[bool]int{true: 1}[c.lab]; closed != want || len(d.Faults) > 0 != c.lab {
				t.Errorf("%d labs were taken down, and %d faults looked at", closed, len(d.Faults))
			}
			for name, why := range d.Lacking() {
				if !slices.Contains(lacking, name) || c.cure != "" && !strings.HasSuffix(why, "; "+c.cure) {
					t.Errorf("lacking %s: %q", name, why)
				}
			}
		})
	}
}

// Latency can be done without netem, but not between servers; a run that names it is refused by what the diagnosis found.
func TestADiagnosisSaysWhatLatencyTakes(t *testing.T) {
	d := Diagnosis{}
	d.abilities(agent.Capabilities{agent.CapNetem: "no such module"})
	i := slices.IndexFunc(d.Faults, func(f FaultAbility) bool { return f.Kind == scenario.FaultLatency })
	if f := d.Faults[i]; !f.Can || !strings.Contains(f.Lacks, "between servers: netem: no such module") {
		t.Errorf("%+v", f)
	}
	if got := slices.Collect(maps.Keys(d.Lacking())); !slices.Equal(got, []string{agent.CapNetem}) {
		t.Errorf("lacking %v", got)
	}
}

// What is interrupted is no finding.
func TestAnInterruptedDiagnosis(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	closed := 0
	m := healthy(&closed)
	open := m.open
	m.open = func(ctx context.Context) (ward, error) {
		cancel()
		return open(ctx)
	}
	if _, err := diagnose(ctx, m); !errors.Is(err, context.Canceled) || closed != 1 {
		t.Errorf("%v, %d labs taken down", err, closed)
	}
}
