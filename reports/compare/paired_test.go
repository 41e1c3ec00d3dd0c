package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"locklab/reports/result"
)

// slowPairedP tries every choice of signs for the differences, and counts those whose sum of positive ranks is at least
// as far from its middle.
func slowPairedP(d []float64) float64 {
	d = slices.DeleteFunc(slices.Clone(d), func(v float64) bool { return v == 0 })
	rank := make([]float64, len(d))
	for i := range d {
		for j := range d {
			switch a, b := math.Abs(d[i]), math.Abs(d[j]); {
			case b < a:
				rank[i]++
			case b == a:
				rank[i] += 0.5
			}
		}
		rank[i] += 0.5
	}
	distance := func(positive func(i int) bool) float64 {
		sum := 0.0
		for i, r := range rank {
			if positive(i) {
				sum += r
			} else {
				sum -= r
			}
		}
		return math.Abs(sum)
	}
	seen := distance(func(i int) bool { return d[i] > 0 })
	extreme := 0
	for signs := range 1 << len(d) {
		if distance(func(i int) bool { return signs>>i&1 == 1 }) >= seen {
			extreme++
		}
	}
	return float64(extreme) / math.Pow(2, float64(len(d)))
}

func TestPairedPAgainstAllSigns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Whole numbers from a few, so that there are ties and zeros.
		d := rapid.SliceOfN(rapid.IntRange(-6, 6), 1, 11).Draw(t, "d")
		base, head := make([]float64, len(d)), make([]float64, len(d))
		for i, v := range d {
			base[i], head[i] = 10, 10+float64(v)
		}
		if got, want := pairedP(base, head, true), slowPairedP(differences(base, head, true)); !cmp.Equal(want, got,
			closely) {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	})
	if got := pairedP([]float64{3, 4}, []float64{3, 4}, false); got != 1 {
		t.Errorf("without a difference p is %v", got)
	}
}

// By the tables, ten differences have P(W <= 8) = 0.0244 and P(W <= 9) = 0.0322, so the nine smallest and the nine
// largest of the 55 means are cut off.
func TestPairedShiftFromTheTables(t *testing.T) {
	d := []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
	var means []float64
	for i := range d {
		for j := range i + 1 {
			means = append(means, (d[i]+d[j])/2)
		}
	}
	slices.Sort(means)
	got, ok := pairedShift(d, 0.05)
	if want := (Interval{means[27], means[8], means[46]}); !ok || !cmp.Equal(want, got, closely) {
		t.Errorf("%v, %t; want %v", got, ok, want)
	}
	for n := range 6 {
		if i, ok := pairedShift(make([]float64, n), 0.05); ok {
			t.Errorf("%d pairs: %v", n, i)
		}
	}
}

// The interval excludes 0 exactly if the test rejects it, and moves with the samples.
func TestPairedShiftAgreesWithTheTest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		by := rapid.Float64Range(-2, 2).Draw(t, "by")
		base, head := make([]float64, rapid.IntRange(6, 14).Draw(t, "n")), []float64(nil)
		for range base {
			head = append(head, rng.NormFloat64()+by)
		}
		i, ok := pairedChange(base, head, true, 0.05)
		if p, outside := pairedP(base, head, true), i.Low > 0 || i.High < 0; !ok || outside != (p <= 0.05) {
			t.Errorf("p %v, but the interval is %v, %t", p, i, ok)
		}
		for k := range head {
			head[k] += 5
		}
		if j, _ := pairedChange(base, head, true, 0.05); math.Abs(j.Low-i.Low-5) > 1e-9 ||
			math.Abs(j.Estimate-i.Estimate-5) > 1e-9 || math.Abs(j.High-i.High-5) > 1e-9 {
			t.Errorf("moved by 5, %v became %v", i, j)
		}
	})
}

// wandering returns sides of n pairs on a machine whose speed varies by far more than the change to be found, but is
// the same for both runs of a pair.
func wandering(t *testing.T, n int, head float64) (base, other string) {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	speeds := make([]float64, n)
	for i := range speeds {
		speeds[i] = 300 * math.Exp(0.4*rng.NormFloat64())
	}
	return writeSides(t, n, 1, head, func(_ string, i int, s *runSpec) { s.throughput *= speeds[i] })
}

