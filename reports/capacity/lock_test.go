package capacity

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// near reports whether a value is within a share of what it should be.
func near(got, want, share float64) bool { return math.Abs(got-want) <= share*math.Abs(want) }

// One lock that clients come back to after 50 ms, and that each takes for 7.5 ms.
func TestOneLock(t *testing.T) {
	l := Lock{Hold: 0.005, Handoff: 0.0025, Think: 0.05, Variation: 1}
	if n := l.Knee(); !near(n, 57.5/7.5, 1e-9) {
		t.Errorf("the knee is at %v clients", n)
	}
	// With exponential times this is exact mean value analysis: 1, 2, 4 … clients by hand.
	for _, c := range []struct {
		clients int
		x, wait float64 // per second; acquire and hold, in seconds
	}{{1, 17.4, 0.0075}, {2, 34.2, 0.0085}, {4, 65.4, 0.0112}, {8, 112, 0.0214}, {16, 133, 0.0703}, {32, 133, 0.190},
		{64, 133, 0.430}} {
		if x := l.Throughput(c.clients); !near(x, c.x, 0.01) {
			t.Errorf("%d clients: %.1f a second, want %.1f", c.clients, x, c.x)
		}
		if r := l.Acquire(c.clients) + l.Hold; c.clients > 1 && !near(r, c.wait, 0.03) {
			t.Errorf("%d clients: %.4f s, want %.4f", c.clients, r, c.wait)
		}
	}
	if most := l.Most(64); !near(most, 1/0.0075, 1e-9) {
		t.Errorf("at most %v a second", most)
	}
}

// The bounds hold, more clients are never slower, and more locks or permits never worse.
func TestThroughputIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		l := Lock{Hold: rng.Float64() * 0.02, Handoff: 0.0001 + rng.Float64()*0.005, Enqueue: rng.Float64() * 0.005,
			Release: rng.Float64() * 0.003,
			Think:   rng.Float64() * 0.05, Variation: rng.Float64(), Permits: rng.IntN(8), Locks: rng.IntN(20)}
		last := 0.0
		for n := 1; n <= 200; n++ {
			x := l.Throughput(n)
			if x < last*(1-1e-9) || x > float64(n)/(l.Away()+l.Service())*(1+1e-9) || x > l.Most(1<<20)*(1+1e-9) {
				t.Fatalf("%+v: %d clients %v a second after %v; at most %v", l, n, x, last, l.Most(1<<20))
			}
			last = x
		}
		more := l
		more.Locks = 2 * max(l.Locks, 1)
		if more.Throughput(200) < last*(1-1e-9) {
			t.Fatalf("%+v: twice as many locks are slower", l)
		}
	}
}

// queue simulates a first-come lock of a closed loop, event by event, to test the model. Times are constant, or
// exponential.
type queue struct {
	permits  int
	readers  float64
	hold     float64
	handoff  float64
	away     float64
	reader   float64 // the time between the grants to two readers of a round
	drawn    bool    // times are exponential
	clients  int
	requests int
}

// throughput simulates the queue. Clients are served in order: a writer alone, readers together, permits as they
// become free.
func (q queue) throughput(rng *rand.Rand) float64 {
	draw := func(mean float64) float64 {
		if q.drawn {
			return mean * rng.ExpFloat64()
		}
		return mean
	}
	type arrival struct {
		at    float64
		reads bool
	}
	var waiting []arrival
	push := func(at float64) {
		a := arrival{at, rng.Float64() < q.readers}
		i, _ := slices.BinarySearchFunc(waiting, a, func(x, y arrival) int {
			if x.at <= y.at {
				return -1
			}
			return 1
		})
		waiting = slices.Insert(waiting, i, a)
	}
	for range q.clients {
		push(draw(q.away) * rng.Float64())
	}
	free := make([]float64, max(q.permits, 1)) // when each permit is
	var writer, readers float64                // when the last of each will be gone
	entered := math.Inf(-1)                    // when the last reader came in
	last := 0.0
	for range q.requests {
		a := waiting[0]
		waiting = waiting[1:]
		var start float64
		s := draw(q.hold + q.handoff)
		switch {
		case q.readers == 0:
			i := slices.Index(free, slices.Min(free))
			start = max(a.at, free[i])
			free[i] = start + s
		case a.reads:
			start = max(a.at, writer, last) // in order
			if q.reader > 0 {
				start = max(start, entered+q.reader)
				entered = start
			}
			readers = max(readers, start+s)
		default:
			start = max(a.at, writer, readers, last)
			writer = start + s
		}
		last = max(last, start)
		push(start + s + draw(q.away))
	}
	return float64(q.requests) / last
}

// The models agree with a simulated queue: within a twentieth if the lock is saturated, within a seventh around the
// knee.
func TestAgainstSimulatedQueues(t *testing.T) {
	for _, q := range []queue{
		{hold: 0.005, handoff: 0.002, away: 0.003},
		{hold: 0.005, handoff: 0.002, away: 0.06},
		{hold: 0.005, handoff: 0.002, away: 0.06, drawn: true},
		{permits: 4, hold: 0.005, handoff: 0.002, away: 0.003},
		{permits: 4, hold: 0.005, handoff: 0.002, away: 0.06, drawn: true},
		{readers: 0.9, hold: 0.005, handoff: 0.002, away: 0.003},
		{readers: 0.5, hold: 0.005, handoff: 0.002, away: 0.003},
		{readers: 0.9, hold: 0.005, handoff: 0.002, away: 0.003, reader: 0.0006},
		{readers: 0.9, hold: 0.005, handoff: 0.002, away: 0.003, reader: 0.0015},
	} {
		l := Lock{Hold: q.hold, Handoff: q.handoff, Think: q.away, Permits: q.permits, ReadShare: q.readers, Reader: q.reader}
		if q.drawn {
			l.Variation = 1
		}
		for _, n := range []int{1, 2, 4, 8, 16, 64, 256} {
			q.clients, q.requests = n, 40_000
			want := q.throughput(rand.New(rand.NewPCG(7, uint64(n))))
			tolerance := 0.15
			if float64(n) > 4*l.Knee() {
				tolerance = 0.05
			}
			if got := l.Throughput(n); !near(got, want, tolerance) {
				t.Errorf("%+v, %d clients: the model says %.1f a second, the queue %.1f", q, n, got, want)
			}
		}
	}
}

