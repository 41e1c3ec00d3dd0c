package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The looks together use what one comparison would, however many there are.
func TestLooksShareTheErrors(t *testing.T) {
	looks := []Look{{10, 0.2}, {25, 0.45}, {40, 0.7}, {52, 1}}
	total := 0.0
	for i, l := range looks {
		total += shareOfErrors(looks[:i+1], l.Pairs)
		if left := shareOfErrors(looks[:i+1], l.Pairs+1); !cmp.Equal(1-l.Spent*l.Spent, left, closely) {
			t.Errorf("after %+v, other pairs get %v", l, left)
		}
	}
	if !cmp.Equal(1.0, total, closely) || shareOfErrors(nil, 10) != 1 {
		t.Errorf("%v in all, %v without looks", total, shareOfErrors(nil, 10))
	}
	if got := shareOfErrors(looks, 25); !cmp.Equal(0.45*0.45-0.04, got, closely) {
		t.Errorf("the second look once more gets %v", got)
	}
}

// A benchmark that stops as soon as the interval excludes the true difference does so in at most 5 % of all cases,
// although it looks five times.
func TestLooksKeepTheConfidence(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const trials, pairs = 2000, 60
	wrong := 0
	for range trials {
		d := make([]float64, pairs)
		for i := range d {
			d[i] = rng.NormFloat64()
		}
		var looks []Look
		for n := pairs / 5; n <= pairs; n += pairs / 5 {
			looks = append(looks, Look{n, float64(n) / pairs})
			if i, ok := pairedShift(d[:n], shareOfErrors(looks, n)*(1-confidence)); ok && (i.Low > 0 || i.High < 0) {
				wrong++
				break
			}
		}
	}
	// At most 0.05 and three standard errors; at least half of it, or power would be wasted.
	if share := float64(wrong) / trials; share > 0.05+3*math.Sqrt(0.05*0.95/trials) || share < 0.025 {
		t.Errorf("%v of the benchmarks were wrong", share)
	}
}
