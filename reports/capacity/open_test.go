package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The waits in M/M/1, M/D/1 and M/M/k are those of the textbooks.
func TestOpenQueues(t *testing.T) {
	for _, c := range []struct {
		name string
		Lock
		rate, want float64
	}{
		{"M/M/1 at ρ=0.5", Lock{Hold: 0.01, Variation: 1}, 50, 0.01},
		{"M/D/1 at ρ=0.5", Lock{Hold: 0.01}, 50, 0.005},
		{"M/D/1 at ρ=0.9", Lock{Hold: 0.01}, 90, 0.045},
		{"M/M/2 at ρ=0.5", Lock{Hold: 0.01, Variation: 1, Permits: 2}, 100, 0.01 / 3},
		{"two locks are two queues", Lock{Hold: 0.01, Variation: 1, Locks: 2}, 100, 0.01},
	} {
		if got := c.Wait(c.rate); !near(got, c.want, 1e-9) {
			t.Errorf("%s: waits %v s, want %v", c.name, got, c.want)
		}
		if got := c.Wait(1000); !math.IsInf(got, 1) {
			t.Errorf("%s: beyond what it can take it waits %v", c.name, got)
		}
	}
}

// played simulates a queue with k servers at random arrivals and returns the waits.
func played(rng *rand.Rand, rate, service float64, k, n int) []float64 {
	free := make([]float64, k)
	waits := make([]float64, 0, n)
	at := 0.0
	for range n {
		at += rng.ExpFloat64() / rate
		i := slices.Index(free, slices.Min(free))
		start := max(at, free[i])
		waits = append(waits, start-at)
		free[i] = start + service
	}
	return waits
}

// Most locks have constant holds. No formula is exact for the tail of their waits, but this one is close.
func TestWaitsAgainstSimulatedQueues(t *testing.T) {
	for _, c := range []struct {
		permits int
		load    float64 // of each permit
	}{{1, 0.5}, {1, 0.8}, {1, 0.95}, {4, 0.8}, {4, 0.95}} {
		l := Lock{Hold: 0.01, Permits: c.permits}
		rate := c.load * float64(c.permits) / 0.01
		waits := played(rand.New(rand.NewPCG(3, 4)), rate, 0.01, c.permits, 600_000)
		var sum float64
		for _, w := range waits {
			sum += w
		}
		slices.Sort(waits)
		if got, want := l.Wait(rate), sum/float64(len(waits)); !near(got, want, 0.12) {
			t.Errorf("%d permits at %v: the mean wait is %.5f s, of the queue %.5f", c.permits, c.load, got, want)
		}
		if got, want := l.WaitQuantile(rate, 0.99), waits[len(waits)*99/100]; !near(got, want, 0.2) {
			t.Errorf("%d permits at %v: p99 of the wait is %.5f s, of the queue %.5f", c.permits, c.load, got, want)
		}
	}
	if q := (Lock{Hold: 0.01}).WaitQuantile(0.5, 0.99); q != 0 {
		t.Errorf("where one in 200 waits, p99 is %v", q)
	}
}

// The probability of waiting has no jumps between whole numbers of permits.
func TestErlangCIsContinuous(t *testing.T) {
	for k := 1.0; k < 9; k += 0.01 {
		if a, b := erlangC(0.9, k), erlangC(0.9, k+0.01); b > a+1e-12 || a-b > 0.02 {
			t.Fatalf("%v servers: %v, %v servers: %v", k, a, k+0.01, b)
		}
	}
	if c := erlangC(2, 3); !near(c, 4.0/9, 1e-9) {
		t.Errorf("C(3, 2) is %v, want 4/9", c)
	}
}
