package compare

import (
	"fmt"
	"slices"
)

// The limits beyond which a machine is too noisy. They are limits on throughput, the steadiest number of a run, because
// all operations contribute to it.
const (
	// maxSpread is the largest relative standard deviation of the runs of a side.
	maxSpread = 0.25
	// maxDrift is the largest gain or loss of a side's throughput from its first run to its last.
	maxDrift = 0.25
	// driftLevel is the significance of a drift. It is low because two sides are tested each time.
	driftLevel = 0.01
)

// noise returns why the machine was too noisy during the runs of a side; "" if it was not.
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
		return fmt.Sprintf("the runs of %s differ by ±%.0f %% in throughput: more than %.0f %% is noise of the machine",
			s.Name, 100*d, 100*maxSpread)
	}
	p, slope := trend(x)
	if d := slope * float64(len(x)-1) / median(x); p < driftLevel && max(d, -d) > maxDrift {
		return fmt.Sprintf("throughput drifted by %+.0f %% over the runs of %s, so the machine changed meanwhile", 100*d,
			s.Name)
	}
	return ""
}

// noises lists why the machine was too noisy. A change that affects both runs of a pair is not noise.
func noises(base, head Side, pairs []pair) []string {
	all := []string{noise(base), noise(head)}
	if pairs != nil {
		all = []string{pairedNoise(pairs)}
	}
	return slices.DeleteFunc(all, func(reason string) bool { return reason == "" })
}

// interleaved reports whether the two sides took turns, so that a change of the machine would have affected both.
func interleaved(base, head Side) bool {
	if len(base.Runs) == 0 || len(head.Runs) == 0 {
		return false
	}
	last := func(s Side) int64 { return s.Runs[len(s.Runs)-1].Env.StartedUnixNs }
	return head.Runs[0].Env.StartedUnixNs < last(base) && base.Runs[0].Env.StartedUnixNs < last(head)
}
