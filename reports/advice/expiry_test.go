package advice

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"locklab/harness/check/evidence"
)

// The distribution function and its integrals agree with drawn delays, within the limits and beyond.
func TestDelayAgainstDraws(t *testing.T) {
	d := expiryDelay(evidence.Expiry{Timeout: 6 * time.Second, Tick: 2 * time.Second})
	if d.lo != 4 || d.hi != 9 || d.mean != 6.5 {
		t.Fatalf("from %v to %v, mean %v; want 4 to 9, 6.5", d.lo, d.hi, d.mean)
	}
	draw := rand.New(rand.NewPCG(7, 7))
	const n = 200_000
	drawn := make([]float64, n)
	for i := range drawn {
		drawn[i] = 4 + 2*draw.Float64() + draw.Float64() + 2*draw.Float64()
	}
	for _, x := range []float64{3, 4, 4.5, 5.5, 6.5, 7.7, 8.9, 9, 12} {
		var cdf, once, twice float64
		for _, v := range drawn {
			if v <= x {
				cdf++
				once += x - v
				twice += (x - v) * (x - v) / 2
			}
		}
		for name, c := range map[string]struct{ got, want, tolerance float64 }{
			"cdf":       {d.cdf(x), cdf / n, 0.005},
			"integral":  {d.integral(x), once / n, 0.01},
			"integral2": {d.integral2(x), twice / n, 0.01 + 0.01*twice/n},
		} {
			if math.Abs(c.got-c.want) > c.tolerance {
				t.Errorf("%s at %v is %v, drawn %v", name, x, c.got, c.want)
			}
		}
	}
}
