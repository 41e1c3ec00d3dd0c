package capacity

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// noisy returns a law's throughput at some loads, with a relative error of that standard deviation.
func noisy(u USL, rng *rand.Rand, sd float64, loads ...float64) []Point {
	var all []Point
	for _, n := range loads {
		all = append(all, Point{n, u.At(n) * (1 + sd*rng.NormFloat64())})
	}
	return all
}

// A fit recovers the law behind noisy points: its throughput over the measured range, and its parameters as far as
// they make a difference there.
func TestFitRecoversTheLaw(t *testing.T) {
	loads := []float64{1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128}
	for _, want := range []USL{{130, 0.02, 0.0003}, {130, 0.15, 0}, {1000, 0, 0.001}, {5, 0.5, 0.00001},
		{250, 0.05, 0.00005}, {80, 0, 0}} {
		for seed := range uint64(20) {
			f, err := FitUSL(noisy(want, rand.New(rand.NewPCG(seed, 1)), 0.03, loads...))
			if err != nil {
				t.Fatal(err)
			}
			if f.Lambda <= 0 || f.Sigma < 0 || f.Kappa < 0 {
				t.Errorf("%+v: fitted %+v", want, f.USL)
			}
			if !near(f.Lambda, want.Lambda, 0.06) || math.Abs(f.Sigma-want.Sigma) > 0.02+0.15*want.Sigma ||
				math.Abs(f.Kappa-want.Kappa) > 0.0002+0.25*want.Kappa {
				t.Errorf("%+v, seed %d: fitted %+v", want, seed, f.USL)
			}
			for _, n := range loads {
				if !near(f.At(n), want.At(n), 0.06) {
					t.Errorf("%+v, seed %d: %.1f at %v, want %.1f", want, seed, f.At(n), n, want.At(n))
				}
			}
			if *f.R2 < 0.95 || !f.Trusted() {
				t.Errorf("%+v, seed %d: R² is %v", want, seed, *f.R2)
			}
		}
	}
	f, err := FitUSL(noisy(USL{130, 0.02, 0.0003}, nil0(), 0, 1, 2, 4, 8, 16, 32, 64))
	if err != nil || !near(f.Lambda, 130, 1e-3) || !near(f.Sigma, 0.02, 1e-2) || !near(f.Kappa, 0.0003, 1e-2) ||
		*f.R2 < 0.999999 {
		t.Errorf("without noise %+v, %v", f, err)
	}
	if peak, ok := f.Peak(); !ok || !near(peak, math.Sqrt(0.98/0.0003), 0.01) {
		t.Errorf("peak at %v, %t", peak, ok)
	}
}

func nil0() *rand.Rand { return rand.New(rand.NewPCG(0, 0)) }

// A fit does not answer for loads beyond twice the measured range, and promises no peak there.
func TestFitRefusesToGuess(t *testing.T) {
	f, err := FitUSL(noisy(USL{100, 0.01, 1e-6}, nil0(), 0, 1, 2, 4, 8, 16))
	if err != nil {
		t.Fatal(err)
	}
	if err := Within(32, f.From, f.To); err != nil || !near(f.At(32), USL{100, 0.01, 1e-6}.At(32), 0.01) {
		t.Errorf("at twice the range: %v, %v", f.At(32), err)
	}
	if err := Within(33, f.From, f.To); !errors.Is(err, ErrTooFar) {
		t.Errorf("beyond: %v", err)
	}
	if n, ok := f.Peak(); ok {
		t.Errorf("a peak at %v, of 1 to 16", n)
	}
	if f.Trusted() {
		t.Error("five points are trusted")
	}
	if _, err := FitUSL(noisy(USL{100, 0, 0}, nil0(), 0, 1, 2, 4, 1, 2, 4)); !errors.Is(err, ErrTooFew) {
		t.Errorf("three loads: %v", err)
	}
	for _, bad := range []Point{{0, 1}, {1, 0}, {1, math.NaN()}, {math.Inf(1), 1}, {1, -1}} {
		if f, err := FitUSL([]Point{{1, 1}, {2, 2}, {3, 3}, bad}); err == nil {
			t.Errorf("%v is fitted: %+v", bad, f)
		}
	}
}

// If throughput is always the same, there are no differences to explain, so R² is not defined.
func TestFitOfConstantThroughput(t *testing.T) {
	var points []Point
	for _, n := range []float64{1, 2, 4, 8, 16, 32} {
		points = append(points, Point{n, 100})
	}
	f, err := FitUSL(points)
	if err != nil || f.R2 != nil {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, p := range points {
		if !near(f.At(p.Load), 100, 0.01) {
			t.Errorf("%.1f at %v", f.At(p.Load), p.Load)
		}
	}
}

// A law has a peak only if throughput was seen to turn, and not if noise gives a law without a peak some κ.
func TestPeakIsSeen(t *testing.T) {
	loads := []float64{1, 2, 4, 8, 16, 32, 64}
	told := func(u USL) (n int) {
		for seed := range uint64(100) {
			f, err := FitUSL(noisy(u, rand.New(rand.NewPCG(seed, 3)), 0.05, loads...))
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := f.Peak(); ok {
				n++
			}
		}
		return n
	}
	if n := told(USL{100, 0.07, 0}); n > 10 { // 5 % of 100 by chance
		t.Errorf("a law without a peak was given one %d times in 100", n)
	}
	if n := told(USL{100, 0.03, 0.0015}); n < 90 {
		t.Errorf("a peak at 25 of 1 to 64 was found %d times in 100", n)
	}
	// The results of a sweep over 1 to 32 locks on two busy cores: throughput still grows.
	f, err := FitUSL([]Point{{1, 79.8}, {2, 155.4}, {4, 380.2}, {8, 519.6}, {16, 698}, {32, 835}})
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := f.Peak(); ok {
		t.Errorf("a peak at %.1f locks, where throughput was highest at 32", n)
	}
}