// If the times of readers are random, the slowest of a round counts. The model assumes rounds of the mean size, so its
// throughput is a little too low; a model of constant times would be half as much too high.
func TestReadersWithRandomTimes(t *testing.T) {
	q := queue{readers: 0.9, hold: 0.005, handoff: 0.002, away: 0.003, drawn: true, clients: 256, requests: 40_000}
	want := q.throughput(rand.New(rand.NewPCG(7, 256)))
	l := Lock{Hold: q.hold, Handoff: q.handoff, Think: q.away, ReadShare: q.readers, Variation: 1}
	if x := l.Throughput(q.clients); x < 1.5*want {
		t.Errorf("without spread the model says %.1f a second, the queue %.1f", x, want)
	}
	l.Spread = l.Service()
	if x := l.Throughput(q.clients); x > want || x < 0.85*want {
		t.Errorf("the model says %.1f a second, the queue %.1f", x, want)
	}
}

// Permits behind a gate are as fast as the gate, however many there are.
func TestGate(t *testing.T) {
	l := Lock{Hold: 0.005, Handoff: 0.002}
	l.Permits, l.Gate = 4, 0.004
	for n, want := range map[int]float64{1: 1 / 0.007, 64: 250, 256: 250} {
		if x := l.Throughput(n); !near(x, want, 0.01) {
			t.Errorf("%d clients: %.1f a second, want %.1f", n, x, want)
		}
	}
	if w := l.Wait(240); math.IsInf(w, 1) || w < 0.04 {
		t.Errorf("just below what the gate lets through, the wait is %v", w)
	}
	if w := l.Wait(260); !math.IsInf(w, 1) {
		t.Errorf("beyond it, the wait is %v", w)
	}
}

// A gate whose times vary sometimes finds all permits in use, and loses the time for which it waits for them.
func TestGateThatVaries(t *testing.T) {
	for name, c := range map[string]struct {
		draw   func(rng *rand.Rand) float64 // of mean 1
		spread float64
	}{
		"exponential": {(*rand.Rand).ExpFloat64, 1},
		"Erlang": {func(rng *rand.Rand) float64 {
			return (rng.ExpFloat64() + rng.ExpFloat64() +
				rng.ExpFloat64()) / 3
		}, 1 / math.Sqrt(3)},
		"uniform":  {func(rng *rand.Rand) float64 { return 0.7 + 0.6*rng.Float64() }, 0.6 / math.Sqrt(12)},
		"constant": {func(*rand.Rand) float64 { return 1 }, 0},
	} {
		for _, gate := range []float64{0.0025, 0.0035} {
			const hold, release, n = 0.0055, 0.0015, 40_000
			l := Lock{Hold: hold, Handoff: 0.002, Release: release, Permits: 4, Gate: gate, GateSpread: c.spread * gate}
			rng := rand.New(rand.NewPCG(3, 8))
			permits := make([]float64, l.Permits)
			now := 0.0
			for range n {
				free := slices.Index(permits, slices.Min(permits))
				now = max(now, permits[free]) + gate*c.draw(rng)
				permits[free] = now + hold + release
			}
			for range 2 {
				if want, got := n/now, l.Most(256); !near(got, want, 0.04) {
					t.Errorf("%s gate of %v s: %.1f a second, the model says %.1f of %+v", name, gate, want, got, l)
				}
				l.Release, l.Use = 0.0005, hold+release // a release that takes longer among many
			}
		}
	}
}

// Readers that are granted together are as slow as the slowest of them, and delay each other.
func TestStragglers(t *testing.T) {
	l := Lock{Hold: 0.005, Handoff: 0.003, Spread: 0.001, ReadShare: 0.9}
	// One writer takes 8 ms, with 9 readers in 0.9 rounds of 8 ms + 1 ms × (r/2 + r²/3 + … = -ln(1-r)/r - 1).
	want := 10 / (0.008 + 0.9*(0.008+0.001*1.5584))
	if x := l.Most(1 << 20); !near(x, want, 0.001) {
		t.Errorf("%.1f a second, want %.1f", x, want)
	}
	// A round has ten readers, nine of whom make it 1.2 ms longer each.
	l.Spread, l.Reader = 0, 0.0012
	if x, want := l.Most(1<<20), 10/(0.008+0.9*(0.008+9*0.0012)); !near(x, want, 0.001) {
		t.Errorf("%.1f a second, want %.1f", x, want)
	}
	// Of at most three in the queue: all three read, or two before a writer, or one: 1 + r + r² = 2.71 to a round.
	if got, want := l.together(3), 10/(1+0.9/0.271*(0.008+1.71*0.0012)/0.008); !near(got, want, 0.001) {
		t.Errorf("%.3f of three together, want %.3f", got, want)
	}
	// The mean of 1, 1 + 1/2 and 1 + 1/2 + 1/3, weighted by the shares of rounds of that size.
	if got, want := harmonic(3, 0.9), 0.1*1+0.09*1.5+0.81*(1.5+1.0/3); !near(got, want, 1e-9) {
		t.Errorf("the longest of a round is %.4f times the mean, want %.4f", got, want)
	}
}
