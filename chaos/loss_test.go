package chaos

import (
	"math"
	"math/big"
	"testing"
)

// exactly returns the probability that from lo to hi of n packets are lost. Each probability is computed from the one
// before it, in numbers that do not underflow. share is in thousandths.
func exactly(n, lo, hi int, share int64) float64 {
	number := func(i int64) *big.Float { return new(big.Float).SetPrec(200).SetInt64(i) }
	if share == 1000 {
		if lo <= n && n <= hi {
			return 1
		}
		return 0
	}
	one, sum := number(1), number(0)
	for range n {
		one.Mul(one, number(1000-share)).Quo(one, number(1000)) // none is lost
	}
	for k := 0; k <= hi; k++ {
		if k >= lo {
			sum.Add(sum, one)
		}
		one.Mul(one, number(int64(n-k)*share)).Quo(one, number(int64(k+1)*(1000-share)))
	}
	f, _ := sum.Float64()
	return f
}

// A correct rule is judged wrong once in a million looks, whatever its share, and a missing rule is always noticed.
func TestLossIsJudgedByItsDistribution(t *testing.T) {
	for _, share := range []int64{3, 5, 20, 29, 50, 300, 500, 980, 999, 1000} {
		p := float64(share) / 1000
		n, err := sampleFor(p)
		if err != nil || n > mostProbes {
			t.Fatalf("%g: %d datagrams, %v", p, n, err)
		}
		least, most := lossBounds(n, p)
		t.Logf("a share of %g: %d to %d of %d", p, least, most, n)
		if least < 1 {
			t.Errorf("a share of %g: no rule passes for one", p)
		}
		if l, m := lossesOf(n, p); l != least || m < most || m > most+n/10 {
			t.Errorf("a share of %g: %d to %d of %d with the machine's own losses, %d to %d without", p, l, m, n, least, most)
		}
		// The tails beyond the bounds are rare enough, and the tails that include the bounds are not, so the bounds
		// are as narrow as they can be.
		const slack = 1 + 1e-6 // of the logarithms
		if below := exactly(n, 0, least-1, share); below > missRate/2*slack {
			t.Errorf("a share of %g: fewer than %d of %d at %g", p, least, n, below)
		}
		if above := exactly(n, most+1, n, share); above > missRate/2*slack {
			t.Errorf("a share of %g: more than %d of %d at %g", p, most, n, above)
		}
		if share < 1000 && (exactly(n, 0, least, share)*slack < missRate/2 || exactly(n, most, n, share)*slack < missRate/2) {
			t.Errorf("a share of %g: %d to %d of %d is wider than it has to be", p, least, most, n)
		}
	}
}

// A share that could not be told from no loss, or that is not a share, is refused before any harm is done.
func TestLossThatCannotBeVerified(t *testing.T) {
	for _, share := range []float64{0, -1, 0.0001, minLoss * 0.99, 1.01, math.NaN(), math.Inf(1)} {
		if n, err := sampleFor(share); err == nil {
			t.Errorf("a share of %v is counted over %d datagrams", share, n)
		}
	}
	if least, _ := lossBounds(mostProbes, minLoss/2); least > 0 {
		t.Error("half of the least share could be verified as well")
	}
}
