package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"locklab/harness/settings"
	"locklab/reports/result"
	"locklab/reports/words"
)

// choose returns the quantities to compare. If some are named, by their names or their paths in result.json, those
// gate instead of the usual ones. Tolerances are by the same names. One that could never fail is refused.
func choose(names []string, tolerate map[string]float64) ([]result.Quantity, error) {
	all := result.Compared()
	find := func(name string) (int, error) {
		q, _ := result.Named(name)
		i := slices.IndexFunc(all, func(o result.Quantity) bool { return o.Path == q.Path })
		if i < 0 {
			var known []string
			for _, q := range all {
				known = append(known, q.Name())
			}
			if near := settings.NearestPath(name, known); len(near) > 0 {
				known = near
			}
			return 0, fmt.Errorf("%w: no metric %q (%s)", ErrInput, name, settings.DidYouMean(name, known))
		}
		return i, nil
	}
	for i := range all {
		all[i].Compared.Gates = all[i].Compared.Gates && len(names) == 0
	}
	for _, name := range names {
		i, err := find(name)
		if err != nil {
			return nil, err
		}
		all[i].Compared.Gates = true
	}
	for _, name := range slices.Sorted(maps.Keys(tolerate)) {
		i, err := find(name)
		if err != nil {
			return nil, err
		}
		if err := checkTolerance(all[i], tolerate[name]); err != nil {
			return nil, err
		}
		all[i].Compared.Tolerance = tolerate[name]
	}
	return all, nil
}

// A tolerance of maxTolerance or more is refused. Twice as slow is what a gate exists to find, and a share cannot grow
// by more than 100 points.
const maxTolerance = 1.0

// checkTolerance refuses a tolerance with which a comparison could never fail.
func checkTolerance(q result.Quantity, v float64) error {
	switch bounded := q.Unit == result.Share || !q.Compared.Difference; {
	case !q.Compared.Gates:
		return fmt.Errorf("%w: a tolerance of %s could never fail, because the verdict does not depend on it; add "+
			"--metric %[2]s, and every other metric that is to count", ErrInput, q.Name())
	case !(v > 0) || math.IsInf(v, 0):
		return fmt.Errorf("%w: a tolerance of %v of %s could never pass; give one above 0, such as %s", ErrInput, v,
			q.Name(), words.Share(q.Compared.Tolerance))
	case bounded && v >= maxTolerance:
		return fmt.Errorf("%w: a tolerance of %s of %s could hardly ever fail; give one below 100 %%, such as %s",
			ErrInput, words.Share(v), q.Name(), words.Share(q.Compared.Tolerance))
	}
	return nil
}

// Check refuses metrics that are not compared, and tolerances with which a comparison could never fail or pass. The
// error wraps [ErrInput].
func (o Options) Check() error {
	_, err := choose(o.Metrics, o.Tolerate)
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

// LeastRuns is the least number of runs a side with which a comparison could fail: fewer cannot have a significant p,
// whatever their values. Call Check before.
func (o Options) LeastRuns() int {
	n := MinRuns
	for family := o.gating(); leastP(n, n)*float64(family) >= falseAlarms; {
		n++
	}
	return n
}

// LeastPairs is the least number of pairs that are compared pair by pair. Call Check before.
func (o Options) LeastPairs() int {
	n := MinRuns
	for family := o.gating(); !enoughPairs(n, family); {
		n++
	}
	return n
}

// gating is how many metrics gate; 0 if the options are refused.
func (o Options) gating() int {
	metrics, err := choose(o.Metrics, o.Tolerate)
	if err != nil {
		return 0
	}
	return gating(metrics)
}

func gating(metrics []result.Quantity) (family int) {
	for _, q := range metrics {
		if q.Compared.Gates {
			family++
		}
	}
	return family
}
