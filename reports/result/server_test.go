package result

import (
	"strings"
	"testing"

	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
)

func TestServerCost(t *testing.T) {
	s := &synth.Synth{}
	s.Add(100, history.Event{Op: history.OpSnapshot, Detail: "start"})
	s.Add(200, history.Event{Op: history.OpSnapshot, Detail: "end"})
	acq := []history.Acquisition{
		synth.Grant("a", 10, 11, 90, 95), // before the first snapshot
		synth.Grant("b", 20, 21, 110, 120),
		synth.Grant("c", 30, 31, 130, 140),
		synth.Grant("d", 40, 41, 150, 250), // granted between the snapshots, released after
	}
	counters := func(packets, watches float64) map[string]float64 {
		return map[string]float64{counterPackets: packets, counterDeletedWatches: watches, counterUptime: packets}
	}
	run := rundir.Run{
		Scenario: scenario.Defaults(),
		Events:   history.NewLog(s.Sorted()), Acquisitions: acq,
		CountersAtStart: map[string]map[string]float64{"zk1": counters(100, 10), "zk2": counters(50, 0)},
		CountersAtEnd:   map[string]map[string]float64{"zk1": counters(107, 12), "zk2": counters(55, 2)},
	}
	got, warnings := serverCost(&run)
	// (7 + 5) packets for 3 acquires; (2 + 2) watches for 2 releases.
	if len(warnings) != 0 || *got.RequestsPerAcquire != 4 || *got.WatchesFiredPerRelease != 2 {
		t.Errorf("got %v and %v, warnings %v; want 4 and 2", got.RequestsPerAcquire, got.WatchesFiredPerRelease, warnings)
	}

	for _, c := range []struct {
		name  string
		spoil func(run *rundir.Run)
		warn  string // "" = silently null
	}{
		{"no snapshots", func(run *rundir.Run) { run.CountersAtEnd = nil }, ""},
		{"not in the history", func(run *rundir.Run) { run.Events = nil }, "does not say when"},
		{"a server is missing", func(run *rundir.Run) {
			run.CountersAtEnd = map[string]map[string]float64{"zk1": counters(107, 12)}
		}, "zk2 did not answer"},
		{"counters reset", func(run *rundir.Run) {
			run.CountersAtEnd = map[string]map[string]float64{"zk1": counters(107, 12), "zk2": counters(5, 0)}
		}, "of zk2 went backwards"},
		{"an ensemble elsewhere", func(run *rundir.Run) {
			run.Scenario = &scenario.Scenario{Connect: "zk1:2181"}
		}, "other clients"},
		{"the counters were read slowly", func(run *rundir.Run) {
			events := run.Events.Events()
			events[0].Value = synth.Ms(30) // from 85 to 115
			run.Events = history.NewLog(events)
		}, "2 acquisitions ended while they were read, and 3 between the two readings"},
		{"restarted", func(run *rundir.Run) {
			run.Events = history.NewLog(append(run.Events.Events(), history.Event{At: synth.Ms(150), Process: "zk2",
				Op: history.OpProcess, Mode: history.Mode(history.ProcessStarted)}))
		}, "zk2 was restarted"},
	} {
		spoilt := run
		c.spoil(&spoilt)
		got, warnings := serverCost(&spoilt)
		if got.RequestsPerAcquire != nil || got.WatchesFiredPerRelease != nil {
			t.Errorf("%s: got numbers", c.name)
		}
		if text := strings.Join(warnings, "\n"); (c.warn == "") != (text == "") || !strings.Contains(text, c.warn) {
			t.Errorf("%s: warnings %q, want %q", c.name, text, c.warn)
		}
	}
}
