package workloads

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

// The kinds of distributions.
const (
	Constant    = "constant"
	UniformOf   = "uniform"
	Exponential = "exponential"
	LogNormal   = "log-normal"
)

// A Distribution is the distribution of a length of time, such as that of a hold. The zero value always draws 0.
type Distribution struct {
	Kind string `json:"kind,omitempty"` // empty = Constant
	// Centre is the constant, the mean of an exponential distribution, or the median of a log-normal one.
	Centre time.Duration `json:"centre_ns,omitempty"`
	// From and To bound a uniform distribution.
	From time.Duration `json:"from_ns,omitempty"`
	To   time.Duration `json:"to_ns,omitempty"`
	// Sigma is the standard deviation of the logarithm of a log-normal distribution.
	Sigma float64 `json:"sigma,omitempty"`
}

// Always returns the distribution of a constant time d.
func Always(d time.Duration) Distribution { return Distribution{Centre: d} }

// longest caps the draws, because times longer than any run are useless and might overflow.
const longest = 24 * time.Hour

// Draw draws a length of time.
func (d Distribution) Draw(r *rand.Rand) time.Duration {
	var x float64
	switch d.Kind {
	case UniformOf:
		return d.From + time.Duration(r.Int64N(int64(d.To-d.From)+1))
	case Exponential:
		x = r.ExpFloat64() * float64(d.Centre)
	case LogNormal:
		x = math.Exp(r.NormFloat64()*d.Sigma) * float64(d.Centre)
	default:
		return d.Centre
	}
	return time.Duration(min(x, float64(longest)))
}

// Mean returns the mean of the draws.
func (d Distribution) Mean() time.Duration {
	switch d.Kind {
	case UniformOf:
		return d.From + (d.To-d.From)/2
	case LogNormal:
		return time.Duration(min(math.Exp(d.Sigma*d.Sigma/2)*float64(d.Centre), float64(longest)))
	}
	return d.Centre
}

// Fixed returns the constant, and whether the distribution is constant.
func (d Distribution) Fixed() (time.Duration, bool) {
	return d.Centre, d.Kind == "" || d.Kind == Constant
}

// A Choice says how often each of several locks is asked for. The zero value is uniform.
type Choice struct {
	// Zipf is the exponent s of Zipf's law: the k-th lock is asked for in proportion to
	// 1/kˢ. 0 means that all are equally likely.
	Zipf float64 `json:"zipf,omitempty"`
	// Dealt gives each client one lock for good: client i the lock i modulo their number.
	Dealt bool `json:"dealt,omitempty"`
}

// A Chooser draws from n things by a [Choice]. Many goroutines may share it, each with its
// own source of randomness.
type Chooser struct {
	n      int
	weight []float64 // nil means that all are equally likely
	sum    []float64 // cumulative weights
}

// Of prepares to draw from n things. (The standard library's generator does not accept exponents of 1 or less, and
// those are the most common ones.)
func (c Choice) Of(n int) *Chooser {
	ch := &Chooser{n: n}
	if c.Zipf == 0 {
		return ch
	}
	var sum float64
	for k := range n {
		w := math.Pow(float64(k+1), -c.Zipf)
		sum += w
		ch.weight, ch.sum = append(ch.weight, w), append(ch.sum, sum)
	}
	return ch
}

// One draws an index.
func (c *Chooser) One(r *rand.Rand) int {
	if c.weight == nil {
		return r.IntN(c.n)
	}
	x := r.Float64() * c.sum[c.n-1]
	return min(sort.SearchFloat64s(c.sum, x), c.n-1)
}

// Several draws k different indices, in any order. With weights, this is sampling without replacement. It draws a key
// for each index from the exponential distribution whose rate is the weight and takes the k smallest keys (Efraimidis
// and Spirakis, 2006), which needs no retries.
func (c *Chooser) Several(k int, r *rand.Rand) []int {
	if c.weight == nil {
		return r.Perm(c.n)[:k]
	}
	keys := make([]float64, c.n)
	order := make([]int, c.n)
	for i := range order {
		order[i], keys[i] = i, r.ExpFloat64()/c.weight[i]
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(keys[a], keys[b]) })
	return order[:k]
}
