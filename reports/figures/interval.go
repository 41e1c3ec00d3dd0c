package figures

import (
	"math/rand/v2"
	"slices"

	"locklab/reports/measure"

	"gonum.org/v1/gonum/stat"
)

const (
	// confidence is that of every interval.
	confidence = 0.95
	// fewest is how many rounds an interval needs. Of fewer, resampling says little more than their range.
	fewest = 5
	// resamples is how often the rounds are drawn again.
	resamples = 4000
)

// interval returns the interval of a median: a percentile bootstrap over the rounds (Efron). Each value is that of a
// whole round, because the samples within a round depend on each other. False if there are too few rounds.
//
// The same values have the same interval, so a table depends on its records only.
func interval(x []float64) (low, high float64, ok bool) {
	if len(x) < fewest {
		return 0, 0, false
	}
	r := rand.New(rand.NewPCG(1, 2))
	medians := make([]float64, resamples)
	drawn := make([]float64, len(x))
	for i := range medians {
		for k := range drawn {
			drawn[k] = x[r.IntN(len(x))]
		}
		medians[i] = measure.Median(drawn)
	}
	slices.Sort(medians)
	at := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, medians, nil) }
	return at((1 - confidence) / 2), at((1 + confidence) / 2), true
}
