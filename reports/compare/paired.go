package compare

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"locklab/reports/measure"
)

// Two sides that took turns are compared pair by pair. The runs of a pair were made within seconds of each other, so
// the state of the machine affects both alike, and does not count as a difference between the runs of a side. On two
// cores that eight builds shared, with runs of 2 s, the standard deviation of throughput was 21 % from run to run,
// but 9 % (per run) within pairs. For acquire.p99 the two were 68 % and 36 %.

// A pair is two runs that were made next to each other.
type pair struct{ base, head *Run }

// pairsOf matches the runs with the same name. It also returns the names of those without a partner.
func pairsOf(base, head Side) (pairs []pair, over []string) {
	partner := map[string]*Run{}
	for i := range head.Runs {
		partner[filepath.Base(head.Runs[i].Name)] = &head.Runs[i]
	}
	for i := range base.Runs {
		name := filepath.Base(base.Runs[i].Name)
		if h := partner[name]; h != nil {
			pairs = append(pairs, pair{&base.Runs[i], h})
			delete(partner, name)
		} else {
			over = append(over, base.Runs[i].Name)
		}
	}
	for _, h := range partner {
		over = append(over, h.Name)
	}
	slices.Sort(over)
	return pairs, over
}

// apart returns the sides with only the runs of the pairs, in their order.
func apart(base, head Side, pairs []pair) (Side, Side) {
	base.Runs, head.Runs = nil, nil
	for _, p := range pairs {
		base.Runs, head.Runs = append(base.Runs, *p.base), append(head.Runs, *p.head)
	}
	return base, head
}

// enoughPairs reports whether a number of pairs can show that one of a family of metrics differs. A pair's sign has one
// bit at most, so six pairs have p = 0.03 at best, which is not significant among five metrics, while six against six
// runs that are not paired have 0.002. Six metrics take ten pairs.
func enoughPairs(pairs, family int) bool {
	return leastSignedP(pairs)*float64(family) < falseAlarms
}

// leastSignedP is the smallest p that a number of pairs can have, which is the p of differences of the same sign.
func leastSignedP(pairs int) float64 { return math.Pow(2, 1-float64(pairs)) }

// differences returns the differences within pairs, of logarithms unless the metric is compared by difference.
func differences(base, head []float64, difference bool) []float64 {
	if !difference {
		base, head = logs(base), logs(head)
	}
	d := make([]float64, len(base))
	for i := range d {
		d[i] = head[i] - base[i]
	}
	return d
}

// pairedShift estimates the centre of the differences by Hodges and Lehmann: the median of the means of all pairs of
// differences, including each with itself, and the interval that belongs to the signed-rank test (Hollander and
// Wolfe, 3.2 and 3.3). It has a confidence of 1-alpha. If so few pairs have none, fewer than six at 0.05, ok is false.
func pairedShift(d []float64, alpha float64) (i Interval, ok bool) {
	var means []float64
	for k := range d {
		for j := range k + 1 {
			means = append(means, (d[k]+d[j])/2)
		}
	}
	slices.Sort(means)
	n := len(means)
	if n == 0 {
		return i, false
	}
	i.Estimate = measure.Median(means)
	ranks := make([]int, len(d))
	for k := range ranks {
		ranks[k] = k + 1
	}
	chance := signedRanks(ranks)
	cut, tail := 0, 0.0
	for ; cut <= n/2 && 2*(tail+chance[cut]) <= alpha; cut++ {
		tail += chance[cut]
	}
	if cut == 0 || cut > n/2 {
		return i, false
	}
	i.Low, i.High = means[cut-1], means[n-cut]
	return i, true
}

// pairedChange is [change] for pairs.
func pairedChange(base, head []float64, difference bool, alpha float64) (Interval, bool) {
	i, ok := pairedShift(differences(base, head, difference), alpha)
	if !difference {
		i.Estimate, i.Low, i.High = math.Exp(i.Estimate), math.Exp(i.Low), math.Exp(i.High)
	}
	return i, ok
}

// PairedRatio estimates how many times base head is, from runs that were made in turn: both sides have a value above 0
// of each pair. It has no interval, and ok is false, of fewer than six pairs.
func PairedRatio(base, head []float64) (i Interval, ok bool) {
	return pairedChange(base, head, false, 1-confidence)
}

// A number that a run lacks may have been anything: the machine may have stopped for a moment, or the lock. So an
// answer must hold whatever the number was. The ends of an interval and p are monotone in each difference, so it does
// if it holds for a pair whose head is far above its base, and for one whose head is far below.

// far is a number that is above all others, by so much that means of it and of others are, too.
const far = 1e200

