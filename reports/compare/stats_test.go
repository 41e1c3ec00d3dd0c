package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var closely = cmpopts.EquateApprox(1e-9, 1e-12)

// For five against four, 1, 1 and 2 of the 126 orders have a U of 0, 1 and 2. At both ends together, U <= 1 has a
// probability of 2 × 2/126 = 0.032 and U <= 2 of 0.063, so the bounds are the second differences from either end.
func TestShiftByHand(t *testing.T) {
	base, head := []float64{1, 2, 3, 4, 5}, []float64{11, 22, 33, 44}
	// Differences: 6 7 8 9 10, 17…21, 28…32, 39…43.
	got, ok := shift(base, head, 0.05)
	if want := (Interval{24.5, 7, 42}); !ok || !cmp.Equal(want, got, closely) {
		t.Errorf("%v, %t; want %v", got, ok, want)
	}
}

// The interval excludes 0 exactly if the test has p < 0.05, and moves with the samples.
func TestShiftAgreesWithTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(4, 12).Draw(t, "n"), rapid.IntRange(4, 12).Draw(t, "m")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		base, head := make([]float64, n), make([]float64, m)
		for i := range base {
			base[i] = rng.NormFloat64()
		}
		by := rapid.Float64Range(-2, 2).Draw(t, "by")
		for i := range head {
			head[i] = rng.NormFloat64() + by
		}
		i, ok := shift(base, head, 0.05)
		if !ok {
			t.Fatalf("no interval for %d against %d", n, m)
		}
		if p, outside := pValue(base, head, true), i.Low > 0 || i.High < 0; outside != (p <= 0.05) {
			t.Errorf("p %v, but the interval is %v", p, i)
		}
		if !(i.Low <= i.Estimate && i.Estimate <= i.High) {
			t.Errorf("%v is not in order", i)
		}
		for k := range head {
			head[k] += 5
		}
		if j, _ := shift(base, head, 0.05); math.Abs(j.Low-i.Low-5) > 1e-9 || math.Abs(j.Estimate-i.Estimate-5) > 1e-9 ||
			math.Abs(j.High-i.High-5) > 1e-9 {
			t.Errorf("moved by 5, %v became %v", i, j)
		}
	})
}

// The interval contains a known ratio in 95 % of many comparisons, or a little more.
func TestIntervalCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const trials, ratio = 4000, 1.3
	covered := 0
	for range trials {
		base, head := make([]float64, 6), make([]float64, 6)
		for i := range base {
			base[i] = math.Exp(0.2 * rng.NormFloat64())
			head[i] = ratio * math.Exp(0.2*rng.NormFloat64())
		}
		if i, ok := change(base, head, false, 0.05); ok && i.Low <= ratio && ratio <= i.High {
			covered++
		}
	}
	// Exactly 1 − 2 × 0.02056 = 0.9589 for six against six; ± 4 standard errors.
	if share := float64(covered) / trials; share < 0.946 || share > 0.972 {
		t.Errorf("%v of the intervals hold the ratio", share)
	}
}

// Sides as large as bench makes them take no longer than sorting their differences does.
func TestShiftOfLargeSides(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range [][2]int{{51, 51}, {400, 400}, {999, 999}, {4, 999}} {
		base, head := make([]float64, n[0]), make([]float64, n[1])
		for i := range base {
			base[i] = rng.NormFloat64()
		}
		for i := range head {
			head[i] = rng.NormFloat64() + 0.5
		}
		i, ok := shift(base, head, 0.05)
		// 1.96 standard errors of a difference of two means, of which the estimate has 95 % of the efficiency.
		wide := 2 * 1.96 * math.Sqrt(1/float64(n[0])+1/float64(n[1])) / math.Sqrt(0.955)
		if got := i.High - i.Low; !ok || i.Estimate < i.Low || i.Estimate > i.High || min(n[0], n[1]) > 50 &&
			math.Abs(got/wide-1) > 0.2 {
			t.Errorf("%v: %v, %t; want one %.3f wide", n, i, ok, wide)
		}
		if p, outside := pValue(base, head, true), i.Low > 0 || i.High < 0; outside != (p <= 0.05) {
			t.Errorf("%v: p %v, but the interval is %v", n, p, i)
		}
	}
	for _, n := range [][2]int{{50, 50}, {40, 50}} {
		if exact, normal := cutOff(n[0], n[1], 0.05), normalCutOff(n[0], n[1], 0.05); max(exact-normal, normal-exact) > 1 {
			t.Errorf("%v: %d are cut off, and %d by the normal distribution", n, exact, normal)
		}
	}
}

