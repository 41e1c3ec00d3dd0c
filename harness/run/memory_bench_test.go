package run

import (
	"path/filepath"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/harness/judge"
	"locklab/harness/scenario"
	"locklab/workloads"
)

// mostPerWaiter is how many bytes of its process's memory a waiting client may take.
const mostPerWaiter = 200 << 10

// BenchmarkWaiters lets a thousand clients of one process wait for one lock and reports how much memory each takes.
// It fails above 200 KiB.
func BenchmarkWaiters(b *testing.B) {
	labtest.Require(b)
	sc, err := scenario.Builtin(workloads.Builtin, "mutex-1000")
	if err != nil {
		b.Fatal(err)
	}
	sc.ClientProcesses, sc.Seed = 1, 1
	stage, err := OpenStage(b.Context(), sc, Options{Binary: labtest.Binary(b), Log: labtest.Log(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := stage.Close(); err != nil {
			b.Error(err)
		}
	})
	for b.Loop() { // once: it takes longer than any time asked for
		dir := filepath.Join(b.TempDir(), "run")
		if err := stage.Run(b.Context(), sc, dir); err != nil {
			b.Fatal(err)
		}
		out, err := judge.Conclude(dir)
		if err != nil {
			b.Fatal(err)
		}
		per := out.Result.ResidentPerClient
		if per == nil {
			b.Fatal("the run does not say how much memory its clients took")
		}
		b.ReportMetric(float64(*per)/1024, "KiB/waiter")
		b.ReportMetric(*out.Result.Throughput.AcquiredPerS, "acquired/s")
		if *per > mostPerWaiter {
			b.Errorf("a waiting client takes %d KiB, more than %d", *per>>10, mostPerWaiter>>10)
		}
	}
}