// known returns the pairs that have a difference, and how many others there are. Nothing has a ratio to 0.
func known(base, head []float64, difference bool) (b, h []float64, unknown int) {
	usable := func(v float64) bool { return !math.IsNaN(v) && (difference || v != 0) }
	for i := range base {
		if !usable(base[i]) || !usable(head[i]) {
			unknown++
			continue
		}
		b, h = append(b, base[i]), append(h, head[i])
	}
	return b, h, unknown
}

// withFar appends pairs whose heads are far above their bases, or below, each by another number, so that no ranks are
// tied.
func withFar(base, head []float64, pairs int, difference, above bool) (b, h []float64) {
	b, h = slices.Clone(base), slices.Clone(head)
	for i := range pairs {
		of, to := 1.0, far*float64(i+1)
		switch {
		case difference && above:
			of = 0
		case difference:
			of, to = 0, -to
		case !above:
			to = 1 / to
		}
		b, h = append(b, of), append(h, to)
	}
	return b, h
}

// withUnknownChange is [pairedChange] for pairs beside which there are some that are not known. It has no interval, so
// ok is false, if they are so many that it has no end.
func withUnknownChange(unknown int) func(base, head []float64, difference bool, alpha float64) (Interval, bool) {
	return func(base, head []float64, difference bool, alpha float64) (Interval, bool) {
		i, ok := pairedChange(base, head, difference, alpha)
		if !ok || unknown == 0 {
			return i, ok
		}
		b, h := withFar(base, head, unknown, difference, true)
		above, hasHigh := pairedChange(b, h, difference, alpha)
		b, h = withFar(base, head, unknown, difference, false)
		below, hasLow := pairedChange(b, h, difference, alpha)
		i.Low, i.High = below.Low, above.High
		lowest := 1 / endless
		if difference {
			lowest = -endless
		}
		return i, hasHigh && hasLow && i.High < endless && i.Low > lowest
	}
}

// endless is what no end of an interval comes to without a pair that is far apart.
const endless = 1e50

// withUnknownP is [pairedP], of the two values that unknown pairs may give it the larger one.
func withUnknownP(unknown int) func(base, head []float64, difference bool) float64 {
	return func(base, head []float64, difference bool) float64 {
		p := pairedP(base, head, difference)
		if unknown > 0 {
			for _, above := range []bool{true, false} {
				b, h := withFar(base, head, unknown, difference, above)
				p = max(p, pairedP(b, h, difference))
			}
		}
		return p
	}
}

// pairedP is the two-sided p of Wilcoxon's signed-rank test, which is exact with ties too. Pairs without a difference
// are left out. If no pair has one, p is 1.
func pairedP(base, head []float64, difference bool) float64 {
	d := slices.DeleteFunc(differences(base, head, difference), func(v float64) bool { return v == 0 })
	slices.SortFunc(d, func(a, b float64) int { return cmp.Compare(math.Abs(a), math.Abs(b)) })
	// Ranks are doubled, so that ties, which share the mean of their ranks, have whole numbers.
	ranks := make([]int, len(d))
	for from := 0; from < len(d); {
		to := from
		for to < len(d) && math.Abs(d[to]) == math.Abs(d[from]) {
			to++
		}
		for k := from; k < to; k++ {
			ranks[k] = from + 1 + to
		}
		from = to
	}
	positive, all := 0, 0
	for k, r := range ranks {
		all += r
		if d[k] > 0 {
			positive += r
		}
	}
	p := 0.0
	for sum, c := range signedRanks(ranks) {
		if sum <= min(positive, all-positive) {
			p += c
		}
	}
	return min(1, 2*p)
}

// signedRanks returns the probability of each sum of the ranks of positive differences, if both signs are equally
// likely.
func signedRanks(ranks []int) []float64 {
	chance := []float64{1}
	for _, r := range ranks {
		next := make([]float64, len(chance)+r)
		for sum, c := range chance {
			next[sum] += c / 2
			next[sum+r] += c / 2
		}
		chance = next
	}
	return chance
}

// pairedNoise says why the machine was too noisy to judge by the pairs; "" if it was not.
func pairedNoise(pairs []pair) string {
	var d []float64
	for _, p := range pairs {
		b, h := p.base.Result.Throughput.AcquiredPerS, p.head.Result.Throughput.AcquiredPerS
		if b != nil && h != nil && *b > 0 && *h > 0 {
			d = append(d, math.Log(*h / *b))
		}
	}
	if len(d) < MinRuns {
		return ""
	}
	if s := deviation(d) / math.Sqrt2; s > maxSpread {
		return fmt.Sprintf("runs made next to each other differ by ±%.0f %% in throughput: more than %.0f %% is noise "+
			"of the machine", 100*s, 100*maxSpread)
	}
	return ""
}
