package chaos

import (
	"fmt"
	"math"
)

// How many datagrams are sent to count losses. One is sent each millisecond, so the largest sample takes half of the
// time for verifying a fault.
const (
	fewestProbes = 500
	mostProbes   = 5000
)

// missRate is how often a count may be judged wrong although the rule is right: half of it for too few losses, half
// for too many.
const missRate = 1e-6

// minLoss is the least share that can be verified. With a smaller share, none of [mostProbes] datagrams would be lost
// too often, so that the rule could not be told from no rule. The scenarios' validation uses the same number.
const minLoss = 0.003

// stray is the share of datagrams that a busy machine may lose by itself.
const stray = 0.01

// lossUnit is the resolution of an agent's shares, which it rounds to.
const lossUnit = 0.0001

// sampleFor returns how many datagrams tell a share of losses from none: with the rule in force, a sample without any
// loss is at most half as likely as [missRate]. The largest sample can tell shares of up to 1 - minLoss from a link
// that is cut.
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

// lossesOf returns how many of n packets are lost at least and at most by a rule of that share. The most includes
// what the machine may lose by itself. The least does not, because such losses must not make up for a rule that loses
// too little.
func lossesOf(n int, share float64) (least, most int) {
	drawn := math.Round(share/lossUnit) * lossUnit
	least, _ = lossBounds(n, drawn)
	_, most = lossBounds(n, 1-(1-drawn)*(1-stray))
	return least, most
}

// lossBounds returns how many of n packets are lost, at least and at most, if each is lost with the probability
// share. Fewer and more are each lost in at most half of [missRate], by the tails of the binomial distribution.
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

// binomial returns the probability of k losses among n packets, for 0 < p < 1. It goes by the logarithm, because the
// factors overflow.
func binomial(n, k int, p float64) float64 {
	gamma := func(x int) float64 { lg, _ := math.Lgamma(float64(x)); return lg }
	return math.Exp(gamma(n+1) - gamma(k+1) - gamma(n-k+1) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}
