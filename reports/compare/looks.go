package compare

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// A benchmark with a budget compares what it has several times, and stops when the answer is clear. Each comparison is
// another chance to be wrong, so the error rates are spent in parts, as Lan and DeMets proposed (Biometrika 1983, and
// 1989 for time in place of information). By the time that the share t of the budget has been used, t² of the error
// rates have been (the power family of Kim and DeMets, 1987).
//
// A look counts what the looks before it have counted, and more pairs. So most chance findings of a look had been found
// by the look before, and need not be paid for twice. How much a look may use follows from the numbers of pairs, as
// Armitage, McPherson and Rowe computed it (JRSS A 1969): the sum over pairs is a random walk, whose steps are
// independent of each other, and nearly normal for the signed ranks of ten pairs and more. [TestLooksKeepTheConfidence]
// tries this with the signed ranks themselves.

// A Look is a time at which a benchmark compared what it had.
type Look struct {
	// Pairs is how many pairs of runs there were.
	Pairs int `json:"pairs"`
	// Spent is the share of the budget that had been used, from 0 to 1.
	Spent float64 `json:"spent"`
}

// MinShare is the least share of the budget between two looks.
const MinShare = 0.2

// errorsBy is the share of the error rates that may have been used when a share of the budget has been.
func errorsBy(spent float64) float64 { return min(1, spent*spent) }

// lookLevel returns the level at which a number of pairs is compared, two-sided, so that all looks together have the
// level all. A look uses what has become available since the look before. Runs that no look has seen are compared with
// all that the looks have left.
func lookLevel(looks []Look, pairs int, all float64) float64 {
	var w walk
	for _, l := range looks {
		if l.Pairs >= pairs {
			return w.look(l.Pairs, errorsBy(l.Spent)*all)
		}
		w.look(l.Pairs, errorsBy(l.Spent)*all)
	}
	return w.look(pairs, all)
}

// A walk is a sum of independent normal steps, one for each pair, that has been looked at. It goes on from below each
// look's bound, as the benchmarks do that go on. The zero value has not been looked at.
type walk struct {
	pairs int     // at the last look
	used  float64 // of the error rates, two-sided
	// A walk that goes on is at the place at[i] with the probability mass[i]. The places are those of Gauss and Legendre.
	at, mass []float64
}

const (
	// places is how many places a walk has. Twice as many change no level by a millionth.
	places = 96
	// farthest is how far below 0 a walk is followed, in standard deviations. It is less likely than 1e-9 to go there.
	farthest = 6
)

// look looks at the walk after a number of pairs, when a part of the error rates may have been used, and returns the
// level that this look may use.
func (w *walk) look(pairs int, used float64) float64 {
	// The walk's other side has the other half. That a walk might cross the bounds of both sides, which would be paid
	// twice, is next to impossible.
	side := max(0, used-w.used) / 2
	w.used = max(used, w.used)
	if side == 0 || pairs <= w.pairs { // nothing may be found, or nothing is new, and then the parts simply add up
		return 2 * side
	}
	n := float64(pairs)
	z := distuv.UnitNormal.Quantile(1 - side)
	if w.pairs > 0 {
		z = w.bound(n, side)
	}
	w.goOn(n, z*math.Sqrt(n))
	w.pairs = pairs
	return 2 * distuv.UnitNormal.Survival(z)
}

// bound returns the bound, in standard deviations, above which a walk goes with a probability that was below the bounds
// of the looks before.
func (w *walk) bound(n, probability float64) float64 {
	step := math.Sqrt(n - float64(w.pairs))
	low, high := 0.0, distuv.UnitNormal.Quantile(1-probability) // the looks before can only spare errors
	for range 40 {
		z := (low + high) / 2
		above := 0.0
		for i, at := range w.at {
			above += w.mass[i] * distuv.UnitNormal.Survival((z*math.Sqrt(n)-at)/step)
		}
		if above > probability {
			low = z
		} else {
			high = z
		}
	}
	return high
}

// goOn takes the walk to the next look, and leaves what is below its bound.
func (w *walk) goOn(n, bound float64) {
	at, weight := make([]float64, places), make([]float64, places)
	quad.Legendre{}.FixedLocations(at, weight, -farthest*math.Sqrt(n), bound)
	density := func(x, deviation float64) float64 { return distuv.UnitNormal.Prob(x/deviation) / deviation }
	for i, x := range at {
		if w.pairs == 0 {
			weight[i] *= density(x, math.Sqrt(n))
			continue
		}
		sum := 0.0
		for k, from := range w.at {
			sum += w.mass[k] * density(x-from, math.Sqrt(n-float64(w.pairs)))
		}
		weight[i] *= sum
	}
	w.at, w.mass = at, weight
}
