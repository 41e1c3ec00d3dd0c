package result

import "locklab/harness/check"

// judged says how many of the checks that judge a lock could do so: one that does not apply, or whose result is not
// known, has found nothing wrong and nothing right.
func judged(checks []CheckLine) (could, all int) {
	for _, line := range checks {
		if c, known := check.Named(line.Name); !known || c.OfRun {
			continue
		}
		all++
		if line.Result == check.Pass || line.Result == check.Fail {
			could++
		}
	}
	return could, all
}
