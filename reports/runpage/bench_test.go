package runpage

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/workloads"
)

// The report of a run with a million acquisitions: at most 5 MB, drawn in 5 s and 500 MB. The heap has the
// run too, and what is not collected yet.
func BenchmarkReportOfAMillion(b *testing.B) {
	in := Input(million())
	dir := b.TempDir()
	var peak atomic.Uint64
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapAlloc))
			}
		}
	}()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if err := Render(dir, in); err != nil {
			b.Fatal(err)
		}
	}
	close(done)
	page, err := os.Stat(filepath.Join(dir, "report.html"))
	if err != nil {
		b.Fatal(err)
	}
	if page.Size() > 5<<20 {
		b.Errorf("report.html has %d bytes, want at most 5 MB", page.Size())
	}
	b.ReportMetric(float64(page.Size())/(1<<20), "page-MB")
	b.ReportMetric(float64(before.HeapAlloc)/(1<<20), "run-MB")
	b.ReportMetric(float64(peak.Load())/(1<<20), "heap-MB")
}

// million is a run of 64 clients with a million acquisitions and twelve faults, of which the resource recorded one
// write for each acquisition.
func million() (*rundir.Run, evidence.Facts) {
	const clients, acquisitions, apart = 64, 1_000_000, 2_000_000 // ns
	rng := rand.New(rand.NewPCG(1, 2))
	s := &synth.Synth{}
	s.Phase(0, history.PhaseMeasure)
	for i := range 12 {
		from := float64(i+1) * 150_000
		s.Fault(fmt.Sprintf("f%d", i), "pause", fmt.Sprintf("c%d", i%8+1), from, from+5_000)
	}
	s.Phase(2_000_000, history.PhaseDrain)
	events := s.Sorted()
	run := &rundir.Run{Scenario: &scenario.Scenario{Name: "million", Recipe: "mutex", Clients: clients, ClientProcesses: 8,
		Load: workloads.Load{Arrivals: workloads.Closed}}, Acquisitions: make([]history.Acquisition, 0, acquisitions)}
	trouble := &history.Trouble{Lost: history.None, Died: history.None}
	claimants := make([]*history.Claimant, clients)
	for i := range clients {
		process := fmt.Sprintf("c%d", i/8+1)
		claimants[i] = &history.Claimant{Process: process, Client: fmt.Sprintf("%s/%d", process, i%8), Lock: synth.TheLock,
			Mode: history.ModeExclusive}
	}
	for i := range acquisitions {
		granted := int64(i) * apart
		a := history.Acquisition{Claimant: claimants[i%clients], Trouble: trouble, N: int64(i/clients + 1),
			Token: int64(i + 1), Invoked: max(granted-60*apart-rng.Int64N(apart), 0), Queued: max(granted-59*apart, 0),
			Returned: granted, Outcome: history.OK, ReleaseInvoked: granted + apart/2,
			ReleaseReturned: granted + apart*3/4, ReleaseOutcome: history.OK, Place: int32(i)}
		run.Acquisitions = append(run.Acquisitions, a)
		events = append(events, history.Event{At: granted + apart/4, Process: "r1", Client: a.Client, Op: history.OpWrite,
			Kind: history.OK, Lock: synth.TheLock, Acq: a.N, Token: a.Token})
	}
	run.Events = history.NewLog(events)
	return run, evidence.Facts{}
}
