package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"locklab/harness/fail"
	"locklab/reports/words"
)

// Reach is the largest load that a model answers for, as a multiple of the largest measured load.
const Reach = 2

// ErrTooFar says that a load is too far from the measured loads for a model to answer.
var ErrTooFar = fail.Unknown.New("too far from what was measured")

// ErrTooFew says that there are too few points to fit.
var ErrTooFew = errors.New("too few points")

// A Point is a throughput, per second, at a load: a number of clients, or of locks.
type Point struct{ Load, Throughput float64 }

// A USL is the Universal Scalability Law (Gunther, Guerrilla Capacity Planning, 2007): X(N) = λN / (1 + σ(N-1) +
// κN(N-1)). It is for many locks, whose limit is the ensemble that they share. For one lock, whose σ is about 1,
// [Lock] is the better model.
type USL struct {
	Lambda float64 `json:"lambda"` // throughput of a load of one
	Sigma  float64 `json:"sigma"`  // contention: the share of work that is serial
	Kappa  float64 `json:"kappa"`  // coherency: the cost of each pair that has to agree
}

// At returns the throughput at a load.
func (u USL) At(n float64) float64 { return u.Lambda * n / (1 + u.Sigma*(n-1) + u.Kappa*n*(n-1)) }

// A Fit is a law and how well it fits.
type Fit struct {
	USL
	// Residuals are the differences between the measured throughputs and the law's, as shares of the law's, by point.
	Residuals []float64 `json:"residuals"`
	// R2 is 1 if the law explains all differences in throughput; nil if there are none to explain.
	R2 *float64 `json:"r2"`
	// From and To are the least and the highest measured load.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Turns says that throughput was seen to turn down, because the law fits significantly worse without κ.
	Turns bool `json:"-"`
}

// The least number of points to which three parameters can be fitted, and the number from which on the fit is
// trusted.
const (
	leastPoints  = 4
	enoughPoints = 6
)

// Trusted reports whether the fit has as many points as it should.
func (f Fit) Trusted() bool { return len(f.Residuals) >= enoughPoints }

// FitUSL fits the law to measured points by the least squares of the residuals. No parameter becomes negative, because
// a κ below 0 is noise and would promise unlimited throughput.
func FitUSL(points []Point) (Fit, error) {
	loads := map[float64]bool{}
	for _, p := range points {
		if !(p.Load >= 1) || !(p.Throughput > 0) || math.IsInf(p.Throughput+p.Load, 1) {
			return Fit{}, fmt.Errorf("fit the scalability law: a throughput of %v at a load of %v", p.Throughput, p.Load)
		}
		loads[p.Load] = true
	}
	if len(loads) < leastPoints {
		return Fit{}, fmt.Errorf("%w: %d different loads, and the scalability law needs %d, better %d", ErrTooFew,
			len(loads), leastPoints, enoughPoints)
	}
	straight := closest(points, [][]int{{0}, {0, 1}})
	f := closest(points, [][]int{{0}, {0, 1}, {0, 2}, {0, 1, 2}})
	f.Turns = worse(straight.squares(), f.squares(), len(points))
	return f, nil
}

// closest returns the law with the least squares among those in which only some of the terms of
//
//	N/X(N) = 1/λ + σ/λ (N-1) + κ/λ N(N-1)
//
// are not 0. The law is linear in these terms, so each choice of terms has one solution. Choices whose
// solution has a negative term are left out, and the first choice, 1/λ alone, is never negative.
func closest(points []Point, choices [][]int) (best Fit) {
	least := math.Inf(1)
	for _, terms := range choices {
		a, b := mat.NewDense(len(points), len(terms), nil), mat.NewDense(len(points), 1, nil)
		for i, p := range points {
			weight := p.Throughput / p.Load // so that the errors are the residuals
			for k, term := range terms {
				a.Set(i, k, weight*[]float64{1, p.Load - 1, p.Load * (p.Load - 1)}[term])
			}
			b.Set(i, 0, 1)
		}
		var solution mat.Dense
		if err := solution.Solve(a, b); err != nil || mat.Min(&solution) < 0 {
			continue
		}
		var all [3]float64
		for k, term := range terms {
			all[term] = solution.At(k, 0)
		}
		f := fitOf(points, USL{1 / all[0], all[1] / all[0], all[2] / all[0]})
		if e := f.squares(); e < least {
			best, least = f, e
		}
	}
	return best
}

// squares is the sum of the squares of the residuals.
func (f Fit) squares() float64 { return floats.Dot(f.Residuals, f.Residuals) }

// worse reports whether a law of two parameters fits significantly worse than one of three, by the F test of nested
// models at 5 %.
func worse(two, three float64, points int) bool {
	free := float64(points - 3)
	if two <= three || free < 1 {
		return false
	}
	return distuv.F{D1: 1, D2: free}.Survival((two-three)/(three/free)) < 0.05
}

// fitOf returns how well a law fits the points.
func fitOf(points []Point, u USL) Fit {
	f := Fit{USL: u}
	var estimates, values, loads []float64
	for _, p := range points {
		at := u.At(p.Load)
		f.Residuals = append(f.Residuals, p.Throughput/at-1)
		estimates, values, loads = append(estimates, at), append(values, p.Throughput), append(loads, p.Load)
	}
	f.From, f.To = slices.Min(loads), slices.Max(loads)
	if r2 := stat.RSquaredFrom(estimates, values, nil); !math.IsInf(r2, 0) && !math.IsNaN(r2) {
		f.R2 = &r2
	}
	return f
}

// Peak returns the load of the highest throughput, √((1-σ)/κ). It returns false if that is further than the fit
// answers for, or if the law fits as well without κ, because noise gives every fit some κ and so a peak.
func (f Fit) Peak() (float64, bool) {
	n := math.Sqrt(max(1-f.Sigma, 0) / f.Kappa)
	return n, f.Turns && Within(n, f.From, f.To) == nil
}

// Within refuses a load that is more than [Reach] times the largest measured load, or less than 1/Reach of the
// smallest.
func Within(n, from, to float64) error {
	if !(n <= Reach*to && n*Reach >= from) {
		return fmt.Errorf("%w: %s, and %s to %s were measured", ErrTooFar, plain(n), plain(from), plain(to))
	}
	return nil
}

func plain(v float64) string { return words.Digits3(v) }
