package reports

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
		PhaseHold:    {ms(19), ms(50)},
		PhaseRelease: {ms(1), ms(1)},
		PhaseHandoff: {ms(1)}, // early → in; in → late began at 150 but late was queued at 191
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
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
	got := countOperations([]history.Acquisition{
		grant("a", 0, 1, 10, 20), fails(50, "context deadline exceeded"), fails(60, "no node"), vague, died, exited,
		waiting("a", 700, 701),
		fails(1200, "context canceled"), // 1190 ms, cut off by the drain
		grant("a", 1001, 1002, 1003, 1004),
	}, w)
	longest := ms(1200) // exited: from 300 to the history's end at 1500
	want := Operations{Acquired: 1, TimedOut: 1, Failed: 1, Unknown: 2, Censored: 3, CensoredMaxNs: &longest}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
