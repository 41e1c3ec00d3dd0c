package danger

import (
	"fmt"
	"math"
)

// A Share is how many of several trials had an outcome, with the 95 % interval of its probability by Wilson's score
// (Wilson, 1927), which is right for shares near 0 and 1 too. Without trials it is the whole of 0 to 1.
type Share struct {
	Count int     `json:"count"`
	Of    int     `json:"of"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// z is the quantile of the normal distribution for 95 %.
const z = 1.959964

// ShareOf returns the share of count in n trials.
func ShareOf(count, n int) Share {
	s := Share{Count: count, Of: n, High: 1}
	if n == 0 {
		return s
	}
	p, m := s.Estimate(), float64(n)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	s.Low, s.High = max(0, middle-half), min(1, middle+half)
	if count == 0 {
		s.Low = 0 // not a rounding error
	}
	if count == n {
		s.High = 1
	}
	return s
}

// Estimate is the share itself; 0 without trials.
func (s Share) Estimate() float64 {
	if s.Of == 0 {
		return 0
	}
	return float64(s.Count) / float64(s.Of)
}

// Width is the width of the interval.
func (s Share) Width() float64 { return s.High - s.Low }

// String writes the share in per cent: of none only the upper end of the interval.
func (s Share) String() string {
	switch {
	case s.Of == 0:
		return "n/a"
	case s.Count == 0:
		return fmt.Sprintf("0 (≤ %s)", percent(s.High))
	}
	return fmt.Sprintf("%s (%s–%s)", percent(s.Estimate()), percent(s.Low), percent(s.High))
}

func percent(v float64) string {
	if v > 0 && v < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*v)
	}
	return fmt.Sprintf("%.0f %%", 100*v)
}
