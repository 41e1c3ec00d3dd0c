package workloads

import (
	"math"
	"slices"
	"testing"
	"time"
)

// The draws have the mean and the median of the theory. Over 40,000 draws, the mean is within 4 standard errors,
// which are at most 1.2 % of the mean here, and the median within 2 %.
func TestDistributions(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name         string
		d            Distribution
		mean, median float64 // ms
		lo, hi       time.Duration
	}{
		{"nothing", Distribution{}, 0, 0, 0, 0},
		{"constant", Always(5 * ms), 5, 5, 5 * ms, 5 * ms},
		{"named constant", Distribution{Kind: Constant, Centre: 5 * ms}, 5, 5, 5 * ms, 5 * ms},
		{"uniform", Distribution{Kind: UniformOf, From: 1 * ms, To: 9 * ms}, 5, 5, 1 * ms, 9 * ms},
		{"of one value", Distribution{Kind: UniformOf, From: 4 * ms, To: 4 * ms}, 4, 4, 4 * ms, 4 * ms},
		{"exponential", Distribution{Kind: Exponential, Centre: 5 * ms}, 5, 5 * math.Ln2, 0, longest},
		{"log-normal", Distribution{Kind: LogNormal, Centre: 5 * ms, Sigma: 0.5}, 5 * math.Exp(0.125), 5, 0, longest},
	} {
		r := newRand(11)
		const n = 40_000
		all := make([]time.Duration, n)
		var sum float64
		for i := range all {
			all[i] = c.d.Draw(r)
			sum += float64(all[i]) / float64(ms)
		}
		slices.Sort(all)
		if all[0] < c.lo || all[n-1] > c.hi {
			t.Errorf("%s: from %v to %v, want %v to %v", c.name, all[0], all[n-1], c.lo, c.hi)
		}
		if mean := sum / n; math.Abs(mean-c.mean) > 0.02*c.mean {
			t.Errorf("%s: mean %.3f ms, want %.3f", c.name, mean, c.mean)
		}
		if median := float64(all[n/2]) / float64(ms); math.Abs(median-c.median) > 0.02*c.median {
			t.Errorf("%s: median %.3f ms, want %.3f", c.name, median, c.median)
		}
		if got := float64(c.d.Mean()) / float64(ms); math.Abs(got-c.mean) > 1e-3 {
			t.Errorf("%s: says its mean is %.4f ms, want %.4f", c.name, got, c.mean)
		}
		if _, fixed := c.d.Fixed(); fixed != (all[0] == all[n-1] && c.d.Kind != UniformOf) {
			t.Errorf("%s: fixed %v", c.name, fixed)
		}
	}
	if d := (Distribution{Kind: LogNormal, Centre: time.Hour, Sigma: 100}); d.Mean() > longest {
		t.Errorf("a mean of %v", d.Mean())
	}
}

// The k-th lock is drawn in proportion to 1/kˢ: within four standard deviations of 40,000 draws.
func TestZipf(t *testing.T) {
	const n, draws = 5, 40_000
	for _, s := range []float64{0, 0.5, 1, 1.1} {
		c := Choice{Zipf: s}.Of(n)
		r := newRand(5)
		var sum float64
		for k := range n {
			sum += math.Pow(float64(k+1), -s)
		}
		var one, firsts [n]int
		for range draws {
			one[c.One(r)]++
			several := c.Several(3, r)
			least := slices.Clone(several)
			slices.Sort(least)
			if len(several) != 3 || len(slices.Compact(least)) != 3 {
				t.Fatalf("drew %v", several)
			}
			firsts[several[0]]++
		}
		for k := range n {
			p := math.Pow(float64(k+1), -s) / sum
			want, off := p*draws, 4*math.Sqrt(draws*p*(1-p))
			for what, got := range map[string]int{"alone": one[k], "first of several": firsts[k]} {
				if math.Abs(float64(got)-want) > off {
					t.Errorf("zipf(%v): %d was drawn %s %d times, want %.0f ± %.0f", s, k, what, got, want, off)
				}
			}
		}
	}
}
