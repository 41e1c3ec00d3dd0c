package result

import (
	"slices"
	"testing"

	"locklab/harness/history"
	"locklab/reports/internal/synth"
)

// A failover begins when a fault strikes the process that holds, and ends with the next grant, unless the holder has
// released the lock before that with success.
func TestFailovers(t *testing.T) {
	strike := func(ms float64, hosts ...string) history.Event {
		e := history.FaultStep{Op: history.OpFaultInject, ID: "f", Fault: "kill", Hosts: hosts}.Event(history.OK)
		e.At = synth.Ms(ms)
		return e
	}
	// c1/0 holds from 10, c2/0 from 60.
	held := func(released float64, outcome history.Kind) []history.Acquisition {
		a := grant("c1/0", 0, 1, 10, released)
		a.ReleaseOutcome = outcome
		if released == 0 {
			a.ReleaseInvoked, a.ReleaseReturned = history.None, history.None
		}
		return []history.Acquisition{a, grant("c2/0", 5, 6, 60, 90)}
	}
	read := held(0, history.OK)
	read[0].Mode = history.ModeRead
	for _, c := range []struct {
		name   string
		acq    []history.Acquisition
		faults []history.Event
		want   []int64
	}{
		{"killed", held(0, history.Info), []history.Event{strike(20, "c1")}, []int64{synth.Ms(40)}},
		{"one of two", held(0, history.Info), []history.Event{strike(20, "c3", "c1")}, []int64{synth.Ms(40)}},
		{"stopped, and releases later", held(70, history.Fail), []history.Event{strike(20, "c1")}, []int64{synth.Ms(40)}},
		{"released, but lost by then", held(50, history.Fail), []history.Event{strike(20, "c1")}, []int64{synth.Ms(40)}},
		{"survived, and handed over", held(50, history.OK), []history.Event{strike(20, "c1")}, nil},
		{"another client", held(0, history.Info), []history.Event{strike(20, "c2")}, nil},
		{"no host of that name", held(0, history.Info), []history.Event{strike(20, "c")}, nil},
		{"before the first grant", held(0, history.Info), []history.Event{strike(5, "c1")}, nil},
		{"never again", held(0, history.Info), []history.Event{strike(95, "c2")}, nil},
		{"readers", read, []history.Event{strike(20, "c1")}, nil},
		{"outside the window", held(0, history.Info), []history.Event{strike(-20, "c1")}, nil},
	} {
		got := failoversOf(history.NewLog(c.faults), history.GrantsByLock(c.acq), wholeSecond)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
