package advice

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// With equal weights the interval is the exact one of a Poisson count. The limits for 0 and 10 are those of tables.
func TestRateOfCounts(t *testing.T) {
	for _, c := range []struct{ n, low, high float64 }{{10, 4.795, 18.390}, {1, 0.0253, 5.572}, {100, 81.36, 121.63}} {
		r := weightedRate(c.n, c.n, 1, 1)
		if r.AYear != c.n || math.Abs(r.Low/c.low-1) > 0.001 || math.Abs(r.High/c.high-1) > 0.001 {
			t.Errorf("%v: %+v, want %v to %v", c.n, r, c.low, c.high)
		}
	}
	// The rule of three: 3/n.
	if r := weightedRate(0, 0, 1, 12); !r.Unseen || math.Abs(r.High-36) > 0.1 || r.AYear != 0 {
		t.Errorf("%+v, want at most 36", r)
	}
	if r := weightedRate(0, 0, 0, 12); r != (Rate{}) {
		t.Errorf("%+v of what cannot happen", r)
	}
}

// The intervals of rates have the true rate in at least 95 of 100 logs, also where few pauses are long.
func TestRateCoverage(t *testing.T) {
	const tick, span, pausesAYear = 2 * time.Second, 8766 * time.Hour, 5000
	h := (&Config{Tick: tick, Holding: 0.1, Reconnect: time.Second, AccessEvery: time.Second}).harmAt(10 * time.Second)
	draw := rand.New(rand.NewPCG(5, 5))
	longer := func(x float64) float64 { return math.Min(1, math.Pow(x/0.1, -1.5)) }
	want, steps := 0.0, 10_000
	for i := range steps {
		a := h.expiry.lo - h.back + (h.expiry.hi-h.expiry.lo+h.back)*float64(i)/float64(steps)
		b := a + (h.expiry.hi-h.expiry.lo+h.back)/float64(steps)
		want += (h.expires(b) - h.expires(a)) * longer((a+b)/2) * pausesAYear
	}
	count := distuv.Poisson{Lambda: pausesAYear, Src: rand.NewPCG(6, 6)}
	const logs = 1000
	covered := 0
	for range logs {
		p := Pauses{Span: span}
		for range int(count.Rand()) {
			s := 0.1 * math.Pow(1-draw.Float64(), -1/1.5)
			p.Lengths = append(p.Lengths, Length{time.Duration(s * 1e9), 1})
		}
		a := Advice{cfg: Config{Clients: 1}}
		if r := a.rate(&p, h, h.expires); r.Low <= want && want <= r.High {
			covered++
		}
	}
	t.Logf("true rate %.2f a year, in %d of %d intervals", want, covered, logs)
	if covered < logs*95/100 {
		t.Errorf("%d of %d intervals have the true rate of %.2f", covered, logs, want)
	}
}
