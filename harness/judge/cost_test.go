package judge

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"locklab/harness/check"
)

// envCost names the run directory that a copy of the test binary is to check, so that its memory can be measured.
const envCost = "LOCKLAB_TEST_COST"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envCost); dir != "" {
		out, err := Conclude(dir)
		if err == nil && out.Result.Verdict != check.Pass {
			err = fmt.Errorf("%s: %s", out.Result.Verdict, out.Result.Headline)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
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
				cmd.Env = append(os.Environ(), envCost+"="+dir)
				cmd.Stderr = os.Stderr
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				cpu += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
				rss = max(rss, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024)
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
