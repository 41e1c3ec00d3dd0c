package compare

import (
	"fmt"
	"slices"
	"strings"

	"locklab/reports/result"
)

// choose returns the quantities to compare. If some are named, by their names or their paths in result.json, those
// gate instead of the usual ones.
func choose(names []string) ([]result.Quantity, error) {
	all := result.Compared()
	if len(names) == 0 {
		return all, nil
	}
	for i := range all {
		all[i].Compared.Gates = false
	}
	for _, name := range names {
		q, _ := result.Named(name)
		i := slices.IndexFunc(all, func(o result.Quantity) bool { return o.Path == q.Path })
		if i < 0 {
			var known []string
			for _, q := range all {
				known = append(known, q.Name())
			}
			return nil, fmt.Errorf("%w: no metric %q; there are %s", ErrInput, name, strings.Join(known, ", "))
		}
		all[i].Compared.Gates = true
	}
	return all, nil
}

// CheckMetrics refuses names of quantities that are not compared. The error wraps [ErrInput].
func CheckMetrics(names []string) error {
	_, err := choose(names)
	return err
}

// loss is by how much a quantity became worse, and the ends of its interval, the smaller first. A throughput that
// halves is a loss of 100 %, as is a latency that doubles: the work takes twice as long.
func loss(q result.Quantity, i Interval) (estimate, least, most float64) {
	f := func(v float64) float64 {
		switch {
		case q.Compared.Difference && q.Better == result.Higher:
			return -v
		case q.Compared.Difference:
			return v
		case q.Better == result.Higher:
			return 1/v - 1
		}
		return v - 1
	}
	least, most = f(i.Low), f(i.High)
	return f(i.Estimate), min(least, most), max(least, most)
}

// gain is by how much a quantity became better, by its loss: a latency that halves and a throughput that doubles have a
// loss of -50 % and a gain of 100 %.
func gain(q result.Quantity, loss float64) float64 {
	if q.Compared.Difference {
		return -loss
	}
	return -loss / (1 + loss)
}
