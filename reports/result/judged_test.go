package result

import (
	"testing"

	"locklab/harness/check"
)

// A check of the lock counts only if it found something right or wrong, and checks of the run do not count.
func TestJudged(t *testing.T) {
	lines := []CheckLine{
		{Name: check.ServiceExclusion, Result: check.NotApplicable},
		{Name: check.BeliefExclusion, Result: check.Pass},
		{Name: check.Effect, Result: check.Fail},
		{Name: check.Liveness, Result: check.Unknown},
		{Name: check.Assumptions, Result: check.Pass},
	}
	if could, all := judged(lines); could != 2 || all != 4 {
		t.Errorf("%d of %d checks could judge, want 2 of 4", could, all)
	}
}