// Pairs show what a comparison side by side cannot, because the machine affects both runs of a pair alike.
func TestPairsCancelTheMachine(t *testing.T) {
	for _, c := range []struct {
		pairs  int
		head   float64
		paired bool
		want   Verdict
	}{
		{10, 1 / 1.2, true, Regressed},
		{10, 1.2, true, Improved},
		{10, 1, true, Pass},
		{10, 1 / 1.2, false, Inconclusive},
		{10, 1, false, Inconclusive},
		{9, 1 / 1.2, true, Inconclusive}, // too few: they are compared side by side
	} {
		base, head := wandering(t, c.pairs, c.head)
		r, err := compareDirs(base, head, Options{Paired: c.paired})
		if err != nil || r.Verdict != c.want {
			t.Errorf("%+v: %s (%s), %v", c, r.Verdict, r.Reason, err)
		}
		if want := c.paired && c.pairs >= 10; r.Paired != want {
			t.Errorf("%+v: by pairs: %t", c, r.Paired)
		}
		if how := "Wilcoxon"; r.Paired != strings.Contains(r.legend(), how) {
			t.Errorf("%+v: the legend says %q", c, r.legend())
		}
	}
}

// A run whose partner is missing is left out, and a warning names it.
func TestRunsWithoutAPartner(t *testing.T) {
	base, head := loadedSides(t, 11)
	base.Runs = slices.Delete(base.Runs, 3, 4)
	r, err := Compare(base, head, Options{Paired: true}, nil)
	if err != nil || !r.Paired || r.Verdict != Pass || len(r.Warnings) != 1 ||
		!strings.Contains(r.Warnings[0], "run-03 has no partner") {
		t.Errorf("%s (%s), %v, paired %t, warnings %q", r.Verdict, r.Reason, err, r.Paired, r.Warnings)
	}
	pairs, _ := pairsOf(base, head)
	for _, p := range pairs {
		if strings.TrimPrefix(p.base.Name, base.Name) != strings.TrimPrefix(p.head.Name, head.Name) {
			t.Errorf("%s is with %s", p.base.Name, p.head.Name)
		}
	}
}

func loadedSides(t *testing.T, n int) (base, head Side) {
	t.Helper()
	baseDir, headDir := wandering(t, n, 1)
	base, err := Load(baseDir)
	if err != nil {
		t.Fatal(err)
	}
	head, err = Load(headDir)
	if err != nil {
		t.Fatal(err)
	}
	return base, head
}

// Differences that vary from pair to pair by more than any change that matters are noise, whatever their centre.
func TestNoisyPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	base, head := writeSides(t, 10, 300, 100, func(_ string, _ int,
		s *runSpec) {
		s.throughput *= math.Exp(0.6 * rng.NormFloat64())
	})
	r, err := compareDirs(base, head, Options{Paired: true})
	if err != nil || r.Verdict != Inconclusive || !strings.Contains(r.Reason, "runs made next to each other differ by") {
		t.Errorf("%s (%s), %v", r.Verdict, r.Reason, err)
	}
}

// A metric that is the same in every run costs the others nothing.
func TestConstantMetricsCostNothing(t *testing.T) {
	lines := func(constants int) []Line {
		all := []Line{{Name: "x", Gates: true, P: new(0.015), Change: &Interval{2, 1.5, 3}, quantity: result.Quantity{}}}
		for i := range constants {
			all = append(all, Line{Name: fmt.Sprint(i), Gates: true, P: new(1.0), Change: &Interval{1, 1, 1}, Tolerance: 0.2,
				constant: true})
		}
		return all
	}
	for _, n := range []int{0, 5} {
		all := lines(n)
		judge(all, false, falseAlarms)
		if all[0].Verdict != Regressed || *all[0].PAdjusted != 0.015 {
			t.Errorf("beside %d: %s, p %v", n, all[0].Verdict, *all[0].PAdjusted)
		}
		for _, l := range all[1:] {
			if l.Verdict != Pass {
				t.Errorf("%s: %s", l.Name, l.Verdict)
			}
		}
	}
}
