package main

import (
	"testing"

	"locklab/harness/check"
	"locklab/reports/result"
)

// A check of the lock counts only if it found something right or wrong, and checks of the run do not count.
func TestJudged(t *testing.T) {
	lines := []result.CheckLine{
		{Name: check.ServiceExclusion, Result: check.NotApplicable},
		{Name: check.BeliefExclusion, Result: check.Pass},
		{Name: check.Effect, Result: check.Fail},
		{Name: check.Liveness, Result: check.Unknown},
		{Name: check.Assumptions, Result: check.Pass},
	}
	if got, want := judged(lines), "2 of 4 checks of the lock could judge"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
