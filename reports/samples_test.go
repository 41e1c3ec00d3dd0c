package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"locklab/harness/check"
	"locklab/harness/history"
)

func TestHandoffs(t *testing.T) {
	mode := func(m string, a history.Acquisition) history.Acquisition { a.Mode = m; return a }
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
		{"plain", []history.Acquisition{grant("a", 0, 1, 10, 20), grant("b", 5, 6, 23, 30)}, []int64{ms(3)}},
		{"queued in the very instant", []history.Acquisition{grant("a", 0, 1, 10, 20), grant("b", 5, 20, 23, 30)}, []int64{ms(3)}},
		// b came at 21 to a lock released at 20: its wait is not a hand-off.
		{"idle between", []history.Acquisition{grant("a", 0, 1, 10, 20), grant("b", 20.5, 21, 23, 30)}, nil},
		// a was stopped and calls release at 90, when b and c have had the lock:
		// only b to c (30 → 34) was handed over.
		{"stale release", []history.Acquisition{grant("a", 0, 1, 10, 90), grant("b", 5, 6, 23, 30), grant("c", 7, 8, 34, 50), grant("b", 85, 86, 95, 99)}, []int64{ms(4)}},
		{"never released", []history.Acquisition{lost(grant("a", 0, 1, 10, 0)), grant("b", 5, 6, 23, 30)}, nil},
		// The release, at 1001, is past the window's end.
		{"out of window", []history.Acquisition{grant("a", 0, 1, 10, 1001), grant("b", 5, 6, 1003, 1010)}, nil},
		// The writer waits for both readers: from the last release at 25.
		{"readers then writer", []history.Acquisition{mode("read", grant("a", 0, 1, 10, 20)), mode("read", grant("b", 0, 1, 10, 25)), mode("write", grant("c", 5, 6, 27, 30))}, []int64{ms(2)}},
		// The readers wait for the writer, from 20, and not for each other.
		{"writer then readers", []history.Acquisition{mode("write", grant("a", 0, 1, 10, 20)), mode("read", grant("b", 5, 6, 22, 23)), mode("read", grant("c", 5, 6, 24, 30))}, []int64{ms(2), ms(4)}},
		// One of two permits is given back at 20, and c gets it; the other at 25.
		{"permits", []history.Acquisition{mode("permit", grant("a", 0, 1, 10, 20)), mode("permit", grant("b", 0, 1, 10, 25)), mode("permit", grant("c", 5, 6, 21, 30))}, []int64{ms(1)}},
	} {
		if diff := cmp.Diff(c.want, handoffs(c.acq, wholeSecond)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSamplesCountWhatWasInvokedInTheWindow(t *testing.T) {
	w := window{From: ms(100), To: ms(200), End: ms(400), Measured: true}
	acq := []history.Acquisition{
		grant("early", 90, 91, 120, 130), // asked for in the warm-up; its release, at 130, counts
		grant("in", 110, 111, 131, 150),
		grant("late", 190, 191, 250, 300), // got it in the drain: still counts, its release does not
		grant("out", 200, 201, 301, 310),
	}
	got := samples(acq, w)
	want := map[string][]int64{
		PhaseAcquire: {ms(21), ms(60)},
		PhaseEnqueue: {ms(1), ms(1)},
		PhaseWait:    {ms(20), ms(59)},
		PhaseHold:    {ms(19), ms(50)},
		PhaseRelease: {ms(1), ms(1)},
		PhaseHandoff: {ms(1)}, // early → in; in → late began at 150 but late was queued at 191
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// What was due counts from then, and belongs to the window in which it was due.
	acq = []history.Acquisition{late(20, grant("a", 110, 111, 131, 150)), late(5, grant("b", 160, 161, 171, 180))}
	got = samples(acq, w)
	want = map[string][]int64{
		PhaseAcquire: {ms(16)}, // due at 155; the other was due at 90
		PhaseArrival: {ms(5)},
		PhaseService: {ms(11)},
		PhaseEnqueue: {ms(1)},
		PhaseWait:    {ms(10)},
		PhaseHold:    {ms(9)},
		PhaseRelease: {ms(1), ms(1)},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreMapEntries(func(phase string, _ []int64) bool { return phase == PhaseHandoff })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// late makes an acquisition one that was due before it was invoked.
func late(by float64, a history.Acquisition) history.Acquisition {
	a.Scheduled, a.Late = true, ms(by)
	return a
}

func TestThroughputOfOpenLoop(t *testing.T) {
	w := window{From: ms(100), To: ms(300), End: ms(400), Measured: true}
	var events []history.Event
	for at, op := range map[float64]string{50: history.OpArrive, 90: history.OpDropped, 100: history.OpArrive, 180: history.OpDropped, 190: history.OpDropped, 200: history.OpArrive, 300: history.OpArrive} {
		events = append(events, history.Event{At: ms(at), Op: op})
	}
	acq := []history.Acquisition{
		late(10, grant("a", 60, 61, 120, 130)),   // waits from 50 to 120
		late(0, grant("b", 100, 101, 200, 250)),  // from 100 to 200
		late(1, grant("c", 201, 202, 310, 320)),  // from 200, and at the window's end
		late(0, grant("d", 300, 301, 350, 360)),  // after the window
		grant("e", 100, 101, 300, 310),           // not due: somebody's second hold
		late(50, grant("f", 101, 102, 100, 110)), // ends as b begins
	}
	acq[5].Returned = ms(100)
	got := throughput(acq, w)
	got.offered(events, acq, w)
	rate := func(v float64) *float64 { return &v }
	num := func(n int64) *int64 { return &n }
	want := Throughput{AcquiredPerS: rate(15), OfferedPerS: rate(20), Dropped: num(2), DroppedPerS: rate(10), BacklogMax: num(2), BacklogEnd: num(1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestThroughput(t *testing.T) {
	w := window{From: ms(100), To: ms(200), End: ms(400), Measured: true}
	acq := []history.Acquisition{grant("early", 90, 91, 120, 130), grant("in", 110, 111, 131, 150), grant("late", 190, 191, 250, 300)}
	// Granted within the window: early at 120 and in at 131, over 0.1 s.
	if rate := throughput(acq, w).AcquiredPerS; *rate != 20 {
		t.Errorf("throughput %v, want 20", *rate)
	}
}

func TestOperationsAreCountedOnce(t *testing.T) {
	w := window{From: 0, To: ms(1000), End: ms(1500), Measured: true}
	fails := func(at float64, why string) history.Acquisition {
		a := waiting("a", 10, 11)
		a.Returned, a.Outcome, a.Error = ms(at), history.Fail, why
		return a
	}
	died := waiting("a", 10, 11)
	died.Died = ms(500)
	exited := waiting("a", 300, 301) // its process ended with the run
	exited.Died = ms(1400)
	vague := fails(20, "connection lost")
	vague.Outcome = history.Info
	vague.N = 77
	late := vague
	late.N = 78
	got := countOperations([]history.Acquisition{
		grant("a", 0, 1, 10, 20), fails(50, "context deadline exceeded"), fails(60, "no node"), fails(70, history.Busy), vague, late, died, exited,
		waiting("a", 700, 701),
		fails(1200, "context canceled"), // 1190 ms, cut off by the drain
		grant("a", 1001, 1002, 1003, 1004),
	}, w, []check.Resolution{
		{Client: vague.Client, Lock: vague.Lock, N: 77, Op: history.OpAcquire},
		{Client: vague.Client, Lock: vague.Lock, N: vague.N, Op: history.OpRelease}, // not of an acquire
	})
	longest := ms(1200) // exited: from 300 to the history's end at 1500
	want := Operations{Acquired: 1, TimedOut: 1, Busy: 1, Failed: 1, Unknown: 2, Resolved: 1, Censored: 3, CensoredMaxNs: &longest}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The acquire latencies are of those granted, and the result says how many were not.
func TestWhoGaveUpIsWarnedOf(t *testing.T) {
	gaveUp := func(why string) history.Acquisition {
		a := waiting("a", 1010, 1011)
		a.Returned, a.Outcome, a.Error = ms(1050), history.Fail, why
		return a
	}
	late, busy := gaveUp("context deadline exceeded"), gaveUp(history.Busy)
	for _, c := range []struct {
		acq  []history.Acquisition
		want string // empty: none
	}{
		{[]history.Acquisition{grant("a", 1000, 1001, 1010, 1020)}, ""},
		{[]history.Acquisition{gaveUp("no node")}, ""},
		{[]history.Acquisition{late, late, busy}, "given up without the lock: 2 acquisitions timed out and 1 would have had to wait; the acquire latencies do not contain them"},
		{[]history.Acquisition{busy}, "given up without the lock: 0 acquisitions timed out and 1 would have had to wait; the acquire latencies do not contain them"},
	} {
		var r Result
		r.measure(nil, c.acq, window{From: ms(1000), To: ms(2000), End: ms(2000), Measured: true}, Meta{ClosedLoop: true}, nil)
		var got strings.Builder
		for _, w := range r.Warnings {
			if strings.Contains(w, "given up") {
				got.WriteString(w)
			}
		}
		if got.String() != c.want {
			t.Errorf("warned of %q, want %q", got.String(), c.want)
		}
	}
}
