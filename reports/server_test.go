package reports

import (
	"strings"
	"testing"

	"locklab/harness/history"
)

func TestServerCost(t *testing.T) {
	s := &synth{}
	s.add(100, history.Event{Op: history.OpSnapshot, Detail: "start"})
	s.add(200, history.Event{Op: history.OpSnapshot, Detail: "end"})
	acq := []history.Acquisition{
		grant("a", 10, 11, 90, 95), // before the first snapshot
		grant("b", 20, 21, 110, 120),
		grant("c", 30, 31, 130, 140),
		grant("d", 40, 41, 150, 250), // granted between the snapshots, released after
	}
	counters := func(packets, watches float64) map[string]float64 {
		return map[string]float64{counterPackets: packets, counterDeletedWatches: watches, counterUptime: packets}
	}
	meta := Meta{
		ServerStart: map[string]map[string]float64{"zk1": counters(100, 10), "zk2": counters(50, 0)},
		ServerEnd:   map[string]map[string]float64{"zk1": counters(107, 12), "zk2": counters(55, 2)},
	}
	got, warnings := serverCost(s.sorted(), acq, meta)
	// (7 + 5) packets for 3 acquires; (2 + 2) watches for 2 releases.
	if len(warnings) != 0 || *got.RequestsPerAcquire != 4 || *got.WatchesFiredPerRelease != 2 {
		t.Errorf("got %v and %v, warnings %v; want 4 and 2", got.RequestsPerAcquire, got.WatchesFiredPerRelease, warnings)
	}

	for _, c := range []struct {
		name  string
		spoil func(m *Meta, events *[]history.Event)
		warn  string // "" = silently null
	}{
		{"no snapshots", func(m *Meta, _ *[]history.Event) { m.ServerEnd = nil }, ""},
		{"not in the history", func(_ *Meta, e *[]history.Event) { *e = nil }, "does not say when"},
		{"a server is missing", func(m *Meta, _ *[]history.Event) {
			m.ServerEnd = map[string]map[string]float64{"zk1": counters(107, 12)}
		}, "zk2 did not answer"},
		{"counters reset", func(m *Meta, _ *[]history.Event) {
			m.ServerEnd = map[string]map[string]float64{"zk1": counters(107, 12), "zk2": counters(5, 0)}
		}, "of zk2 went backwards"},
		{"restarted", func(_ *Meta, e *[]history.Event) {
			*e = append(*e, history.Event{At: ms(150), Process: "zk2", Op: history.OpProcess, Mode: history.ProcessStarted})
		}, "zk2 was restarted"},
	} {
		m, events := meta, append([]history.Event(nil), s.events...)
		c.spoil(&m, &events)
		got, warnings := serverCost(events, acq, m)
		if got.RequestsPerAcquire != nil || got.WatchesFiredPerRelease != nil {
			t.Errorf("%s: got numbers", c.name)
		}
		if text := strings.Join(warnings, "\n"); (c.warn == "") != (text == "") || !strings.Contains(text, c.warn) {
			t.Errorf("%s: warnings %q, want %q", c.name, text, c.warn)
		}
	}
}
