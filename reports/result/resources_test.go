package result

import (
	"math"
	"testing"
	"time"

	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
)

// readings is a run of one client process and one server, which were read at 0 and at 1000 ms.
func readings(change func(s *synth.Synth, run *rundir.Run)) *rundir.Run {
	s := &synth.Synth{}
	for _, at := range []float64{0, 1000} {
		s.Add(at, history.SnapshotOf("x", synth.Ms(at), synth.Ms(at)))
		used := time.Duration(at) * time.Millisecond
		for host, share := range map[string]time.Duration{"c1": 4, "zk1": 2, "r1": 10, "c1 agent": 5, "zk1 agent": 20,
			"r1 agent": 20, rundir.HarnessHost: 20, history.Machine: 1} {
			e := history.ProcessorTime{Host: host, PID: 7, Used: used / share}.Event(0)
			s.Add(at, e)
		}
	}
	run := &rundir.Run{Scenario: &scenario.Scenario{ClientProcesses: 1, Servers: 1}, Env: rundir.Env{CPUs: 2}}
	counters := func(n, ms float64) map[string]map[string]float64 {
		return map[string]map[string]float64{"zk1": {counterFsyncs: n, counterFsyncTime: ms, counterPackets: n,
			counterDeletedWatches: n, counterUptime: n}}
	}
	run.CountersAtStart, run.CountersAtEnd = counters(10, 100), counters(110, 600)
	if change != nil {
		change(s, run)
	}
	run.Events = history.NewLog(s.Sorted())
	return run
}

// Processor time and fsync are of the time between two readings, and null if a process was another one, or if a reading
// is missing; fsync also if the ensemble has other clients.
func TestResourcesBetweenReadings(t *testing.T) {
	all := []Quantity{processors, clientProcessors, agentProcessors, resourceProcessors, loadProcessors, serverProcessors,
		otherProcessors, fsyncLeast, fsyncMost}
	for _, c := range []struct {
		name   string
		change func(s *synth.Synth, run *rundir.Run)
		want   []float64 // -1 = null
	}{
		{"all", nil, []float64{2, 0.25, 0.3, 0.1, 0.7, 0.5, 0, 0.5, 0.6}},
		{"a machine that does more", func(s *synth.Synth, _ *rundir.Run) {
			s.Add(1001, history.ProcessorTime{Host: history.Machine, PID: 7, Used: 2002 * time.Millisecond}.Event(0))
		}, []float64{2, 0.25, 0.3, 0.1, 0.7, 0.5, 0.8, 0.5, 0.6}},
		{"an ensemble elsewhere that is seen", func(_ *synth.Synth, run *rundir.Run) {
			run.Scenario.Connect = "127.0.0.1:1"
		}, []float64{2, 0.25, 0.3, 0.1, 0.7, 0.5, 0, -1, -1}},
		{"an ensemble on another machine", func(s *synth.Synth, run *rundir.Run) {
			run.Scenario.Connect = "192.0.2.1:1"
			s.Without("zk1")
			for _, at := range []float64{0, 1000} {
				s.Add(at, history.ProcessorTime{Host: "zk1", PID: history.Away}.Event(0))
			}
		}, []float64{2, 0.25, 0.3, 0.1, 0.7, -1, 0.3, -1, -1}},
		{"an ensemble here that is not seen", func(s *synth.Synth, run *rundir.Run) {
			run.Scenario.Connect = "127.0.0.1:1"
			s.Without("zk1")
		}, []float64{2, 0.25, 0.3, 0.1, 0.7, -1, -1, -1, -1}},
		{"a host on another machine", func(s *synth.Synth, _ *rundir.Run) {
			s.Add(0, history.ClockReading{Host: "zk1", Clock: "its own"}.Event())
		}, []float64{-1, 0.25, 0.3, 0.1, 0.7, 0.5, -1, 0.5, 0.6}},
		{"another process", func(s *synth.Synth, _ *rundir.Run) {
			s.Add(1001, history.ProcessorTime{Host: "c1", PID: 8, Used: time.Second}.Event(0))
		}, []float64{2, -1, 0.3, 0.1, -1, 0.5, -1, 0.5, 0.6}},
		{"a process that was read once", func(_ *synth.Synth, run *rundir.Run) { run.Scenario.ClientProcesses = 2 },
			[]float64{2, -1, -1, 0.1, -1, 0.5, -1, 0.5, 0.6}},
		{"a server that did not answer", func(_ *synth.Synth, run *rundir.Run) { delete(run.CountersAtEnd, "zk1") },
			[]float64{2, 0.25, 0.3, 0.1, 0.7, 0.5, 0, -1, -1}},
		{"counters that began anew", func(_ *synth.Synth, run *rundir.Run) { run.CountersAtEnd["zk1"][counterFsyncs] = 5 },
			[]float64{2, 0.25, 0.3, 0.1, 0.7, 0.5, 0, -1, -1}},
		{"more fsync than time", func(_ *synth.Synth, run *rundir.Run) { run.CountersAtEnd["zk1"][counterFsyncTime] = 1050 },
			[]float64{2, 0.25, 0.3, 0.1, 0.7, 0.5, 0, 0.95, 1}},
		{"no readings of counters", func(_ *synth.Synth, run *rundir.Run) { run.CountersAtStart = nil },
			[]float64{2, 0.25, 0.3, 0.1, 0.7, 0.5, 0, -1, -1}},
	} {
		run := readings(c.change)
		for i, q := range all {
			got := -1.0
			if v := q.Measure(run, oneSecond); v != nil {
				got = *v
			}
			if d := got - c.want[i]; d > 1e-9 || d < -1e-9 {
				t.Errorf("%s: %s is %g, want %g", c.name, q.Path, got, c.want[i])
			}
		}
	}
}

