package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"locklab/harness"
	"locklab/harness/bench"
	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/reports"
)

// A benchmark without a second side ends as the worst of its samples. Of a warm-up, a violation counts.
func TestBenchEndsAsItsSamples(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, bench.Base), 0o755); err != nil {
		t.Fatal(err)
	}
	sample := func(out harness.Outcome) bench.Event { return bench.Event{Side: bench.Base, Outcome: out} }
	warmUp := func(out harness.Outcome) bench.Event {
		return bench.Event{Side: bench.Base, Outcome: out, WarmUp: true}
	}
	pass, unknown, violation := outcome(check.Pass, false), outcome(check.Unknown, false), outcome(check.Fail, false)
	for _, c := range []struct {
		name   string
		events []bench.Event
		err    error
		want   int
	}{
		{"all pass", []bench.Event{sample(pass), sample(pass)}, nil, exitOK},
		{"a threshold is missed", []bench.Event{sample(pass), sample(missed(false))}, nil, exitThreshold},
		{"something is unknown", []bench.Event{sample(missed(false)), sample(unknown), sample(pass)}, nil, exitUnknown},
		{"the warm-up's numbers do not count", []bench.Event{warmUp(missed(false)), warmUp(unknown), sample(pass)}, nil, exitOK},
		{"a violation", []bench.Event{sample(missed(false)), sample(violation), sample(unknown)}, nil, exitViolation},
		{"a violation in the warm-up", []bench.Event{warmUp(violation), sample(pass)}, nil, exitViolation},
		{"interrupted", []bench.Event{sample(missed(false))}, harness.ErrInterrupted, exitInterrupted},
		{"broken", []bench.Event{sample(missed(false))}, errors.New("no luck"), exitHarness},
	} {
		var seen tally
		for _, e := range c.events {
			seen.add(e)
		}
		code := exitOK
		if err := new(benchCmd).conclude(streams{Out: io.Discard, Err: io.Discard}, bench.Plan{Base: &scenario.Scenario{}, Count: len(c.events)}, dir, seen, c.err); err != nil {
			code, _ = codeOf(err)
		}
		if code != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.want)
		}
	}
}

// Of two sides the head's samples count besides the comparison, and the graver of both is the end: 3, 130, 6, 5, 4.
func TestBenchOfTwoSidesEndsAsTheGraver(t *testing.T) {
	missed, unknown, pass, violation := missed(false), outcome(check.Unknown, false), outcome(check.Pass, false), outcome(check.Fail, false)
	unknown.Report.Verdict = check.Pass // it is a threshold that nobody can judge, which compare does not go by
	for _, c := range []struct {
		name string
		head func(*reports.Result) // how the head was
		seen []harness.Outcome
		err  error
		want int
	}{
		{"all pass", nil, []harness.Outcome{pass, pass}, nil, exitOK},
		{"a threshold is missed", nil, []harness.Outcome{pass, missed}, nil, exitThreshold},
		{"and it is faster", slower(0.4), []harness.Outcome{missed, missed}, nil, exitThreshold},
		{"and it is slower", slower(2.5), []harness.Outcome{missed, missed}, nil, exitRegression},
		{"slower, and no threshold is missed", slower(2.5), []harness.Outcome{pass}, nil, exitRegression},
		{"a threshold is unknown", nil, []harness.Outcome{unknown, missed}, nil, exitUnknown},
		{"and it is slower besides", slower(2.5), []harness.Outcome{unknown, missed}, nil, exitUnknown},
		{"inconclusive, and a threshold is missed", func(r *reports.Result) { r.Partial = true }, []harness.Outcome{missed}, nil, exitUnknown},
		{"a violation", nil, []harness.Outcome{missed, violation}, nil, exitViolation},
		{"interrupted", nil, []harness.Outcome{missed}, harness.ErrInterrupted, exitInterrupted},
		{"refused", func(r *reports.Result) { r.SchemaVersion = 9 }, []harness.Outcome{missed}, nil, exitInput},
	} {
		dir := t.TempDir()
		realRuns(t, dir, bench.Base, samplePairs, nil)
		realRuns(t, dir, bench.Head, samplePairs, c.head)
		var seen tally
		for _, out := range c.seen {
			seen.add(bench.Event{Side: bench.Head, Outcome: out})
		}
		cmd := benchCmd{comparison: comparison{Format: "text"}}
		code := exitOK
		if err := cmd.conclude(streams{Out: io.Discard, Err: io.Discard}, bench.Plan{Base: &scenario.Scenario{}, Head: &scenario.Scenario{}, Count: samplePairs}, dir, seen, c.err); err != nil {
			code, _ = codeOf(err)
		}
		if code != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.want)
		}
	}
}
