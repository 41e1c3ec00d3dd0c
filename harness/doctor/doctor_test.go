package doctor

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

	"locklab/ensembles/agent"
	"locklab/ensembles/docker"
	"locklab/ensembles/process"
)

// healthy returns a machine that lacks nothing. closed counts the labs that were taken down.
func healthy(closed *int) machine {
	return machine{cores: 8, memory: 16 << 30, available: 8 << 30, clock: "tsc",
		ceiling:   func(context.Context) (float64, error) { return 4321, nil },
		findImage: func(context.Context) (string, error) { return "zookeeper:3.9", nil },
		openLab:   func(context.Context) (testLab, error) { return healthyLab(closed), nil }}
}

func healthyLab(closed *int) testLab {
	done := func(context.Context) error { return nil }
	return testLab{
		measureDisk: func(context.Context) (agent.Disk, error) {
			return agent.Disk{
				FreeBytes: 50 << 30,
				Syncs:     200,
				P50:       time.Millisecond,
				P99:       2 * time.Millisecond,
				Max:       3 * time.Millisecond,
			}, nil
		},
		capabilities: func(context.Context) (agent.Capabilities, error) {
			return agent.Capabilities{
				agent.CapNetAdmin: "",
				agent.CapNetem:    "",
				agent.CapFaketime: "",
				agent.CapReject:   "",
				agent.CapLoss:     "",
				agent.CapLimit:    "",
				agent.CapDestroy:  "",
			}, nil
		},
		startServer: done, stallDisk: done, close: func(context.Context) { *closed++ },
	}
}

// Whatever is lacking becomes a finding with its cure, and the diagnosis says which faults and whether runs are
// possible.
func TestDiagnose(t *testing.T) {
	broken := errors.New("broken")
	ofNetwork := []string{"partition", "loss", "bandwidth", "reset", "mute"}
	fails := func(context.Context) error { return broken }
	// inside changes what is found in the machine's lab.
	inside := func(change func(*testLab)) func(*machine) {
		return func(m *machine) {
			open := m.openLab
			m.openLab = func(ctx context.Context) (testLab, error) {
				w, err := open(ctx)
				change(&w)
				return w, err
			}
		}
	}
	lacks := func(name string) func(*machine) {
		return inside(func(w *testLab) {
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
		change  func(*machine)
		lacking []string // the findings that are not OK
		unable  bool     // no run is possible
		cure    string
		cannot  []string // faults
		lab     bool     // a lab was made
	}{
		{name: "nothing", change: func(*machine) {}, lab: true},
		{name: "cores", change: func(m *machine) { m.cores = 1 }, lacking: []string{"cores"}, lab: true},
		{name: "memory", change: func(m *machine) { m.available = 1 << 30 }, lacking: []string{"memory"}, lab: true},
		{name: "clock", change: func(m *machine) { m.clock = "hpet" }, lacking: []string{"clock source"}, lab: true},
		{name: "engine", change: func(m *machine) {
			m.findImage = func(context.Context) (string, error) { return "", fmt.Errorf("ping: %w", docker.ErrNoEngine) }
		}, lacking: []string{"Docker engine"}, cure: "apt-get install docker.io", lab: true},
		{name: "image", change: func(m *machine) {
			m.findImage = func(context.Context) (string, error) { return "", docker.ErrNoImage }
		}, lacking: []string{"image"}, cure: "make image", lab: true},
		{name: "a load generator", change: func(m *machine) {
			m.ceiling = func(context.Context) (float64, error) { return 0, broken }
		}, lacking: []string{"load generator"}, lab: true},
		{name: "lab", change: func(m *machine) {
			m.openLab = func(context.Context) (testLab, error) { return testLab{}, broken }
		}, lacking: []string{"lab"}, unable: true},
		{name: "Java", change: inside(func(w *testLab) { w.startServer = fails }),
			lacking: []string{"Java and ZooKeeper"}, unable: true, lab: true},
		{name: "a fast disk", change: inside(func(w *testLab) {
			w.measureDisk = func(context.Context) (agent.Disk, error) {
				return agent.Disk{FreeBytes: 50 << 30, Syncs: 200, P99: 80 * time.Millisecond}, nil
			}
		}), lacking: []string{"fsync"}, cure: "locklab run --storage tmpfs", lab: true},
		{name: "room on the disk", change: inside(func(w *testLab) {
			w.measureDisk = func(context.Context) (agent.Disk, error) { return agent.Disk{FreeBytes: 1 << 20}, nil }
		}), lacking: []string{"disk"}, lab: true},
		{name: "a disk that can be measured", change: inside(func(w *testLab) {
			w.measureDisk = func(context.Context) (agent.Disk, error) { return agent.Disk{}, broken }
		}), lacking: []string{"disk"}, unable: true, lab: true},
		{name: "ptrace", change: inside(func(w *testLab) { w.stallDisk = fails }),
			lacking: []string{agent.CapPtrace}, cure: "sysctl kernel.yama.ptrace_scope=1",
			cannot: []string{"slow-disk"}, lab: true},
		{name: "libfaketime", change: lacks(agent.CapFaketime),
			lacking: []string{agent.CapFaketime}, cure: cures[agent.CapFaketime],
			cannot: []string{"clock-step"}, lab: true},
		{name: "netem", change: lacks(agent.CapNetem),
			lacking: []string{agent.CapNetem}, cure: "modprobe sch_netem", lab: true},
		{name: "NET_ADMIN", change: lacks(agent.CapNetAdmin), lacking: []string{agent.CapNetAdmin},
			cannot: ofNetwork, unable: true, lab: true},
		{name: "NET_ADMIN in a lab of processes", change: func(m *machine) {
			lacks(agent.CapNetAdmin)(m)
			inside(func(w *testLab) { w.kind = process.Kind{}.Name() })(m)
		}, lacking: []string{agent.CapNetAdmin}, cannot: ofNetwork, lab: true},
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
						t.Errorf("%s is not lacking and has a cure: %s", f.Name, f.Cure)
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
			if d.CanRun() == c.unable {
				t.Errorf("runs are possible: %v", d.CanRun())
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

// Without netem, latency is possible except between servers. A run with such a fault is refused because of the finding.
func TestLatencyBetweenServersNeedsNetem(t *testing.T) {
	d := Diagnosis{}
	d.abilities(agent.Capabilities{agent.CapNetem: "no such module"}, true)
	i := slices.IndexFunc(d.Faults, func(f FaultAbility) bool { return f.Kind == "latency" })
	if f := d.Faults[i]; !f.Can || !strings.Contains(f.Lacks, "between servers: netem: no such module") {
		t.Errorf("%+v", f)
	}
	if got := slices.Collect(maps.Keys(d.Lacking())); !slices.Equal(got, []string{agent.CapNetem}) {
		t.Errorf("lacking %v", got)
	}
}

// An interrupt is an error and not a finding.
func TestDiagnoseIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	closed := 0
	m := healthy(&closed)
	open := m.openLab
	m.openLab = func(ctx context.Context) (testLab, error) {
		cancel()
		return open(ctx)
	}
	if _, err := diagnose(ctx, m); !errors.Is(err, context.Canceled) || closed != 1 {
		t.Errorf("%v, %d labs taken down", err, closed)
	}
}
