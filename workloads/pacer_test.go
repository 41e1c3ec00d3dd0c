package workloads

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// drawRates draws a profile of a few pieces, some of which have rate 0.
func drawRates(t *rapid.T) Rates {
	var p Rates
	for range rapid.IntRange(1, 4).Draw(t, "pieces") {
		rate := func(label string) float64 {
			return float64(rapid.SampledFrom([]int{0, 0, 1, 10, 333, 5000}).Draw(t, label))
		}
		p = append(
			p,
			Piece{
				Length: time.Duration(rapid.Int64Range(1, 20_000).Draw(t, "ms")) * time.Millisecond,
				From:   rate("from"),
				To:     rate("to"),
			},
		)
	}
	return p
}

const steps = 5_000

// due returns how many arrivals a profile has between two times. It is an oracle that adds small steps instead of
// solving quadratic equations.
func due(p Pacer, from, to time.Duration) float64 {
	step := (to - from).Seconds() / steps
	var sum float64
	for i := range steps {
		at := from + time.Duration((float64(i)+0.5)*step*float64(time.Second))
		sum += p.Rate(at) * step
	}
	return sum
}

// Between a time and the next arrival, the number of arrivals due is the gap.
func TestNextArrivalIsDueWhenTheRateSaysSo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawRates(t)
		from := time.Duration(rapid.Int64Range(0, 60_000).Draw(t, "from")) * time.Millisecond
		gap := rapid.SampledFrom([]float64{0.1, 1, 3.7, 200}).Draw(t, "gap")
		at, ok := p.Next(from, gap)
		if !ok {
			if p.last() > 0 {
				t.Fatalf("nothing after %v, though the last rate is %v", from, p.last())
			}
			return
		}
		if at < from {
			t.Fatalf("%v is before %v", at, from)
		}
		// A jump of the rate may fall anywhere in a step of the oracle.
		off := 4 * (at - from).Seconds() / steps * p.Most()
		if n := due(p, from, at); math.Abs(n-gap) > 1e-6*gap+1e-6+off {
			t.Errorf("%.4f arrivals due from %v to %v, want %.4f", n, from, at, gap)
		}
	})
}

func TestPlans(t *testing.T) {
	for _, c := range []struct {
		name string
		plan RatePlan
		at   map[time.Duration]float64
	}{
		{"constant", RatePlan{Rates: []float64{50}}, map[time.Duration]float64{0: 50, time.Second: 50, time.Minute: 50}},
		{"ramp", RatePlan{Rates: []float64{100, 300}, Ramp: true}, map[time.Duration]float64{0: 100, 2 * time.Second: 100,
			7 * time.Second: 200, 12 * time.Second: 300, time.Minute: 300}},
		{"steps", RatePlan{Rates: []float64{100, 200, 50}}, map[time.Duration]float64{0: 100, 3 * time.Second: 100,
			6 * time.Second: 200, 9 * time.Second: 50, time.Minute: 50}},
	} {
		p := c.plan.Pacer(2*time.Second, 10*time.Second)
		for at, want := range c.at {
			if got := p.Rate(at); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %v a second after %v, want %v", c.name, got, at, want)
			}
		}
	}
	if r := (RatePlan{Rates: []float64{3}}).Pacer(0, time.Second); len(r) != 1 {
		t.Errorf("without a warm-up: %v", r)
	}
	if _, ok := (Rates{{Length: time.Second, From: 5}}).Next(0, 10); ok {
		t.Error("an arrival after the rate has fallen to 0")
	}
	if _, ok := (Rates{}).Next(0, 1); ok {
		t.Error("an arrival at no rate")
	}
}

// take returns the arrivals of a process up to a time.
func take(a *Arrivals, until time.Duration) []time.Duration {
	var all []time.Duration
	for {
		at, ok := a.Next()
		if !ok || at > until {
			return all
		}
		all = append(all, at)
	}
}

// However the clients are divided into processes, each arrival occurs in exactly one process, and each process has
// its share.
func TestProcessesShareArrivals(t *testing.T) {
	pacer := RatePlan{Rates: []float64{1000}}.Pacer(0, 10*time.Second)
	for _, kind := range []string{Poisson, Uniform} {
		whole := take(NewArrivals(kind, pacer, 7, 0, 16, 16), 10*time.Second)
		got := map[time.Duration]int{}
		first := 0
		for _, clients := range []int{1, 5, 10} {
			part := take(NewArrivals(kind, pacer, 7, first, clients, 16), 10*time.Second)
			first += clients
			for _, at := range part {
				got[at]++
			}
			// Of 10,000, four standard deviations at most: √(n·p·(1−p)) ≤ 50.
			if share := len(whole) * clients / 16; len(part) < share-200 || len(part) > share+200 {
				t.Errorf("%s: %d clients of 16 have %d arrivals of %d", kind, clients, len(part), len(whole))
			}
		}
		for _, at := range whole {
			if got[at]--; got[at] < 0 {
				t.Fatalf("%s: no process has the arrival at %v", kind, at)
			}
		}
		for at, n := range got {
			if n != 0 {
				t.Fatalf("%s: %d too many at %v", kind, n, at)
			}
		}
	}
}

// Uniform arrivals are evenly spaced, and nearly so in each process.
func TestUniformArrivals(t *testing.T) {
	pacer := RatePlan{Rates: []float64{100}}.Pacer(0, time.Minute)
	for i, at := range take(NewArrivals(Uniform, pacer, 1, 0, 4, 4), time.Minute) {
		if want := time.Duration(i+1) * 10 * time.Millisecond; at != want {
			t.Fatalf("arrival %d at %v, want %v", i, at, want)
		}
	}
	last := time.Duration(0)
	for _, at := range take(NewArrivals(Uniform, pacer, 1, 2, 2, 4), time.Minute) {
		if gap := at - last; gap > 30*time.Millisecond {
			t.Fatalf("half of them have a gap of %v, of 20 ms on average", gap)
		}
		last = at
	}
}

// The gaps of a Poisson process are exponential: their mean and standard deviation are the same, and
// so is the share of gaps that are above the mean, 1/e.
func TestPoissonArrivals(t *testing.T) {
	pacer := RatePlan{Rates: []float64{1000}}.Pacer(0, 20*time.Second)
	at := take(NewArrivals(Poisson, pacer, 3, 0, 1, 1), 20*time.Second)
	n := len(at)
	if n < 20_000-566 || n > 20_000+566 { // four standard deviations, √20000 each
		t.Fatalf("%d arrivals, want about 20,000", n)
	}
	var sum, squares float64
	above := 0
	for i := 1; i < n; i++ {
		gap := (at[i] - at[i-1]).Seconds() * 1000
		sum, squares = sum+gap, squares+gap*gap
		if gap > 1 {
			above++
		}
	}
	mean := sum / float64(n-1)
	deviation := math.Sqrt(squares/float64(n-1) - mean*mean)
	share := float64(above) / float64(n-1)
	if math.Abs(deviation-mean) > 0.05 || math.Abs(share-1/math.E) > 0.014 {
		t.Errorf("gaps of mean %.3f ms, deviation %.3f ms, %.3f of them above 1 ms", mean, deviation, share)
	}
	again := take(NewArrivals(Poisson, pacer, 3, 0, 1, 1), time.Second)
	other := take(NewArrivals(Poisson, pacer, 4, 0, 1, 1), time.Second)
	if again[0] != at[0] || other[0] == at[0] {
		t.Errorf("first arrival at %v, with the same seed at %v, with another at %v", at[0], again[0], other[0])
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
