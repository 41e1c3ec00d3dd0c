package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness/console"
	"locklab/harness/hiccups"
	"locklab/harness/history"
	"locklab/reports/result"
)

const milli = int64(time.Millisecond)

// recordRun writes a run directory whose numbers are known exactly: two clients take turns, and each waits 10 ms in the
// queue and holds for 10 ms, in a measured window of two seconds. It needs no lab.
func recordRun(t *testing.T, thresholds, how string, grants int) string {
	t.Helper()
	dir := t.TempDir()
	src := "name: recorded\nclients: 2\nclient-processes: 1\nmin-acquired: 0\n" +
		"expect: {effect: any, fairness: any, liveness: any}\n" + thresholds
	if err := os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	clock := history.NewClock()
	rec, err := history.NewRecorder(filepath.Join(dir, "hosts", "harness"), "harness", clock)
	if err != nil {
		t.Fatal(err)
	}
	const base = int64(1e9)
	add := func(at int64, e history.Event) {
		e.At = base + at
		if err := rec.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	add(0, history.Event{Op: history.OpBegin, Value: base})
	add(1, history.Event{Op: history.OpPhase, Detail: string(history.PhaseConnect)})
	for _, c := range []string{"c1/0", "c1/1"} {
		add(2, history.Event{Op: history.OpConnected, Process: "c1", Client: c, Session: 7, Value: int64(2 * time.Second)})
	}
	add(3, history.Event{Op: history.OpPhase, Detail: string(history.PhaseMeasure)})
	for i := range grants {
		e := history.Event{Process: "c1", Client: fmt.Sprintf("c1/%d", i%2), Acq: int64(1 + i/2), Lock: "/lock"}
		granted := e
		granted.Token, granted.Session = int64(100+i), 7
		at := func(ns int64, e history.Event, op history.Op, kind history.Kind) {
			e.Op, e.Kind = op, kind
			add(10*milli*int64(i+1)+ns, e)
		}
		at(-10*milli+4, e, history.OpAcquire, history.Invoke)
		at(-9*milli, e, history.OpQueued, history.Info)
		at(4, granted, history.OpAcquire, history.OK)
		at(9*milli, granted, history.OpRelease, history.Invoke)
		at(10*milli, granted, history.OpRelease, history.OK)
	}
	sleeps := hiccups.New()
	if err := sleeps.RecordValues(int64(100*time.Microsecond), 200); err != nil {
		t.Fatal(err)
	}
	text, err := hiccups.Encode(sleeps)
	if err != nil {
		t.Fatal(err)
	}
	add(2000*milli-1, history.Event{Op: history.OpHiccups, Process: "c1", Value: sleeps.TotalCount(), Detail: text})
	add(2000*milli, history.Event{Op: history.OpPhase, Detail: string(history.PhaseDrain)})
	add(2050*milli, history.Event{Op: history.OpEnd, Detail: how})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Thresholds decide the exit code of a run whose checks pass. They are explained on stderr and recorded in result.json.
// A threshold that cannot be judged is never met.
func TestThresholdsOfARecordedRun(t *testing.T) {
	for _, c := range []struct {
		name, thresholds, how string
		grants                int
		code                  int
		verdicts              string // of the thresholds
		says                  string // on stderr
	}{
		{"none", "", string(history.EndComplete), 190, exitOK, "", ""},
		{"met", "acquire.p50 < 11ms, acquired_per_s > 90, overlaps == 0", string(history.EndComplete), 190, exitOK,
			"pass pass pass", "thresholds: 3 met, 0 missed, 0 unknown\n"},
		{"missed", "acquire.p50 < 9ms, overlaps == 0", string(history.EndComplete), 190, exitThreshold, "fail pass",
			"threshold missed: acquire.p50 < 9ms: it came to 10 ms\nthresholds: 1 met, 1 missed, 0 unknown\n"},
		{"too few for it", "acquire.p999 < 1h", string(history.EndComplete), 190, exitUnknown, "unknown",
			"threshold unknown: acquire.p999 < 1h: too few samples for it: 190\n"},
		{"missed and unknown", "acquire.p999 < 1h, acquire.p50 < 9ms", string(history.EndComplete), 190, exitUnknown,
			"unknown fail", "1 missed, 1 unknown\n"},
		{"never measured", "server.requests_per_acquire < 100", string(history.EndComplete), 190, exitUnknown,
			"unknown", "it was not measured"},
		{"of a number that is gone", "acquire.p98 < 1h", string(history.EndComplete), 190, exitUnknown, "unknown",
			"there is no such number in result.json"},
		{"nothing acquired", "overlaps == 0, operations.failed == 0", string(history.EndComplete), 0, exitUnknown,
			"unknown unknown", "nothing was acquired in the measured window"},
		{"interrupted", "acquire.p50 < 9ms", string(history.EndInterrupt), 190, exitInterrupted, "unknown",
			"the run broke off before its end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := recordRun(t, "thresholds: ["+c.thresholds+"]\n", c.how, c.grants)
			for _, args := range [][]string{{"check", dir}, {"check", "--json", dir}} {
				var out, errs bytes.Buffer
				code := execute(t.Context(), args, console.Streams{Out: &out, Err: &errs})
				if code != c.code || !strings.Contains(errs.String(), c.says) || c.says == "" && errs.Len() > 0 {
					t.Fatalf("%v: exit code %d, want %d; stderr %q, want %q in it\n%s", args, code, c.code, errs.String(), c.says,
						out.String())
				}
				b, err := os.ReadFile(filepath.Join(dir, "result.json"))
				if err != nil {
					t.Fatal(err)
				}
				if args[1] == "--json" && out.String() != string(b) {
					t.Errorf("stdout is not result.json")
				}
				var r result.Result
				if err := json.Unmarshal(b, &r); err != nil {
					t.Fatal(err)
				}
				var verdicts []string
				for _, th := range r.Thresholds {
					verdicts = append(verdicts, string(th.Verdict))
					if args[1] != "--json" && !strings.Contains(out.String(), th.Expr) {
						t.Errorf("the summary does not show %s:\n%s", th.Expr, out.String())
					}
				}
				if got := strings.Join(verdicts, " "); got != c.verdicts {
					t.Errorf("%s, want %s", got, c.verdicts)
				}
			}
		})
	}
}
