package main

import (
	"errors"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/run"
	"locklab/reports/capacity"
	"locklab/reports/sweep"
)

// A sweep ends like its worst run, except that a search is meant to find rates that are too high.
func TestConcludeSweep(t *testing.T) {
	point := func(v evidence.Result, violation bool) sweep.Point {
		return sweep.Point{Verdict: v, Violation: violation}
	}
	pass, missed, unknown, violation := point(evidence.Pass, false), point(
		evidence.Fail,
		false,
	), point(evidence.Unknown, false), point(
		evidence.Fail,
		true,
	)
	found := point(evidence.Fail, false)
	rate := 1.0
	found.Limit = &capacity.Limit{
		Lower:  &rate,
		Trials: []capacity.Trial{{Level: 1}, {Level: 2, Reason: capacity.Missed}},
	}
	lost, unsafe, none := found, found, found
	none.Limit = &capacity.Limit{Upper: &rate, Trials: []capacity.Trial{{Level: 1, Reason: capacity.Missed}}}
	lost.Limit = &capacity.Limit{Unknown: "no end"}
	unsafe.Limit = &capacity.Limit{Unknown: "unsafe", Trials: []capacity.Trial{{Reason: capacity.Violation}}}
	for _, c := range []struct {
		name   string
		points []sweep.Point
		err    error
		want   int
	}{
		{"all pass", []sweep.Point{pass, pass}, nil, exitOK},
		{"a threshold is missed", []sweep.Point{pass, missed}, nil, exitThreshold},
		{"something is unknown", []sweep.Point{missed, unknown}, nil, exitUnknown},
		{"a violation", []sweep.Point{missed, unknown, violation}, run.ErrInterrupted, exitViolation},
		{"interrupted", []sweep.Point{missed, unknown}, run.ErrInterrupted, exitInterrupted},
		{"broken", []sweep.Point{pass}, errors.New("no luck"), exitHarness},
		{"a limit is found", []sweep.Point{found}, nil, exitOK},
		{"no limit is found", []sweep.Point{lost}, nil, exitUnknown},
		{"no rate keeps to the limit", []sweep.Point{found, none}, nil, exitThreshold},
		{"no rate keeps to the limit, and one is not known", []sweep.Point{lost, none}, nil, exitUnknown},
		{"the lock is unsafe", []sweep.Point{unsafe}, nil, exitViolation},
	} {
		err := endingOfSweep(sweep.Sweep{Series: []sweep.Series{{Points: c.points}}}).with(c.err)
		code := exitOK
		if err != nil {
			code, _ = codeOf(err)
		}
		if code != c.want {
			t.Errorf("%s: exit code %d, want %d", c.name, code, c.want)
		}
	}
	if code, _ := codeOf(endingOfSweep(sweep.Sweep{Partial: true}).with(nil)); code != exitUnknown {
		t.Errorf("a partial sweep: exit code %d", code)
	}
}
