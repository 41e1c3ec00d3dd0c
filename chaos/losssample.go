package chaos

import (
	"fmt"
	"math"
)

// How many datagrams a loss is counted over: one a millisecond, so the most of them take half of the time for
// verifying a fault.
const (
	fewestProbes = 500
	mostProbes   = 5000
)

// missRate is how often a count may be wrong about a rule that is right: half of it by too little, half by too much.
const missRate = 1e-6

// minLoss is the least share that can be verified: of fewer losses among [mostProbes], none at all would come
// too often to be told from no rule. The scenarios' validation has the same number.
const minLoss = 0.003

// stray is the share of datagrams that a busy machine may lose by itself.
const stray = 0.01

// lossUnit is the finest share that an agent draws; it rounds to that.
const lossUnit = 0.0001

// sampleFor is how many datagrams tell a share of losses from none: with the rule in force, none is lost at most in
// half of [missRate]. From a link that is cut, shares are told as well as the most of them can: up to 1 - minLoss.
func sampleFor(share float64) (int, error) {
	if !(share >= minLoss && share <= 1) {
		return 0, fmt.Errorf("a loss of %g of the packets cannot be verified, want %g to 1", share, minLoss)
	}
	n := fewestProbes
	if rare := min(share, 1-share); rare > 0 {
		n = max(n, int(math.Ceil(math.Log(missRate/2)/math.Log1p(-rare))))
	}
	return min(n, mostProbes), nil
}

// lossesOf is how many of n packets are lost at least and at most by a rule of that share. The most includes what the
// machine may lose by itself; no loss of its own makes up for a rule that loses too little.
func lossesOf(n int, share float64) (least, most int) {
	drawn := math.Round(share/lossUnit) * lossUnit
	least, _ = lossBounds(n, drawn)
	_, most = lossBounds(n, 1-(1-drawn)*(1-stray))
	return least, most
}

// lossBounds is how many of n packets are lost, at least and at most, if each is with the probability share: fewer and more
// are lost each in at most half of [missRate], by the tails of the binomial distribution.
func lossBounds(n int, share float64) (least, most int) {
	if share == 1 {
		return n, n
	}
	tail := 0.0
	for least = 0; tail+binomial(n, least, share) <= missRate/2; least++ {
		tail += binomial(n, least, share)
	}
	tail = 0
	for most = n; tail+binomial(n, most, share) <= missRate/2; most-- {
		tail += binomial(n, most, share)
	}
	return least, most
}

// binomial is the probability of k of n, 0 < p < 1. It is computed by its logarithm, since its factors overflow.
func binomial(n, k int, p float64) float64 {
	gamma := func(x int) float64 { lg, _ := math.Lgamma(float64(x)); return lg }
	return math.Exp(gamma(n+1) - gamma(k+1) - gamma(n-k+1) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}
