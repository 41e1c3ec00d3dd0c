package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Looks as benchmarks make them: after equal parts of the budget, after others, and once more when it is used up.
var manyLooks = map[string][]Look{
	"equal":    {{12, 0.2}, {24, 0.4}, {36, 0.6}, {48, 0.8}, {60, 1}},
	"unequal":  {{10, 0.2}, {25, 0.45}, {40, 0.7}, {52, 1}},
	"two late": {{50, 0.95}, {51, 1}},
}

// levels are the levels of all looks.
func levels(looks []Look, all float64) (each []float64) {
	for i, l := range looks {
		each = append(each, lookLevel(looks[:i+1], l.Pairs, all))
	}
	return each
}

// By each look, a random walk without a trend has been beyond a bound in just the share of cases that has become
// available by then.
func TestLooksUseWhatIsAvailable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, looks := range manyLooks {
		const trials, all = 200_000, 0.05
		level := levels(looks, all)
		beyond := make([]int, len(looks)) // by look, first seen there
		for range trials {
			sum, pairs := 0.0, 0
			for i, l := range looks {
				sum += rng.NormFloat64() * math.Sqrt(float64(l.Pairs-pairs))
				pairs = l.Pairs
				if math.Erfc(math.Abs(sum)/math.Sqrt(float64(2*pairs))) < level[i] {
					beyond[i]++
					break
				}
			}
		}
		found := 0
		for i, l := range looks {
			found += beyond[i]
			want := l.Spent * l.Spent * all
			if share := float64(found) / trials; math.Abs(share-want) > 4*math.Sqrt(want/trials) {
				t.Errorf("%s: by look %d: %.5f, want %.5f", name, i+1, share, want)
			}
		}
	}
}

// A look may use at least what has become available since the look before, and at most what has in all. Of a higher
// level it may use a larger share, which the metrics' levels rely on.
func TestLookLevel(t *testing.T) {
	for name, looks := range manyLooks {
		before, lower := 0.0, levels(looks, 0.02/6)
		for i, level := range levels(looks, 0.02) {
			available := looks[i].Spent * looks[i].Spent
			share := level / 0.02
			if share < available-before-1e-9 || share > available+1e-9 || lower[i]*6/0.02 > share+1e-9 {
				t.Errorf("%s: look %d may use %v of 0.02 and %v of a sixth, when %v had become available and now %v", name, i+1,
					share, lower[i]*6/0.02, before, available)
			}
			before = available
		}
	}
	looks := manyLooks["unequal"]
	for name, c := range map[string]struct{ got, want float64 }{
		"without looks":             {lookLevel(nil, 10, 0.05), 0.05},
		"the second look once more": {lookLevel(looks, 25, 0.05), lookLevel(looks[:2], 25, 0.05)},
		"pairs that no look has seen": {lookLevel(looks[:2], 40, 0.05),
			lookLevel([]Look{looks[0], looks[1], {40, 1}}, 40, 0.05)},
		"pairs after the whole budget": {lookLevel(looks, 53, 0.05), 0},
		"more time than there was":     {lookLevel([]Look{{10, 1.1}}, 10, 0.05), 0.05},
		"no time at all":               {lookLevel([]Look{{10, 0}}, 10, 0.05), 0},
	} {
		if !cmp.Equal(c.got, c.want, closely) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// A benchmark that stops as soon as the interval excludes the true difference does so in at most 5 % of all cases,
// although it looks five times.
func TestLooksKeepTheConfidence(t *testing.T) {
	if testing.Short() {
		t.Skip("draws thousands of comparisons")
	}
	rng := rand.New(rand.NewPCG(7, 7))
	const trials = 2000
	looks := manyLooks["equal"]
	level := levels(looks, 1-confidence)
	wrong := 0
	for range trials {
		d := make([]float64, looks[len(looks)-1].Pairs)
		for i := range d {
			d[i] = rng.NormFloat64()
		}
		for k, l := range looks {
			if i, ok := pairedShift(d[:l.Pairs], level[k]); ok && (i.Low > 0 || i.High < 0) {
				wrong++
				break
			}
		}
	}
	// Three standard errors either way. Far less than 0.05 would waste power.
	margin := 3 * math.Sqrt(0.05*0.95/trials)
	if share := float64(wrong) / trials; math.Abs(share-0.05) > margin {
		t.Errorf("%v of the benchmarks were wrong", share)
	}
}
