package workloads

import (
	"math"
	"math/rand/v2"
	"time"
)

// The ways in which work arrives.
const (
	Closed  = "closed"  // each client asks again when its last acquisition is over
	Poisson = "poisson" // arrivals are independent of each other and of whether a client is free
	Uniform = "uniform" // arrivals come at even intervals, whether or not a client is free
)

// Arrivals is the sequence of a run's arrivals. Every client process draws the same sequence from the seed and takes
// the arrivals dealt to it, so together they keep to the plan although they never communicate. It serves one
// goroutine.
type Arrivals struct {
	pacer  Pacer
	even   bool
	rand   *rand.Rand
	at     time.Duration
	n      int
	lo, hi float64 // the range of deals in [0, 1) that this process takes
}

// arrivalStream is the number of the random stream of arrivals; clients have the streams from 0 on.
const arrivalStream = math.MaxUint64

// NewArrivals begins the sequence. The process has the clients from first on, out of all, and takes their share of it.
// kind is [Poisson] or [Uniform].
func NewArrivals(kind string, pacer Pacer, seed uint64, first, clients, all int) *Arrivals {
	return &Arrivals{pacer: pacer, even: kind == Uniform, rand: rand.New(rand.NewPCG(seed, arrivalStream)),
		lo: float64(first) / float64(all), hi: float64(first+clients) / float64(all)}
}

// golden is the fractional part of the golden ratio. Its multiples modulo 1 are spread as evenly as possible, so even
// arrivals are dealt to the processes in turn and in proportion to their shares.
const golden = 0.6180339887498949

// Next returns when the process's next arrival is due, since the start; false if there is none.
func (a *Arrivals) Next() (time.Duration, bool) {
	for {
		gap, deal := 1.0, 0.0
		if a.even {
			_, deal = math.Modf(float64(a.n) * golden)
		} else {
			gap, deal = a.rand.ExpFloat64(), a.rand.Float64()
		}
		at, ok := a.pacer.Next(a.at, gap)
		if !ok {
			return 0, false
		}
		a.at = at
		a.n++
		if a.lo <= deal && deal < a.hi {
			return at, true
		}
	}
}
