package workloads

import (
	"math"
	"math/rand/v2"
	"time"
)

// The kinds of distributions.
const (
	Constant    = "constant"
	UniformOf   = "uniform"
	Exponential = "exponential"
	LogNormal   = "log-normal"
)

// A Distribution is the distribution of a length of time, such as that of a hold. The zero value always draws 0.
type Distribution struct {
	Kind string `json:"kind,omitempty"` // empty = Constant
	// Centre is the constant, the mean of an exponential distribution, or the median of a log-normal one.
	Centre time.Duration `json:"centre_ns,omitempty"`
	// From and To bound a uniform distribution.
	From time.Duration `json:"from_ns,omitempty"`
	To   time.Duration `json:"to_ns,omitempty"`
	// Sigma is the standard deviation of the logarithm of a log-normal distribution.
	Sigma float64 `json:"sigma,omitempty"`
}

// Always returns the distribution of a constant time d.
func Always(d time.Duration) Distribution { return Distribution{Centre: d} }

// longest caps the draws, because times longer than any run are useless and might overflow.
const longest = 24 * time.Hour

// Draw draws a length of time.
func (d Distribution) Draw(r *rand.Rand) time.Duration {
	var x float64
	switch d.Kind {
	case UniformOf:
		return d.From + time.Duration(r.Int64N(int64(d.To-d.From)+1))
	case Exponential:
		x = r.ExpFloat64() * float64(d.Centre)
	case LogNormal:
		x = math.Exp(r.NormFloat64()*d.Sigma) * float64(d.Centre)
	default:
		return d.Centre
	}
	return time.Duration(min(x, float64(longest)))
}

// Mean returns the mean of the draws.
func (d Distribution) Mean() time.Duration {
	switch d.Kind {
	case UniformOf:
		return d.From + (d.To-d.From)/2
	case LogNormal:
		return time.Duration(min(math.Exp(d.Sigma*d.Sigma/2)*float64(d.Centre), float64(longest)))
	}
	return d.Centre
}

// Variance returns the variance of the draws, in square seconds.
func (d Distribution) Variance() float64 {
	mean := d.Mean().Seconds()
	switch d.Kind {
	case UniformOf:
		wide := (d.To - d.From).Seconds()
		return wide * wide / 12
	case Exponential:
		return mean * mean
	case LogNormal:
		// A distribution between 0 and longest varies most if it draws only these two values (Popoviciu).
		most := longest.Seconds() * longest.Seconds() / 4
		if v := mean * mean * math.Expm1(d.Sigma*d.Sigma); v < most {
			return v
		}
		return most
	}
	return 0
}

// Fixed returns the constant, and whether the distribution is constant.
func (d Distribution) Fixed() (time.Duration, bool) {
	return d.Centre, d.Kind == "" || d.Kind == Constant
}