func TestTooFewRunsHaveNoInterval(t *testing.T) {
	for _, n := range [][2]int{{0, 0}, {1, 9}, {3, 3}, {0, 8}} {
		if i, ok := shift(make([]float64, n[0]), make([]float64, n[1]), 0.05); ok {
			t.Errorf("%d against %d: %v", n[0], n[1], i)
		}
	}
}

// 2 over the binomial coefficient: 6, 20, 70, 924.
func TestLeastP(t *testing.T) {
	for _, c := range []struct {
		n1, n2 int
		want   float64
	}{{2, 2, 2.0 / 6}, {3, 3, 2.0 / 20}, {4, 4, 2.0 / 70}, {6, 6, 2.0 / 924}} {
		if got := leastP(c.n1, c.n2); !cmp.Equal(c.want, got, closely) {
			t.Errorf("%d against %d: %v, want %v", c.n1, c.n2, got, c.want)
		}
	}
}

func TestHolm(t *testing.T) {
	// 0.01×4, 0.02×3, 0.03×2 and 0.04×1, none below the one before.
	if diff := cmp.Diff([]float64{0.06, 0.04, 0.06, 0.06}, holm([]float64{0.03, 0.01, 0.02, 0.04}), closely); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]float64{1, 1}, holm([]float64{0.8, 0.9}), closely); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := holm(nil); len(got) != 0 {
		t.Errorf("%v of nothing", got)
	}
}

func TestSpread(t *testing.T) {
	// Median 100, distances 0 10 10 20 30.
	if got := spread([]float64{70, 90, 100, 110, 120}); !cmp.Equal(0.14826, got, closely) {
		t.Errorf("%v, want 0.14826", got)
	}
}

func TestTrend(t *testing.T) {
	for _, c := range []struct {
		x        []float64
		p, slope float64
	}{
		{[]float64{1, 2, 3, 4}, 2.0 / 24, 1},       // two of 24 orders are as extreme
		{[]float64{8, 6, 4, 2, 0}, 2.0 / 120, -2},  // two of 120
		{[]float64{1, 2, 4, 3}, 8.0 / 24, 5.0 / 6}, // at most one inversion, either way: 2 × (1 + 3)
		{[]float64{5, 5, 5, 5}, 1, 0},
		{[]float64{5}, 1, 0},
	} {
		p, slope := trend(c.x)
		if !cmp.Equal(c.p, p, closely) || !cmp.Equal(c.slope, slope, closely) {
			t.Errorf("%v: p %v, slope %v; want %v, %v", c.x, p, slope, c.p, c.slope)
		}
	}
}

// A series as long as those of bench is tested fast, by the same distribution as short ones.
func TestTrendOfLongSeries(t *testing.T) {
	if testing.Short() {
		t.Skip("compares many runs")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	x := make([]float64, 999)
	for i := range x {
		x[i] = rng.Float64()
	}
	// Kendall's score is about normal, with a variance of n(n-1)(2n+5)/18.
	score := 0.0
	for j := range x {
		for i := range j {
			score += math.Copysign(1, x[j]-x[i])
		}
	}
	n := float64(len(x))
	want := math.Erfc((math.Abs(score) - 1) / math.Sqrt(n*(n-1)*(2*n+5)/18) / math.Sqrt2)
	if p, _ := trend(x); math.Abs(p-want) > 0.001 {
		t.Errorf("p %v, want about %v", p, want)
	}
}