// A lock is held, handed over to a client that was queued before the release, or free, at each instant of the window.
func TestLockShares(t *testing.T) {
	acq := []history.Acquisition{
		synth.Grant("c1/0", -100, -99, -50, 100), // of its hold, 100 ms are in the window
		synth.Grant("c2/0", 10, 11, 150, 300),    // handed over within 50
		synth.Grant("c3/0", 310, 311, 320, 400),  // found it free
		synth.Grant("c4/0", 390, 391, 900, 1200), // handed over within 500, held for 100
	}
	held, handed := sharesOf(history.GrantsByLock(acq)[0], oneSecond, 1)
	if held != 0.1+0.15+0.08+0.1 || handed != 0.55 {
		t.Errorf("held %g, handed over %g", held, handed)
	}
	shared := []history.Acquisition{synth.Grant("c1/0", 0, 1, 100, 300), synth.Grant("c2/0", 0, 1, 200, 400)}
	for i := range shared {
		shared[i].Claimant = &history.Claimant{Client: "c", Lock: synth.TheLock, Mode: history.ModeRead}
	}
	if held, _ := sharesOf(history.GrantsByLock(shared)[0], oneSecond, 1); held != 0.3 {
		t.Errorf("readers together held it for %g of the time", held)
	}
	for i := range shared {
		shared[i].Claimant = &history.Claimant{Client: "c", Lock: synth.TheLock, Mode: history.ModePermit, Permits: 1}
	}
	if held, _ := sharesOf(history.GrantsByLock(shared)[0], oneSecond, 4); held != 0.1 {
		t.Errorf("of four permits %g was in use", held)
	}
}

// The load side and the servers cost processor time for each acquisition.
func TestProcessorTimePerAcquisition(t *testing.T) {
	run := readings(nil)
	for i := range 10 {
		run.Acquisitions = append(run.Acquisitions, synth.Grant("c1/0", float64(100*i), 1, float64(100*i+10),
			float64(100*i+20)))
	}
	for q, want := range map[*Quantity]float64{&loadPerAcquire: 70e6, &serverPerAcquire: 50e6} {
		if got := q.Measure(run, oneSecond); got == nil || math.Abs(*got-want) > 1 {
			t.Errorf("%s is %v, want %g", q.Path, got, want)
		}
	}
}
