package workloads

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A Pacer says when work arrives, as a pure function of time. It does not know what arrives, and draws nothing at
// random: gaps are counted in arrivals. A gap that is always 1 gives even arrivals, and gaps drawn from the
// exponential distribution of mean 1 give a Poisson process of the same rate, whether or not that rate changes.
type Pacer interface {
	// Next returns the time by which gap more arrivals have come in after elapsed; false if they never do. Both times
	// are since the start.
	Next(elapsed time.Duration, gap float64) (time.Duration, bool)
	// Rate returns how many arrivals per second are planned at a time since the start.
	Rate(elapsed time.Duration) float64
}

// Rates is a [Pacer] whose rate is a straight line in each of its pieces, which follow one
// another without a gap. Before the first piece the rate is its start, and after the last piece it is its end.
type Rates []Piece

// A Piece is a stretch of time in which the rate goes evenly from one value to another.
type Piece struct {
	Length time.Duration `json:"length_ns"`
	From   float64       `json:"from"` // arrivals per second
	To     float64       `json:"to"`
}

// Next implements [Pacer].
//
// The number of arrivals in t seconds of a piece that begins with rate r and changes by k a
// second is rt + kt²/2. For g arrivals, t is computed as 2g/(r + √(r²+2kg)), which is also defined for k = 0.
func (p Rates) Next(elapsed time.Duration, gap float64) (time.Duration, bool) {
	var begin time.Duration
	for _, piece := range p {
		end := begin + piece.Length
		if elapsed >= end {
			begin = end
			continue
		}
		slope := (piece.To - piece.From) / piece.Length.Seconds()
		rate := piece.From + slope*(elapsed-begin).Seconds()
		rest := (end - elapsed).Seconds()
		whole := rest * (rate + piece.To) / 2
		if gap < whole {
			t := 2 * gap / (rate + math.Sqrt(max(0, rate*rate+2*slope*gap)))
			return elapsed + seconds(min(t, rest)), true
		}
		gap -= whole
		elapsed, begin = end, end
	}
	last := p.last()
	if last <= 0 {
		return 0, false
	}
	t := gap / last
	if t > forever.Seconds() {
		return 0, false
	}
	return elapsed + seconds(t), true
}

// Rate implements [Pacer].
func (p Rates) Rate(elapsed time.Duration) float64 {
	elapsed = max(elapsed, 0)
	for _, piece := range p {
		if elapsed < piece.Length {
			return piece.From + (piece.To-piece.From)*elapsed.Seconds()/piece.Length.Seconds()
		}
		elapsed -= piece.Length
	}
	return p.last()
}

func (p Rates) last() float64 {
	if len(p) == 0 {
		return 0
	}
	return p[len(p)-1].To
}

// Most returns the highest rate that is ever planned.
func (p Rates) Most() float64 {
	var most float64
	for _, piece := range p {
		most = max(most, piece.From, piece.To)
	}
	return most
}

// forever is longer than any run.
const forever = 365 * 24 * time.Hour

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

// A RatePlan says at which rate work arrives in a run: always the same, a ramp over the measured window, or steps of
// equal length in it. During the warm-up the rate is the first one.
type RatePlan struct {
	// Rates are in arrivals per second over all clients: one; or the two ends of a ramp; or one for each step.
	Rates []float64
	Ramp  bool
}

// Pacer applies the plan to a run. Its times count from the beginning of the warm-up.
func (p RatePlan) Pacer(warmup, window time.Duration) Rates {
	if len(p.Rates) == 0 {
		return nil
	}
	all := Rates{{Length: warmup, From: p.Rates[0], To: p.Rates[0]}}
	if p.Ramp {
		all = append(all, Piece{Length: window, From: p.Rates[0], To: p.Rates[1]})
	} else {
		for _, r := range p.Rates {
			all = append(all, Piece{Length: window / time.Duration(len(p.Rates)), From: r, To: r})
		}
	}
	return slices.DeleteFunc(all, func(p Piece) bool { return p.Length <= 0 })
}

// Equal reports whether both plans are the same.
func (p RatePlan) Equal(q RatePlan) bool { return p.Ramp == q.Ramp && slices.Equal(p.Rates, q.Rates) }

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
