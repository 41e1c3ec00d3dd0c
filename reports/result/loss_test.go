package result

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/reports/measure"
)

// What was late, failed, dropped or never ended is lost, in the second in which it was due. What was due before the
// window is not counted.
func TestLoss(t *testing.T) {
	at := func(d time.Duration) int64 { return int64(d) }
	took := func(due, wait time.Duration, outcome history.Kind) history.Acquisition {
		a := history.Acquisition{Claimant: &history.Claimant{}, Trouble: &history.Trouble{}, Late: at(time.Millisecond),
			Invoked: at(due + time.Millisecond), Returned: at(due + wait), Outcome: outcome, Scheduled: true}
		if outcome == history.Info {
			a.Returned = history.None
		}
		return a
	}
	acq := []history.Acquisition{
		took(500*time.Millisecond, time.Minute, history.OK), // before the window
		took(time.Second, 19*time.Millisecond, history.OK),
		took(1500*time.Millisecond, 20*time.Millisecond, history.OK), // late, counted from when it was due
		took(2*time.Second, time.Millisecond, history.Fail),
		took(2100*time.Millisecond, 0, history.Info), // never ended
		took(2200*time.Millisecond, time.Millisecond, history.OK),
	}
	dropped := history.Dropped(at(3200 * time.Millisecond))
	events := history.NewLog([]history.Event{dropped})
	w := measure.Interval{From: at(time.Second), Until: at(3500 * time.Millisecond), Measured: true}
	limit := func(text string) scenario.Threshold {
		l, err := scenario.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	got, ok := lossOf(limit("acquire.p99 < 20ms"), events, acq, w)
	want := Loss{Expr: "acquire.p99 < 20ms", Goal: 0.01, Due: []int64{2, 3, 1}, Lost: []int64{1, 2, 1}}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if ratio, due := got.Ratio(1, 9); ratio != 0.75 || due != 4 {
		t.Errorf("from the second second on %v of %d were lost", ratio, due)
	}
	if got, _ := lossOf(limit("acquire.p50 <= 20ms"), events, acq, w); got.Goal != 0.5 || got.Lost[0] != 0 {
		t.Errorf("at most 20 ms: %+v", got)
	}
	for _, other := range []string{"acquire.mean < 20ms", "acquire_read.p99 < 20ms", "acquire.p99 > 20ms",
		"dropped == 0"} {
		if l, ok := lossOf(limit(other), events, acq, w); ok {
			t.Errorf("%s has a loss: %+v", other, l)
		}
	}
}
