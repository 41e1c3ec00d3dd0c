package gatecurve

import (
	"fmt"
	"math"
)

// A Rate is how many of several comparisons had an answer.
type Rate struct{ Count, Of int }

// Interval returns the exact 95 % interval of the probability (Clopper and Pearson, 1934). Without comparisons it is
// the whole of 0 to 1.
func (r Rate) Interval() (low, high float64) {
	const tail = 0.025
	low, high = 0, 1
	if r.Count > 0 { // the p with which so many or more are just unlikely enough
		low = solve(func(p float64) bool { return 1-atMost(r.Count-1, r.Of, p) > tail })
	}
	if r.Count < r.Of { // the p with which so many or fewer are
		high = solve(func(p float64) bool { return atMost(r.Count, r.Of, p) < tail })
	}
	return low, high
}

// solve returns the probability from which on a condition holds.
func solve(holds func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if middle := (low + high) / 2; holds(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return (low + high) / 2
}

// atMost is the probability of at most k successes in n trials of probability p.
func atMost(k, n int, p float64) float64 {
	sum := 0.0
	for i := range k + 1 {
		sum += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

func logChoose(n, k int) float64 {
	f := func(n int) float64 { l, _ := math.Lgamma(float64(n + 1)); return l }
	return f(n) - f(k) - f(n-k)
}

// String writes the count and the interval: 2 (0–11 %).
func (r Rate) String() string {
	if r.Of == 0 {
		return "not measured"
	}
	low, high := r.Interval()
	return fmt.Sprintf("%d (%.0f–%.0f %%)", r.Count, 100*low, 100*high)
}
