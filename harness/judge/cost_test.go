package judge

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
)

// envCost names the run directory that a copy of the test binary is to check, so that its memory can be measured.
const envCost = "LOCKLAB_TEST_COST"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envCost); dir != "" {
		out, err := Conclude(dir)
		if err == nil && out.Result.Verdict != evidence.Pass {
			err = fmt.Errorf("%s: %s", out.Result.Verdict, out.Result.Headline)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(peak())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// peak is the largest memory of this process, in KiB, or NaN. What the system tells its parent is at least the parent's
// own, which the process shared until it began to execute its program.
func peak() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kib); n == 1 {
			return kib
		}
	}
	return math.NaN()
}

// BenchmarkCheck judges long runs in a process of their own, as `locklab check` does, and reports the processor time
// and the largest memory of that process beside the time.
func BenchmarkCheck(b *testing.B) {
	run := func(name string, s saturated) {
		b.Run(name, func(b *testing.B) {
			dir := filepath.Join(b.TempDir(), "run")
			s.make(b, dir)
			var cpu, rss float64
			for b.Loop() {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), envCost+"="+dir, "GOGC=40") // as the command sets it
				cmd.Stderr = os.Stderr
				out, err := cmd.Output()
				kib, parseErr := strconv.ParseFloat(string(out), 64)
				if err := errors.Join(err, parseErr); err != nil {
					b.Fatal(err)
				}
				cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
				rss = max(rss, kib/1024)
			}
			b.ReportMetric(cpu/float64(b.N), "cpu-s/op")
			b.ReportMetric(rss, "MiB-peak")
		})
	}
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		run(fmt.Sprintf("acquisitions=%d", n), saturated{acquisitions: n, clients: 64})
	}
	for _, n := range []int{8, 512} {
		run(fmt.Sprintf("acquisitions=100000/clients=%d", n), saturated{acquisitions: 100_000, clients: n})
	}
	run("acquisitions=100000/unknown=5", saturated{acquisitions: 100_000, clients: 64, unknown: 5})
	run("acquisitions=100000/without", saturated{acquisitions: 100_000, clients: 64, without: true})
}
