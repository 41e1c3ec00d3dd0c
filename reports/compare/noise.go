package compare

import (
	"fmt"
	"slices"
)

// When a machine is too noisy to judge by. The measure is throughput, the steadiest
// number of a run: it has all operations in it.
const (
	// maxSpread is the relative standard deviation that runs of one side may have.
	maxSpread = 0.25
	// maxDrift is what the throughput of a side may gain or lose from its first
	// run to its last.
	maxDrift = 0.25
	// driftLevel is how sure it must be that it did: two sides are tested each time.
	driftLevel = 0.01
)

// noise says why the machine was too noisy for the side to be judged by; "" if it
// was not.
func noise(s Side) string {
	var x []float64
	for _, r := range s.Runs {
		if v := r.Result.Throughput.AcquiredPerS; v != nil && *v > 0 {
			x = append(x, *v)
		}
	}
	if len(x) < MinRuns {
		return ""
	}
	if d := spread(x); d > maxSpread {
		return fmt.Sprintf("the runs of %s differ by ±%.0f %% in throughput: more than %.0f %% is noise of the machine", s.Name, 100*d, 100*maxSpread)
	}
	p, slope := trend(x)
	if d := slope * float64(len(x)-1) / median(x); p < driftLevel && max(d, -d) > maxDrift {
		return fmt.Sprintf("throughput drifted by %+.0f %% over the runs of %s: the machine changed meanwhile", 100*d, s.Name)
	}
	return ""
}

// noises lists why the machine was too noisy. What it did to both runs of a pair is none.
func noises(base, head Side, pairs []pair) []string {
	all := []string{noise(base), noise(head)}
	if pairs != nil {
		all = []string{pairedNoise(pairs)}
	}
	return slices.DeleteFunc(all, func(reason string) bool { return reason == "" })
}

// interleaved reports whether the two sides took turns, so that a change of the
// machine would have hit both.
func interleaved(base, head Side) bool {
	if len(base.Runs) == 0 || len(head.Runs) == 0 {
		return false
	}
	last := func(s Side) int64 { return s.Runs[len(s.Runs)-1].StartedUnixNs }
	return head.Runs[0].StartedUnixNs < last(base) && base.Runs[0].StartedUnixNs < last(head)
}
