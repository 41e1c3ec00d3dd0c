package advice

import (
	"math"

	"locklab/harness/check"
)

// A delay is a sum of independent times that are evenly distributed, in seconds: lo and, for each width, anything
// from 0 to it. Its distribution function is piecewise a polynomial (Feller, An Introduction to Probability Theory and
// Its Applications II, I.9).
type delay struct {
	lo, hi, mean, variance float64
	// A sum over all subsets of the widths: each has a sign by its number, and an offset by its sum.
	offsets, signs []float64
	scale          float64 // 1 / the product of the widths
	n              int     // of the widths
}

func newDelay(lo float64, widths ...float64) delay {
	d := delay{lo: lo, hi: lo, mean: lo, offsets: []float64{lo}, signs: []float64{1}, scale: 1, n: len(widths)}
	for _, w := range widths {
		d.hi += w
		d.mean += w / 2
		d.variance += w * w / 12
		d.scale /= w
		for i := range d.offsets {
			d.offsets, d.signs = append(d.offsets, d.offsets[i]+w), append(d.signs, -d.signs[i])
		}
	}
	return d
}

// expiryDelay returns the distribution of the time from the beginning of a client's silence to its session's expiry.
func expiryDelay(e check.Expiry) delay {
	return newDelay(e.Earliest().Seconds(), e.PingEvery().Seconds(), e.ReportEvery().Seconds(), e.Tick.Seconds())
}

// cdf returns the probability that the delay is at most x.
func (d delay) cdf(x float64) float64 {
	switch {
	case x <= d.lo:
		return 0
	case x >= d.hi:
		return 1
	}
	return min(1, max(0, d.powers(x, 0)))
}

// integral returns the integral of cdf up to x.
func (d delay) integral(x float64) float64 {
	switch {
	case x <= d.lo:
		return 0
	case x >= d.hi:
		return x - d.mean
	}
	return d.powers(x, 1)
}

// integral2 returns the integral of integral up to x.
func (d delay) integral2(x float64) float64 {
	switch {
	case x <= d.lo:
		return 0
	case x >= d.hi:
		return ((x-d.mean)*(x-d.mean) + d.variance) / 2
	}
	return d.powers(x, 2)
}

// powers returns the distribution function, integrated so many times.
func (d delay) powers(x float64, integrated int) float64 {
	sum, power := 0.0, d.n+integrated
	for i, at := range d.offsets {
		if x > at {
			sum += d.signs[i] * math.Pow(x-at, float64(power))
		}
	}
	for k := 2; k <= power; k++ {
		sum /= float64(k)
	}
	return sum * d.scale
}
