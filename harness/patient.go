package harness

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
)

// A patient is the machine that a diagnosis looks at.
type patient struct {
	cores             int
	memory, available int64  // in bytes; 0 = not known
	clock             string // the kernel's clock source

	// image finds the servers' image; open makes a lab of one server, which does not run yet.
	image func(context.Context) (string, error)
	open  func(context.Context) (ward, error)
}

// A ward is a lab of one server, in which a diagnosis tries what can be done.
type ward struct {
	disk         func(context.Context) (agent.Disk, error)
	capabilities func(context.Context) (agent.Capabilities, error)
	serve        func(context.Context) error // starts the server
	hold         func(context.Context) error // holds the running server's disk for a moment
	close        func(context.Context)
}

// monotonicClock names the kernel's clock source.
const monotonicClock = "/sys/devices/system/clocksource/clocksource0/current_clocksource"

func thisMachine(opts Options) patient {
	m := patient{cores: runtime.NumCPU(), image: ensembles.FindImage, open: func(ctx context.Context) (ward, error) { return openWard(ctx, opts) }}
	var s unix.Sysinfo_t
	if err := unix.Sysinfo(&s); err == nil {
		m.memory, m.available = int64(s.Totalram)*int64(s.Unit), int64(s.Freeram+s.Bufferram)*int64(s.Unit)
		if available := memAvailable(); available > 0 {
			m.available = available
		}
	}
	source, err := os.ReadFile(monotonicClock)
	m.clock = strings.TrimSpace(string(source))
	if err != nil {
		m.clock = err.Error()
	}
	return m
}

// memAvailable is what the kernel thinks can be had without swapping, in bytes; 0 if it does not say.
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

func openWard(ctx context.Context, opts Options) (ward, error) {
	if opts.Binary == "" {
		var err error
		if opts.Binary, err = os.Executable(); err != nil {
			return ward{}, err
		}
	}
	lab, err := ensembles.StartDocker(ctx, ensembles.DockerConfig{Hosts: []ensembles.HostSpec{{Name: "zk1", Disk: true}}, Binary: opts.Binary, Log: opts.Log})
	if err != nil {
		return ward{}, err
	}
	h := lab.Host("zk1")
	return ward{
		disk:         h.Agent.Disk,
		capabilities: h.Agent.Capabilities,
		serve: func(ctx context.Context) error {
			_, err := ensembles.StartEnsemble(ctx, lab, ensembles.ServerConfig{Tick: 200 * time.Millisecond, InitLimit: 20, SyncLimit: 5,
				MinSessionTimeout: 400 * time.Millisecond, MaxSessionTimeout: 20 * time.Second, HeapBytes: 256 << 20})
			return err
		},
		hold: func(ctx context.Context) error {
			_, err := h.Agent.Stall(ctx, "doctor")
			if err == nil {
				_, err = h.Agent.Unstall(ctx, "doctor")
			}
			return err
		},
		close: func(ctx context.Context) {
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeCap)
			defer cancel()
			if err := lab.Close(clean); err != nil {
				opts.Log.Warn("close lab", "err", err)
			}
		},
	}, nil
}
