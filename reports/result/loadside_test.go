package result

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"locklab/harness/check/effect"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
)

// A run is void if the load side was its limit, and says how.
func TestVoid(t *testing.T) {
	const ms = int64(time.Millisecond)
	quantity := func(q Quantity, v float64) func(*Result) {
		return func(r *Result) { r.Quantities[q.key()] = &v }
	}
	late := func(by int64) func(*Result) {
		return func(r *Result) { r.Latency.Arrival = &measure.Latency{P99Ns: &by} }
	}
	for _, c := range []struct {
		name   string
		change func(*Result)
		want   string // "" is not void
	}{
		{"nothing wrong", func(*Result) {}, ""},
		{"arrivals a bit late", late(10 * ms), ""},
		{"arrivals late", late(11 * ms), "arrivals came late by 11 ms (p99), more than a tenth of 100 ms"},
		{"arrivals late, and no bound", func(r *Result) { late(11 * ms)(r); r.Thresholds = r.Thresholds[:1] }, ""},
		{"arrivals late where servers used up the processors", func(r *Result) {
			late(11 * ms)(r)
			quantity(loadProcessors, 0.4)(r)
			quantity(serverProcessors, 1.5)(r)
		}, ""},
		{"arrivals late where the load used up the processors", func(r *Result) {
			late(11 * ms)(r)
			quantity(loadProcessors, 1.1)(r)
			quantity(serverProcessors, 0.8)(r)
		}, "arrivals came late by 11 ms (p99), more than a tenth of 100 ms"},
		{"arrivals late on a machine that is half idle", func(r *Result) {
			late(11 * ms)(r)
			quantity(serverProcessors, 1)(r)
		}, "arrivals came late by 11 ms (p99), more than a tenth of 100 ms"},
		{"others a bit", quantity(otherProcessors, 0.2), ""},
		{"others", quantity(otherProcessors, 0.21), "other processes used 0.21 of 2 processors"},
		{"a client that died", quantity(clientDeaths, 1), "one client process ended by itself"},
		{"a client that stood still", quantity(standstillExpiries, 3),
			"3 sessions expired while the client process stood still"},
		{"faults", func(r *Result) { late(11 * ms)(r); r.Faults = []effect.FaultRecord{{}} }, ""},
	} {
		r := &Result{Quantities: map[string]*float64{}, Thresholds: []ThresholdLine{{Expr: "dropped == 0"},
			{Expr: "acquire.p99 < 100ms"}, {Expr: "acquire.max < 1s"}, {Expr: "hold.p50 > 1ms"}}}
		quantity(processors, 2)(r)
		if c.change(r); r.Void() != c.want {
			t.Errorf("%s: %q, want %q", c.name, r.Void(), c.want)
		}
	}
}

// A client process died if it ended before the harness began to end all of them, and lost a session by itself if it
// stood still for two thirds of the session timeout.
func TestHarmOfTheLoadSide(t *testing.T) {
	s := &synth.Synth{}
	add := func(at float64, process string, e history.Event) {
		e.Process = process
		s.Add(at, e)
	}
	exited := history.ProcessChange{State: history.ProcessExited}.Event()
	add(100, "c1", exited)
	add(100, "r1", exited)
	add(200, "c1", history.HiccupOf(0, 1400*time.Millisecond))
	add(210, "c1", history.SessionChange{Op: history.OpExpired, Client: "c1/0"}.Event())
	add(300, "c2", history.HiccupOf(0, 700*time.Millisecond)) // too short for that
	add(310, "c2", history.SessionChange{Op: history.OpExpired, Client: "c2/0"}.Event())
	s.Phase(900, history.PhaseCollect)
	add(950, "c2", exited)
	sc := scenario.Defaults()
	sc.ClientProcesses, sc.SessionTimeout = 2, 2*time.Second
	run := &rundir.Run{Scenario: sc, Events: history.NewLog(s.Sorted())}
	for q, want := range map[*Quantity]float64{&clientDeaths: 1, &standstillExpiries: 1} {
		if got := q.Measure(run, oneSecond); got == nil || *got != want {
			t.Errorf("%s is %v, want %g", q.Path, got, want)
		}
	}
}

// A void run says so before its numbers.
func TestVoidLeads(t *testing.T) {
	run, facts := synth.BusyRun(4, 1, false)
	run.Scenario.Arrivals, run.Scenario.Rate.Rates = "poisson", []float64{10}
	run.Events = history.NewLog(append(run.Events.Events(), history.Event{At: synth.Ms(500), Process: "c1",
		Op: history.OpProcess, Mode: history.Mode(history.ProcessExited)}))
	run.Scenario.ClientProcesses = 1
	r := summarized(run, facts)
	const want = "the load side was the limit: one client process ended"
	if all := strings.Join(r.Caveats, "; "); !strings.Contains(all, want) {
		t.Errorf("%q", r.Caveats)
	}
}

// Errors cannot raise a throughput: a history in which some acquisitions failed, timed out or were left open, or in
// which the errors came on top, has no higher one than the history without errors.
func TestErrorsRaiseNoThroughput(t *testing.T) {
	w := measure.Interval{From: 0, Until: synth.Ms(1000), End: synth.Ms(1000), Measured: true}
	rapid.Check(t, func(t *rapid.T) {
		var good []history.Acquisition
		for i := range rapid.IntRange(0, 40).Draw(t, "acquisitions") {
			at := rapid.Float64Range(-100, 1100).Draw(t, "granted")
			good = append(good, synth.Grant(fmt.Sprintf("c1/%d", i%4), at-20, at-10, at, at+5))
		}
		bad := slices.Clone(good)
		for i := range bad {
			if rapid.Bool().Draw(t, "fails") {
				spoil(t, &bad[i])
			}
		}
		for range rapid.IntRange(0, 40).Draw(t, "more errors") {
			at := rapid.Float64Range(0, 1000).Draw(t, "failed")
			a := synth.Grant("c1/9", at-1, at-1, at, at)
			spoil(t, &a)
			bad = append(bad, a)
		}
		without, with := throughput(good, w).AcquiredPerS, throughput(bad, w).AcquiredPerS
		if *with > *without {
			t.Fatalf("%v a second with errors, %v without", *with, *without)
		}
	})
}

// spoil makes an acquisition one that ended with an error, or did not end.
func spoil(t *rapid.T, a *history.Acquisition) {
	a.Outcome = rapid.SampledFrom([]history.Kind{history.Fail, history.Info}).Draw(t, "outcome")
	if rapid.Bool().Draw(t, "open") {
		a.Returned, a.Outcome = history.None, history.Info
	}
	a.ReleaseInvoked, a.ReleaseReturned = history.None, history.None
}
