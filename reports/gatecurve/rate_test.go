package gatecurve

import (
	"math"
	"testing"
)

// The intervals were computed with another program, from sums of binomial coefficients.
func TestRateInterval(t *testing.T) {
	for _, c := range []struct {
		count, of int
		low, high float64
	}{
		{0, 0, 0, 1},
		{0, 20, 0, 0.1684335},
		{20, 20, 0.8315665, 1},
		{2, 60, 0.0040626, 0.1152810},
		{1, 1, 0.025, 1},
		{5, 10, 0.1870860, 0.8129140},
	} {
		low, high := Rate{c.count, c.of}.Interval()
		if math.Abs(low-c.low) > 1e-5 || math.Abs(high-c.high) > 1e-5 {
			t.Errorf("%d of %d: %v to %v, want %v to %v", c.count, c.of, low, high, c.low, c.high)
		}
	}
	if got := (Rate{2, 60}).String(); got != "2 (0–12 %)" {
		t.Error(got)
	}
	if got := (Rate{}).String(); got != "not measured" {
		t.Error(got)
	}
}
