package workloads

import (
	"math"
	"math/rand/v2"
	"time"
)

// The ways in which work arrives.
const (
	Closed  = "closed"  // a client asks again once its last acquisition is over
	Poisson = "poisson" // whether or not anybody is free, each arrival independent of the others
	Uniform = "uniform" // whether or not anybody is free, at even gaps
)

// Arrivals is the sequence of a run's arrivals. Every client process draws the same one from
// the seed and takes those dealt to it, so their sum is as planned though they never talk. It
// serves one goroutine.
type Arrivals struct {
	pacer  Pacer
	even   bool
	rand   *rand.Rand
	at     time.Duration
	n      int
	lo, hi float64 // those dealt to us, of all in [0, 1)
}

// arrivalStream is the stream of random numbers that arrivals have; clients have those
// from 0 on.
const arrivalStream = math.MaxUint64

// NewArrivals begins the sequence, of which a process takes a part: that of its clients from first
// on among all. kind is [Poisson] or [Uniform].
func NewArrivals(kind string, pacer Pacer, seed uint64, first, clients, all int) *Arrivals {
	return &Arrivals{pacer: pacer, even: kind == Uniform, rand: rand.New(rand.NewPCG(seed, arrivalStream)),
		lo: float64(first) / float64(all), hi: float64(first+clients) / float64(all)}
}

// golden is the fractional part of the golden ratio. Its multiples modulo 1 are spread as evenly
// as can be, so even arrivals are dealt to the processes in turn, by their shares.
const golden = 0.6180339887498949

// Next returns when our next arrival is due, since the start; false if none is to come.
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
