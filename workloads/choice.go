package workloads

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

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
