package measure

import (
	"math"
	"slices"
)

// Median returns the median of some values: of an even number, the mean of the two in the middle; NaN of none.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}
