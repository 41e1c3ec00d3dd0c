package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/console"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/harness/series/bench"
	"locklab/reports/result"
)

// A benchmark without a second side ends like its worst sample. A warm-up counts only if it has a violation.
func TestBenchEndsAsItsSamples(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, bench.Base), 0o755); err != nil {
		t.Fatal(err)
	}
	sample := func(out judge.Outcome) bench.Progress { return bench.Progress{Side: bench.Base, Outcome: out} }
	warmUp := func(out judge.Outcome) bench.Progress {
		return bench.Progress{Side: bench.Base, Outcome: out, WarmUp: true}
	}
	pass, unknown := outcome(evidence.Pass, false), outcome(evidence.Unknown, false)
	violation := outcome(evidence.Fail, false)
	for _, c := range []struct {
		name   string
		events []bench.Progress
		err    error
		want   int
	}{
		{"all pass", []bench.Progress{sample(pass), sample(pass)}, nil, exitOK},
		{"a threshold is missed", []bench.Progress{sample(pass), sample(missed(false))}, nil, exitThreshold},
		{"something is unknown", []bench.Progress{sample(missed(false)), sample(unknown), sample(pass)}, nil, exitUnknown},
		{"the warm-up's numbers do not count", []bench.Progress{warmUp(missed(false)), warmUp(unknown), sample(pass)}, nil,
			exitOK},
		{"a violation", []bench.Progress{sample(missed(false)), sample(violation), sample(unknown)}, nil, exitViolation},
		{"a violation in the warm-up", []bench.Progress{warmUp(violation), sample(pass)}, nil, exitViolation},
		{"interrupted", []bench.Progress{sample(missed(false))}, run.ErrInterrupted, exitInterrupted},
		{"broken", []bench.Progress{sample(missed(false))}, errors.New("no luck"), exitHarness},
	} {
		var seen tally
		for _, e := range c.events {
			seen.add(e)
		}
		code := exitOK
		if err := new(benchCmd).conclude(console.Streams{Out: io.Discard, Err: io.Discard},
			bench.Config{Base: &scenario.Scenario{}, Count: len(c.events)}, dir, seen, c.err); err != nil {
			code, _ = codeOf(err)
		}
		if code != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.want)
		}
	}
}

// A violation counts even if the base has no run yet, because the head came first.
func TestBenchEndsWithAViolationBeforeTheBaseRan(t *testing.T) {
	var seen tally
	seen.add(bench.Progress{Side: bench.Head, Outcome: outcome(evidence.Fail, false)})
	err := new(benchCmd).conclude(console.Streams{Out: io.Discard, Err: io.Discard},
		bench.Config{Base: &scenario.Scenario{}, Head: &scenario.Scenario{}}, t.TempDir(), seen, nil)
	if code, _ := codeOf(err); code != exitViolation {
		t.Errorf("ended with %v", err)
	}
}

// A benchmark of two sides is judged by the comparison and by the second side's samples; the first of 3, 130, 6, 5, 4
// that either of them has counts.
func TestBenchOfTwoSidesEndsAsTheGraver(t *testing.T) {
	missed, unknown, pass, violation := missed(false), outcome(
		evidence.Unknown,
		false,
	), outcome(evidence.Pass, false), outcome(
		evidence.Fail,
		false,
	)
	unknown.Report.Verdict = evidence.Pass // because of a threshold that cannot be judged; compare ignores thresholds
	for _, c := range []struct {
		name string
		head func(*result.Result) // changes the head's results
		seen []judge.Outcome
		err  error
		want int
	}{
		{"all pass", nil, []judge.Outcome{pass, pass}, nil, exitOK},
		{"a threshold is missed", nil, []judge.Outcome{pass, missed}, nil, exitThreshold},
		{"and it is faster", slower(0.4), []judge.Outcome{missed, missed}, nil, exitThreshold},
		{"and it is slower", slower(2.5), []judge.Outcome{missed, missed}, nil, exitRegression},
		{"slower, and no threshold is missed", slower(2.5), []judge.Outcome{pass}, nil, exitRegression},
		{"a threshold is unknown", nil, []judge.Outcome{unknown, missed}, nil, exitUnknown},
		{"and it is slower besides", slower(2.5), []judge.Outcome{unknown, missed}, nil, exitUnknown},
		{"inconclusive, and a threshold is missed", func(r *result.Result) { r.Partial = true },
			[]judge.Outcome{missed}, nil, exitUnknown},
		{"a violation", nil, []judge.Outcome{missed, violation}, nil, exitViolation},
		{"interrupted", nil, []judge.Outcome{missed}, run.ErrInterrupted, exitInterrupted},
		{"refused", func(r *result.Result) { r.SchemaVersion = 9 }, []judge.Outcome{missed}, nil, exitInput},
	} {
		dir := t.TempDir()
		realRuns(t, dir, bench.Base, samplePairs, nil)
		realRuns(t, dir, bench.Head, samplePairs, c.head)
		var seen tally
		for _, out := range c.seen {
			seen.add(bench.Progress{Side: bench.Head, Outcome: out})
		}
		cmd := benchCmd{comparison: comparison{Format: "text", judged: judged{Tolerate: map[string]share{
			"acquired_per_s": 0.3, "acquire.p50": 0.3, "acquire.p99": 0.6, "handoff.p50": 0.3}}}}
		code := exitOK
		if err := cmd.conclude(console.Streams{Out: io.Discard, Err: io.Discard}, bench.Config{Base: &scenario.Scenario{},
			Head: &scenario.Scenario{}, Count: samplePairs}, dir, seen, c.err); err != nil {
			code, _ = codeOf(err)
		}
		if code != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.want)
		}
	}
}
