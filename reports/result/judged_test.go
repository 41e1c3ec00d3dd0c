package result

import (
	"testing"

	"locklab/harness/check/evidence"
)

// A check of the lock counts only if it found something right or wrong, and checks of the run do not count.
func TestJudged(t *testing.T) {
	lines := []CheckLine{
		{Name: evidence.ServiceExclusion, Result: evidence.NotApplicable},
		{Name: evidence.BeliefExclusion, Result: evidence.Pass},
		{Name: evidence.Effect, Result: evidence.Fail},
		{Name: evidence.Liveness, Result: evidence.Unknown},
		{Name: evidence.Assumptions, Result: evidence.Pass},
	}
	if could, all := judged(lines); could != 2 || all != 4 {
		t.Errorf("%d of %d checks could judge, want 2 of 4", could, all)
	}
}
