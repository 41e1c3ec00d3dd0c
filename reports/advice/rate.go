package advice

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Year is a year of 365.25 days.
const Year = 8766 * time.Hour

// confidence is the confidence of every interval.
const confidence = 0.95

// A Rate is how often something happens a year, with its 95 % interval.
//
// Its interval is that of Fay and Feuer for a weighted sum of Poisson counts (Confidence intervals for directly
// standardized rates, Statistics in Medicine 16, 1997), where the weight of a pause is the probability that it does
// harm. If all weights are equal, it is the exact interval of a Poisson count. If no pause that was seen can do harm,
// the rate is at most High at 95 % (the rule of three), and there is no estimate.
type Rate struct {
	AYear float64 `json:"a_year"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Unseen says that no pause of the input was long enough.
	Unseen bool `json:"unseen,omitempty"`
}

// weightedRate returns the rate of a sum of weights. squares is the sum of their squares and most the largest weight
// that a pause can have; factor makes rates a year of them.
func weightedRate(sum, squares, most, factor float64) Rate {
	switch {
	case most == 0:
		return Rate{}
	case sum <= 0:
		return Rate{High: -math.Log(1-confidence) * most * factor, Unseen: true}
	}
	tail := (1 - confidence) / 2
	low := distuv.Gamma{Alpha: sum * sum / squares, Beta: sum / squares}
	n, v := sum+most, squares+most*most
	high := distuv.Gamma{Alpha: n * n / v, Beta: n / v}
	return Rate{AYear: factor * sum, Low: factor * low.Quantile(tail), High: factor * high.Quantile(1-tail)}
}
