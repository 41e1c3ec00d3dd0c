package main

import (
	"errors"
	"testing"

	"locklab/harness"
	"locklab/harness/check"
	"locklab/reports"
	"locklab/reports/capacity"
)

// A sweep ends as the worst of its runs; that a search found rates that are too high is its answer.
func TestConcludeSweep(t *testing.T) {
	point := func(v check.Result, violation bool) reports.SweepPoint {
		return reports.SweepPoint{Verdict: v, Violation: violation}
	}
	pass, missed, unknown, violation := point(check.Pass, false), point(check.Fail, false), point(check.Unknown, false), point(check.Fail, true)
	found := point(check.Fail, false)
	rate := 1.0
	found.Limit = &capacity.Limit{LastPass: &rate, Probes: []capacity.Probe{{Rate: 1}, {Rate: 2, Reason: capacity.Missed}}}
	lost, unsafe, none := found, found, found
	none.Limit = &capacity.Limit{FirstFail: &rate, Probes: []capacity.Probe{{Rate: 1, Reason: capacity.Missed}}}
	lost.Limit = &capacity.Limit{Unknown: "no end"}
	unsafe.Limit = &capacity.Limit{Unknown: "unsafe", Probes: []capacity.Probe{{Reason: capacity.Violation}}}
	for _, c := range []struct {
		name   string
		points []reports.SweepPoint
		err    error
		want   int
	}{
		{"all pass", []reports.SweepPoint{pass, pass}, nil, exitOK},
		{"a threshold is missed", []reports.SweepPoint{pass, missed}, nil, exitThreshold},
		{"something is unknown", []reports.SweepPoint{missed, unknown}, nil, exitUnknown},
		{"a violation", []reports.SweepPoint{missed, unknown, violation}, harness.ErrInterrupted, exitViolation},
		{"interrupted", []reports.SweepPoint{missed, unknown}, harness.ErrInterrupted, exitInterrupted},
		{"broken", []reports.SweepPoint{pass}, errors.New("no luck"), exitHarness},
		{"a limit is found", []reports.SweepPoint{found}, nil, exitOK},
		{"no limit is found", []reports.SweepPoint{lost}, nil, exitUnknown},
		{"no rate keeps to the limit", []reports.SweepPoint{found, none}, nil, exitThreshold},
		{"no rate keeps to the limit, and one is not known", []reports.SweepPoint{lost, none}, nil, exitUnknown},
		{"the lock is unsafe", []reports.SweepPoint{unsafe}, nil, exitViolation},
	} {
		err := concludeSweep(reports.Sweep{Series: []reports.SweepSeries{{Points: c.points}}}, c.err)
		code := exitOK
		if err != nil {
			code, _ = codeOf(err)
		}
		if code != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.want)
		}
	}
	if code, _ := codeOf(concludeSweep(reports.Sweep{Partial: true}, nil)); code != exitUnknown {
		t.Errorf("a partial sweep: exit code %d", code)
	}
}
