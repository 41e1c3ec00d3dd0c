package compare

import (
	"fmt"
	"math"

	"locklab/reports/result"
)

// A Difference is how a number of one run differs from that of another. It is no verdict, because two runs do not show
// how much runs of one kind differ from each other.
type Difference struct {
	// Text is the ratio or the difference of the second run's number to the first one's; "" if one of them is missing.
	Text string
	// Worse and Better say that it differs in that direction by more than what a comparison of many runs accepts.
	Worse, Better bool
}

// Differ compares a number of two runs.
func Differ(q result.Quantity, base, head *float64) (d Difference) {
	if base == nil || head == nil {
		return d
	}
	by, tolerance := Interval{Estimate: *head - *base}, q.Compared.Tolerance
	switch {
	case *head == *base:
		return Difference{Text: "the same"}
	case q.Compared.Difference && q.Unit == result.Share:
		d.Text = fmt.Sprintf("%+.3g points", 100*by.Estimate)
	case !q.Compared.Difference && *base > 0 && *head > 0:
		by.Estimate = *head / *base
		tolerance = max(tolerance, q.Compared.Resolution / *base)
		d.Text = fmt.Sprintf("×%.3g", by.Estimate)
	default:
		size, sign := math.Abs(by.Estimate), "+"
		if by.Estimate < 0 {
			sign = "−"
		}
		if d.Text = sign + q.Show(&size); !q.Compared.Difference {
			return d // there is no ratio to judge
		}
	}
	if q.Compared != (result.Comparison{}) {
		lost, _, _ := loss(q, by)
		gained := -lost
		if !q.Compared.Difference {
			gained /= 1 + lost // a latency that halves is a gain of 100 %, as one that doubles is a loss of 100 %
		}
		d.Worse, d.Better = lost > tolerance, gained > tolerance
	}
	return d
}

// Differences returns the keys in which the configurations of two runs differ. Names, ids, times, the seed and the code
// that was run are no part of a configuration.
func Differences(base, head Run) []Mismatch { return mismatches(base.Config, head.Config) }
