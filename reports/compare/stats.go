package compare

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"locklab/reports/measure"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// confidence is the confidence of every interval, over all looks together.
const confidence = 0.95

// falseAlarms is the probability, over all metrics together, that a comparison of the same code shows a difference.
// It is lower than what the intervals leave, because a failure stops a person's work. Of fifty comparisons of the
// same code, at most one should fail.
const falseAlarms = 0.02

var thresholds = benchmath.Thresholds{CompareAlpha: 1 - confidence}

// An Interval is an estimate with its confidence interval.
type Interval struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// shift estimates how far head lies from base, by Hodges and Lehmann: the median of the differences of all pairs,
// with the interval that belongs to the Mann-Whitney test (Hollander and Wolfe, Nonparametric Statistical Methods,
// 4.2 and 4.3). A shift is outside the interval exactly if the test rejects it at the same level. Unlike the interval
// of a ratio of two medians, this needs no assumption and no resampling.
//
// The interval has a confidence of 1-alpha. If so few runs have none, such as 3 against 5 at 0.05, ok is false.
func shift(base, head []float64, alpha float64) (i Interval, ok bool) {
	d := make([]float64, 0, len(base)*len(head))
	for _, h := range head {
		for _, b := range base {
			d = append(d, h-b)
		}
	}
	slices.Sort(d)
	n := len(d)
	if n == 0 {
		return i, false
	}
	i.Estimate = measure.Median(d)
	cut := cutOff(len(base), len(head), alpha)
	if cut <= 0 || cut > n/2 {
		return i, false
	}
	i.Low, i.High = d[cut-1], d[n-cut]
	return i, true
}

// cutOff returns how many differences are cut off at either end: as many as U has values in the lower tail. It uses
// the exact distribution of U or the normal one, whichever the test itself uses.
func cutOff(n1, n2 int, alpha float64) int {
	if max(n1, n2) > stats.MannWhitneyExactLimit {
		return normalCutOff(n1, n2, alpha)
	}
	dist := stats.UDist{N1: n1, N2: n2}
	return sort.Search(n1*n2/2+1, func(u int) bool { return 2*dist.CDF(float64(u)) > alpha })
}

// normalCutOff takes U to be normally distributed, less half a value for its steps. For 50 against 50 it agrees with
// the exact distribution.
func normalCutOff(n1, n2 int, alpha float64) int {
	n, m := float64(n1), float64(n2)
	u := stats.NormalDist{Mu: n * m / 2, Sigma: math.Sqrt(n * m * (n + m + 1) / 12)}
	return int(math.Floor(u.InvCDF(alpha/2)-0.5)) + 1
}

// change estimates the head relative to the base: as a ratio, which is a shift of logarithms and needs positive
// values, or as a difference.
func change(base, head []float64, difference bool, alpha float64) (Interval, bool) {
	if difference {
		return shift(base, head, alpha)
	}
	i, ok := shift(logs(base), logs(head), alpha)
	i.Estimate, i.Low, i.High = math.Exp(i.Estimate), math.Exp(i.Low), math.Exp(i.High)
	return i, ok
}

func logs(x []float64) []float64 {
	l := make([]float64, len(x))
	for i, v := range x {
		l[i] = math.Log(v)
	}
	return l
}

// sampleOf makes a benchmath sample of a copy of x, because benchmath sorts its argument.
func sampleOf(x []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(x), &thresholds)
}

// pValue is the two-sided p of the Mann-Whitney test, 1 if all values are equal. It is the same for values and for
// their logarithms.
func pValue(base, head []float64, _ bool) float64 {
	return benchmath.AssumeNothing.Compare(sampleOf(base), sampleOf(head)).P
}

// leastP is the smallest p that samples of these sizes can have, which they have if all values of one side are larger
// than the other's.
func leastP(n1, n2 int) float64 {
	return min(1, 2*stats.UDist{N1: n1, N2: n2}.CDF(0))
}

// holm adjusts p values for their number (Holm 1979). With a probability of at most alpha, any of those below alpha
// is significant by chance.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	adjusted := make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = highest
	}
	return adjusted
}

// spread is how much runs of the same configuration vary: their median distance from the median, relative to it,
// times 1.4826, which makes it the standard deviation of normally distributed values.
func spread(x []float64) float64 { return deviation(x) / measure.Median(x) }

// deviation is spread in the unit of the values.
func deviation(x []float64) float64 {
	m := measure.Median(x)
	away := make([]float64, len(x))
	for i, v := range x {
		away[i] = math.Abs(v - m)
	}
	return 1.4826 * measure.Median(away)
}

// trend tests whether a series rises or falls, by Mann and Kendall. p is exact without ties, and slope is the median
// growth per step (Theil and Sen).
func trend(x []float64) (p, slope float64) {
	var score int
	var slopes []float64
	for j := range x {
		for i := range j {
			switch {
			case x[j] > x[i]:
				score++
			case x[j] < x[i]:
				score--
			}
			slopes = append(slopes, (x[j]-x[i])/float64(j-i))
		}
	}
	if len(slopes) == 0 {
		return 1, 0
	}
	// The distribution of the inversions of a random order: each element in turn is inverted with none to all of
	// those before it, with equal probability.
	chance := []float64{1}
	for n := 2; n <= len(x); n++ {
		next := make([]float64, len(chance)+n-1)
		sum := 0.0 // of the n probabilities up to k
		for k := range next {
			if k < len(chance) {
				sum += chance[k]
			}
			if k >= n {
				sum -= chance[k-n]
			}
			next[k] = sum / float64(n)
		}
		chance = next
	}
	pairs := len(slopes)
	for inversions, c := range chance {
		if extreme := pairs - 2*inversions; max(extreme, -extreme) >= max(score, -score) {
			p += c
		}
	}
	return p, measure.Median(slopes)
}

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
	if d := slope * float64(len(x)-1) / measure.Median(x); p < driftLevel && max(d, -d) > maxDrift {
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
