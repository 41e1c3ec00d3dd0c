package result

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
)

// failedWith is an acquisition that the lock failed with a text at a time in ms.
func failedWith(at float64, why history.FailReason, text string) history.Acquisition {
	a := synth.Waiting("a", at, at)
	a.Returned, a.Outcome, a.Reason, a.Error = synth.Ms(at+1), history.Fail, why, text
	return a
}

// Failures are told by the first three reasons that differ in more than numbers. What the workload gave up is none.
func TestFailuresAreToldByReason(t *testing.T) {
	w := measure.Interval{From: 0, Until: synth.Ms(1000), End: synth.Ms(1500), Measured: true}
	error1 := func(text string) history.Acquisition { return failedWith(10, history.FailError, text) }
	acq := []history.Acquisition{
		synth.Grant("a", 0, 1, 10, 20),
		failedWith(5, history.FailTimedOut, "timed out"), failedWith(5, history.FailBusy, "busy"),
		failedWith(5, history.FailCancelled, "cancelled"), failedWith(1200, history.FailAborted, "the run is over"),
		error1("no node lock-0000000007 of session 0x1a"), error1(""), error1("no node lock-0000000031 of session 0x2b"),
		failedWith(20, history.FailDeadline, "a time limit of 5 s"), error1("one reason more"), error1("and another"),
		error1(""),
	}
	got := measure.CountFailures(acq, w)
	want := measure.Failures{Count: 7, Reasons: []measure.FailureReason{{Text: "no node lock-0000000007 of session 0x1a",
		Count: 2},
		{Text: "no reason given", Count: 2}, {Text: "a time limit of 5 s", Count: 1}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	lines := []string{"2 × no node lock-0000000007 of session 0x1a", "2 × no reason given", "1 × a time limit of 5 s",
		"2 for other reasons"}
	if diff := cmp.Diff(lines, got.Lines()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	long := measure.CountFailures([]history.Acquisition{error1(strings.Repeat("ü", 70_000))}, w)
	if text := long.Reasons[0].Text; len([]rune(text)) > 201 {
		t.Errorf("a reason of %d characters", len([]rune(text)))
	}
	if f := measure.CountFailures(acq[:1], w); f.Count != 0 || f.Reasons == nil {
		t.Errorf("without failures: %+v", f)
	}
}

// A run whose acquisitions all failed, or most of them, says so before anything else.
func TestHeadlineBeginsWithFailures(t *testing.T) {
	events := func(failed, granted int) []history.Event {
		var all []history.Event
		add := func(ms float64, kind history.Kind, op history.Op, n int, text string) {
			all = append(all, history.Event{At: synth.Ms(ms), Process: "c1", Client: "c1/0", Acq: int64(n), Lock: "l1",
				Op: op, Kind: kind, Detail: text})
		}
		for n := 1; n <= failed+granted; n++ {
			at := float64(10 * n)
			add(at, history.Invoke, history.OpAcquire, n, "")
			if n <= failed {
				add(at+1, history.Fail, history.OpAcquire, n, fmt.Sprintf("zk: node does not exist (%d)", n))
				continue
			}
			add(at+1, history.OK, history.OpAcquire, n, "")
			add(at+2, history.Invoke, history.OpRelease, n, "")
			add(at+3, history.OK, history.OpRelease, n, "")
		}
		return all
	}
	any, _ := synth.Act2Run(false)
	for _, c := range []struct {
		failed, granted int
		want            string // what the headline begins with
		not             string
	}{
		{2381, 0, "All 2,381 acquisitions failed, the first: zk: node does not exist (1). ", "No acquisitions"},
		{1, 0, "The only acquisition failed: zk: node does not exist (1). ", "No acquisitions"},
		{20, 3, "20 of 23 acquisitions failed, the first: zk: node does not exist (1). ", "No client"},
		{3, 20, "", "failed"},
	} {
		run := synth.RunOf(events(c.failed, c.granted), *any.Scenario)
		r := NewInput(run, check.Run(run.Events, evidence.Facts{})).Result
		if !strings.HasPrefix(r.Headline, c.want) || strings.Contains(r.Headline, c.not) {
			t.Errorf("%d failed, %d granted: %s", c.failed, c.granted, r.Headline)
		}
		if r.Failures.Count != int64(c.failed) || len(r.Failures.Reasons) != 1 {
			t.Errorf("failures %+v", r.Failures)
		}
	}
}
