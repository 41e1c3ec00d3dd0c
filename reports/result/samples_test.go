package result

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
	"locklab/workloads"
)

func TestHandoffs(t *testing.T) {
	mode := func(m history.Mode, a history.Acquisition) history.Acquisition { a.Mode = m; return a }
	lost := func(a history.Acquisition) history.Acquisition {
		a.ReleaseInvoked, a.ReleaseReturned = history.None, history.None
		return a
	}
	for _, c := range []struct {
		name string
		acq  []history.Acquisition
		want []int64
	}{
		// b was queued at 6, a called release at 20, b's acquire returned at 23.
		{"plain", []history.Acquisition{synth.Grant("a", 0, 1, 10, 20), synth.Grant("b", 5, 6, 23, 30)},
			[]int64{synth.Ms(3)}},
		{"queued in the very instant", []history.Acquisition{synth.Grant("a", 0, 1, 10, 20), synth.Grant("b", 5, 20, 23, 30)},
			[]int64{synth.Ms(3)}},
		// b came at 21 to a lock released at 20: its wait is not a hand-off.
		{"idle between", []history.Acquisition{synth.Grant("a", 0, 1, 10, 20), synth.Grant("b", 20.5, 21, 23, 30)}, nil},
		// a was stopped and calls release at 90, when b and c have had the lock: only b to c (30 → 34) was handed
		// over.
		{"stale release", []history.Acquisition{synth.Grant("a", 0, 1, 10, 90), synth.Grant("b", 5, 6, 23, 30),
			synth.Grant("c", 7, 8, 34, 50), synth.Grant("b", 85, 86, 95, 99)}, []int64{synth.Ms(4)}},
		{"never released", []history.Acquisition{lost(synth.Grant("a", 0, 1, 10, 0)), synth.Grant("b", 5, 6, 23, 30)}, nil},
		// The release, at 1001, is past the window's end.
		{"out of window", []history.Acquisition{synth.Grant("a", 0, 1, 10, 1001), synth.Grant("b", 5, 6, 1003, 1010)}, nil},
		// The writer waits for both readers: from the last release at 25.
		{"readers then writer", []history.Acquisition{mode("read", synth.Grant("a", 0, 1, 10, 20)),
			mode("read", synth.Grant("b", 0, 1, 10, 25)), mode("write", synth.Grant("c", 5, 6, 27, 30))}, []int64{synth.Ms(2)}},
		// The readers wait for the writer, from 20, and not for each other.
		{"writer then readers", []history.Acquisition{mode("write", synth.Grant("a", 0, 1, 10, 20)),
			mode("read", synth.Grant("b", 5, 6, 22, 23)), mode("read", synth.Grant("c", 5, 6, 24,
				30))}, []int64{synth.Ms(2), synth.Ms(4)}},
		// One of two permits is given back at 20, and c gets it; the other at 25.
		{"permits", []history.Acquisition{mode("permit", synth.Grant("a", 0, 1, 10, 20)),
			mode("permit", synth.Grant("b", 0, 1, 10, 25)), mode("permit", synth.Grant("c", 5, 6, 21,
				30))}, []int64{synth.Ms(1)}},
	} {
		var got []int64
		measure.Handoffs(history.GrantsByLock(c.acq), oneSecond, nil, func(took int64) bool {
			got = append(got, took)
			return true
		})
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSamplesCountWhatWasInvokedInTheWindow(t *testing.T) {
	w := measure.Interval{From: synth.Ms(100), Until: synth.Ms(200), End: synth.Ms(400), Measured: true}
	acq := []history.Acquisition{
		synth.Grant("early", 90, 91, 120, 130), // asked for in the warm-up; its release, at 130, counts
		synth.Grant("in", 110, 111, 131, 150),
		synth.Grant("late", 190, 191, 250, 300), // got it in the drain: still counts, its release does not
		synth.Grant("out", 200, 201, 301, 310),
	}
	got := collected(acq, w)
	want := map[string][]int64{
		measure.PhaseAcquire: {synth.Ms(21), synth.Ms(60)},
		measure.PhaseEnqueue: {synth.Ms(1), synth.Ms(1)},
		measure.PhaseWait:    {synth.Ms(20), synth.Ms(59)},
		measure.PhaseHold:    {synth.Ms(19), synth.Ms(50)},
		measure.PhaseRelease: {synth.Ms(1), synth.Ms(1)},
		measure.PhaseHandoff: {synth.Ms(1)}, // early → in; in → late began at 150 but late was queued at 191
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// An acquisition that was due counts from then, and belongs to the window in which it was due.
	acq = []history.Acquisition{late(20, synth.Grant("a", 110, 111, 131, 150)),
		late(5, synth.Grant("b", 160, 161, 171, 180))}
	got = collected(acq, w)
	want = map[string][]int64{
		measure.PhaseAcquire: {synth.Ms(16)}, // due at 155; the other was due at 90
		measure.PhaseArrival: {synth.Ms(5)},
		measure.PhaseService: {synth.Ms(11)},
		measure.PhaseEnqueue: {synth.Ms(1)},
		measure.PhaseWait:    {synth.Ms(10)},
		measure.PhaseHold:    {synth.Ms(9)},
		measure.PhaseRelease: {synth.Ms(1), synth.Ms(1)},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmpopts.IgnoreMapEntries(func(phase string, _ []int64) bool { return phase == measure.PhaseHandoff })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// collected returns the durations of every phase.
func collected(acq []history.Acquisition, w measure.Interval) map[string][]int64 {
	all := map[string][]int64{}
	for phase, took := range measure.Samples(acq, history.GrantsByLock(acq), w, nil) {
		all[phase] = append(all[phase], took)
	}
	return all
}

// late makes an acquisition one that was due before it was invoked.
func late(by float64, a history.Acquisition) history.Acquisition {
	a.Scheduled, a.Late = true, synth.Ms(by)
	return a
}

func TestThroughputOfOpenLoop(t *testing.T) {
	w := measure.Interval{From: synth.Ms(100), Until: synth.Ms(300), End: synth.Ms(400), Measured: true}
	var events []history.Event
	for at, op := range map[float64]history.Op{50: history.OpArrive, 90: history.OpDropped, 100: history.OpArrive,
		180: history.OpDropped, 190: history.OpDropped, 200: history.OpArrive, 300: history.OpArrive} {
		events = append(events, history.Event{At: synth.Ms(at), Op: op})
	}
	acq := []history.Acquisition{
		late(10, synth.Grant("a", 60, 61, 120, 130)),   // waits from 50 to 120
		late(0, synth.Grant("b", 100, 101, 200, 250)),  // from 100 to 200
		late(1, synth.Grant("c", 201, 202, 310, 320)),  // from 200, and at the window's end
		late(0, synth.Grant("d", 300, 301, 350, 360)),  // after the window
		synth.Grant("e", 100, 101, 300, 310),           // not due: somebody's second hold
		late(50, synth.Grant("f", 101, 102, 100, 110)), // ends as b begins
	}
	acq[5].Returned = synth.Ms(100)
	got := throughput(acq, w)
	got.offered(history.NewLog(events), acq, w)
	rate := func(v float64) *float64 { return &v }
	num := func(n int64) *int64 { return &n }
	want := Throughput{AcquiredPerS: rate(15), OfferedPerS: rate(20), Dropped: num(2), DroppedPerS: rate(10),
		BacklogMax: num(2), BacklogEnd: num(1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestThroughput(t *testing.T) {
	w := measure.Interval{From: synth.Ms(100), Until: synth.Ms(200), End: synth.Ms(400), Measured: true}
	acq := []history.Acquisition{synth.Grant("early", 90, 91, 120, 130), synth.Grant("in", 110, 111, 131, 150),
		synth.Grant("late", 190, 191, 250, 300)}
	// Granted within the window: early at 120 and in at 131, over 0.1 s.
	if rate := throughput(acq, w).AcquiredPerS; *rate != 20 {
		t.Errorf("throughput %v, want 20", *rate)
	}
}

func TestOperationsAreCountedOnce(t *testing.T) {
	w := measure.Interval{From: 0, Until: synth.Ms(1000), End: synth.Ms(1500), Measured: true}
	fails := func(at float64, why history.FailReason) history.Acquisition {
		a := synth.Waiting("a", 10, 11)
		a.Returned, a.Outcome, a.Reason = synth.Ms(at), history.Fail, why
		return a
	}
	died := synth.Waiting("a", 10, 11)
	died.Died = synth.Ms(500)
	exited := synth.Waiting("a", 300, 301) // its process ended with the run
	exited.Died = synth.Ms(1400)
	vague := fails(20, history.FailError)
	vague.Outcome = history.Info
	vague.N = 77
	late := vague
	late.N = 78
	got := measure.CountOperations([]history.Acquisition{
		synth.Grant("a", 0, 1, 10, 20), fails(50, history.FailTimedOut), fails(55, history.FailDeadline),
		fails(60, history.FailError),
		fails(65, history.FailCancelled), // before the drain
		fails(70, history.FailBusy), vague, late, died, exited,
		synth.Waiting("a", 700, 701),
		fails(1100, history.FailAborted), fails(1200, history.FailCancelled), // 1190 ms, cut off by the drain
		synth.Grant("a", 1001, 1002, 1003, 1004),
	}, w, []check.Resolution{
		{Client: vague.Client, Lock: vague.Lock, N: 77, Op: history.OpAcquire},
		{Client: vague.Client, Lock: vague.Lock, N: vague.N, Op: history.OpRelease}, // not of an acquire
	})
	longest := synth.Ms(1200) // exited: from 300 to the history's end at 1500
	want := measure.Operations{Acquired: 1, TimedOut: 2, Busy: 1, Failed: 2, Unknown: 2, Resolved: 1, Censored: 4,
		CensoredMaxNs: &longest}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The acquire latencies are of those granted, and the result says how many were not.
func TestGivingUpIsWarnedOf(t *testing.T) {
	gaveUp := func(why history.FailReason) history.Acquisition {
		a := synth.Waiting("a", 1010, 1011)
		a.Returned, a.Outcome, a.Reason = synth.Ms(1050), history.Fail, why
		return a
	}
	late, busy := gaveUp(history.FailTimedOut), gaveUp(history.FailBusy)
	for _, c := range []struct {
		acq  []history.Acquisition
		want string // empty: none
	}{
		{[]history.Acquisition{synth.Grant("a", 1000, 1001, 1010, 1020)}, ""},
		{[]history.Acquisition{gaveUp(history.FailError)}, ""},
		{[]history.Acquisition{late, late, busy}, "given up without the lock: 2 acquisitions timed out and 1 would have " +
			"had to wait; the acquire latencies do not contain them"},
		{[]history.Acquisition{busy}, "given up without the lock: 0 acquisitions timed out and 1 would have had to " +
			"wait; the acquire latencies do not contain them"},
	} {
		s := &synth.Synth{}
		s.Phase(1000, history.PhaseMeasure)
		s.Phase(2000, history.PhaseDrain)
		run := synth.RunOf(s.Sorted(), scenario.Scenario{Load: workloads.Load{Arrivals: workloads.Closed}})
		run.Acquisitions = c.acq
		var got strings.Builder
		for _, w := range NewInput(run, check.Report{}).Result.Warnings {
			if strings.Contains(w, "given up") {
				got.WriteString(w)
			}
		}
		if got.String() != c.want {
			t.Errorf("warned of %q, want %q", got.String(), c.want)
		}
	}
}
