package doctor

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/docker"
	"locklab/ensembles/labs"
	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/workloads/client"
)

// A machine is what a diagnosis looks at.
type machine struct {
	cores             int
	memory, available int64  // in bytes; 0 = not known
	clock             string // the kernel's clock source

	findImage func(context.Context) (string, error)
	openLab   func(context.Context) (testLab, error)
	// ceiling measures how many acquisitions a second the load generator asks for at most.
	ceiling func(context.Context) (float64, error)
}

// A testLab is a lab of one server, which does not run at first. A diagnosis uses it to try what the machine can do.
type testLab struct {
	kind         string
	measureDisk  func(context.Context) (agent.Disk, error)
	capabilities func(context.Context) (agent.Capabilities, error)
	startServer  func(context.Context) error
	stallDisk    func(context.Context) error // stalls the disk of the running server for a moment
	close        func(context.Context)
}

// clockSource has the name of the kernel's clock source.
const clockSource = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

// thisMachine returns the machine that this process runs on, with labs of that kind.
func thisMachine(kind string, opts run.Options) machine {
	m := machine{cores: runtime.NumCPU(), findImage: docker.FindImage,
		openLab: func(ctx context.Context) (testLab, error) { return openTestLab(ctx, kind, opts) },
		ceiling: func(ctx context.Context) (float64, error) { return client.Ceiling(ctx, scenario.Defaults().Recipe) }}
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err == nil {
		m.memory, m.available = int64(s.Totalram)*int64(s.Unit), int64(s.Freeram+s.Bufferram)*int64(s.Unit)
		if available := memAvailable(); available > 0 {
			m.available = available
		}
	}
	source, err := os.ReadFile(clockSource)
	m.clock = strings.TrimSpace(string(source))
	if err != nil {
		m.clock = err.Error()
	}
	return m
}

// memAvailable returns how many bytes the kernel can give to processes without swapping; 0 if it does not say.
func memAvailable() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// openTestLab makes a lab of one server.
func openTestLab(ctx context.Context, kind string, opts run.Options) (testLab, error) {
	if opts.Binary == "" {
		var err error
		if opts.Binary, err = os.Executable(); err != nil {
			return testLab{}, err
		}
	}
	hosts := []ensembles.HostSpec{{Name: "zk1", Disk: true}}
	lab, err := labs.Start(ctx, kind, ensembles.LabConfig{Hosts: hosts, Binary: opts.Binary, Log: opts.Log})
	if err != nil {
		return testLab{}, err
	}
	h := lab.Host("zk1")
	return testLab{
		kind:         lab.Kind,
		measureDisk:  h.Agent.Disk,
		capabilities: h.Agent.Capabilities,
		startServer: func(ctx context.Context) error {
			_, err := ensembles.StartEnsemble(ctx, lab, ensembles.ServerConfig{
				Tick: 200 * time.Millisecond, SyncLimit: 5,
				MinSessionTimeout: 400 * time.Millisecond, MaxSessionTimeout: 20 * time.Second, HeapBytes: 256 << 20})
			return err
		},
		stallDisk: func(ctx context.Context) error {
			_, err := h.Agent.Stall(ctx, "doctor")
			if err == nil {
				_, err = h.Agent.Unstall(ctx, "doctor")
			}
			return err
		},
		close: func(ctx context.Context) {
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), run.CloseCap)
			defer cancel()
			if err := lab.Close(clean); err != nil {
				opts.Log.Warn("close lab", "err", err)
			}
		},
	}, nil
}
