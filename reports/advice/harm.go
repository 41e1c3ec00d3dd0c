package advice

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"locklab/harness/check/evidence"
	"locklab/workloads/guard"
)

// A harm is how likely a pause of a client is to do harm at one session timeout.
type harm struct {
	expiry delay // from the beginning of the pause to the session's expiry
	// The widths of its parts: the times from one ping to the next, from one report to the next, and a tick.
	ping, report, tick float64
	// back is how many seconds after the pause the servers hear at the latest of a client that has to connect again.
	back    float64
	holding float64 // the share of its time in which the client holds the lock
	// Of the accesses under the lock: the seconds from one to the next, and from the check of one to its effect.
	every, access float64
}

func (c *Config) harmAt(timeout time.Duration) harm {
	e := evidence.Expiry{Timeout: timeout, Tick: c.Tick}
	return harm{
		expiry:  expiryDelay(e),
		ping:    e.PingEvery().Seconds(),
		report:  e.ReportEvery().Seconds(),
		tick:    e.Tick.Seconds(),
		back:    c.Reconnect.Seconds(),
		holding: c.Holding,
		every:   c.AccessEvery.Seconds(),
		access:  c.Access.Seconds(),
	}
}

// whileAway returns the time from the beginning of a pause of that many seconds to the session's expiry, of the pauses
// after which the client has to connect again, and the share that they are of all pauses of that length.
//
// A client connects again if it has had no answer for 2/3 T when the pause is over. It sends a ping every T/3, so it
// does after every pause of 2/3 T, and after none of T/3. In between it does if its last ping was long ago. The servers
// hear at once of a client that stays connected, and its session lives.
func (h harm) whileAway(length float64) (delay, float64) {
	switch late := length - h.ping; {
	case late >= h.ping:
		return h.expiry, 1
	case late <= 0:
		return h.expiry, 0
	default:
		return newDelay(h.expiry.lo, late, h.report, h.tick), late / h.ping
	}
}

// expires returns the probability that a pause of that many seconds ends the session: that the session expires before
// the servers hear of the client again.
func (h harm) expires(length float64) float64 {
	if h.back == 0 {
		return h.expiry.cdf(length)
	}
	expiry, share := h.whileAway(length)
	return share * (expiry.integral(length+h.back) - expiry.integral(length)) / h.back
}

// untold returns the probability that, after a pause of that many seconds, an access of a client that only waits to be
// told has its effect after the session's expiry: one that the pause interrupted between check and effect, or one that
// the client begins before it hears of the expiry.
//
// If the session expired during the pause, and the client hears of it after r, then the access gets through whose check
// was within the last moments before the pause or is within r after it: with probability min(1, (access+r)/every). If
// it expired after the pause, and the client hears of it l later, the probability is min(1, l/every). This is the mean
// over the expiry and over r, by parts.
func (h harm) untold(length float64) float64 {
	asleep := h.expiry.cdf(length)
	if h.back == 0 {
		return asleep * h.inFlight()
	}
	expiry, share := h.whileAway(length)
	awake := expiry.integral2(length+h.back) - expiry.integral2(length) - min(h.back, h.every)*expiry.integral(length)
	if h.back > h.every {
		awake -= expiry.integral2(length+h.back-h.every) - expiry.integral2(length)
	}
	awake = awake/h.back/h.every - asleep*h.within(0)
	return min(1, max(0, asleep*h.within(h.access)+share*awake))
}

// within returns the probability that a check falls into a time that begins so long before the end of the pause and
// lasts until the client is heard of.
func (h harm) within(before float64) float64 {
	if rest := h.every - before; h.back > rest {
		return (rest*(before+rest/2)/h.every + h.back - rest) / h.back
	}
	return (before + h.back/2) / h.every
}

// inFlight returns the share of the time in a hold in which an access has been checked and has not had its effect.
func (h harm) inFlight() float64 { return h.access / h.every }

// doubleHold returns the probability that a pause of that many seconds makes a double hold that a guard lets through.
// It must meet a hold. A client that does not ask its guard goes on with what it did. A client with a lease clock knows
// when its hold is over, so only an access that was checked before the pause gets through. A guard at the resource lets
// nothing through.
func (h harm) doubleHold(g guard.Guard, length float64) float64 {
	switch {
	case g.RefusesStale():
		return 0
	case !g.Asks():
		return h.holding * h.expires(length)
	case g.LeaseClock:
		return h.holding * h.inFlight() * h.expiry.cdf(length)
	}
	return h.holding * h.untold(length)
}

// usable reports whether a guard can be used with a session timeout.
func usable(g guard.Guard, timeout, tick time.Duration) bool {
	return !g.LeaseClock || timeout > guard.LeaseClockLeast*tick
}

// Year is a year of 365.25 days.
const Year = 8766 * time.Hour

// confidence is the confidence of every interval.
const confidence = 0.95

// A Rate is how often something happens a year, with its 95 % interval.
//
// Its interval is that of Fay and Feuer for a weighted sum of Poisson counts (Confidence intervals for directly
// standardized rates, Statistics in Medicine 16, 1997), where the weight of a pause is the probability that it does
// harm. If all weights are equal, it is the exact interval of a Poisson count. If no pause that was seen can do harm,
// the rate is at most High at 95 % (the rule of three), and there is no estimate.
type Rate struct {
	AYear float64 `json:"a_year"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	// Unseen says that no pause of the input was long enough.
	Unseen bool `json:"unseen,omitempty"`
}

// weightedRate returns the rate of a sum of weights. squares is the sum of their squares and most the largest weight
// that a pause can have; factor makes rates a year of them.
func weightedRate(sum, squares, most, factor float64) Rate {
	switch {
	case most == 0:
		return Rate{}
	case sum <= 0:
		return Rate{High: -math.Log(1-confidence) * most * factor, Unseen: true}
	}
	tail := (1 - confidence) / 2
	low := distuv.Gamma{Alpha: sum * sum / squares, Beta: sum / squares}
	n, v := sum+most, squares+most*most
	high := distuv.Gamma{Alpha: n * n / v, Beta: n / v}
	return Rate{AYear: factor * sum, Low: factor * low.Quantile(tail), High: factor * high.Quantile(1-tail)}
}

// A delay is a sum of independent times that are evenly distributed, in seconds: lo and, for each width, anything
// from 0 to it. Its distribution function is piecewise a polynomial (Feller, An Introduction to Probability Theory and
// Its Applications II, I.9).
type delay struct {
	lo, hi, mean, variance float64
	// A sum over all subsets of the widths: each has a sign by its number, and an offset by its sum.
	offsets, signs []float64
	scale          float64 // 1 / the product of the widths
	n              int     // of the widths
}

func newDelay(lo float64, widths ...float64) delay {
	d := delay{lo: lo, hi: lo, mean: lo, offsets: []float64{lo}, signs: []float64{1}, scale: 1, n: len(widths)}
	for _, w := range widths {
		d.hi += w
		d.mean += w / 2
		d.variance += w * w / 12
		d.scale /= w
		for i := range d.offsets {
			d.offsets, d.signs = append(d.offsets, d.offsets[i]+w), append(d.signs, -d.signs[i])
		}
	}
	return d
}

// expiryDelay returns the distribution of the time from the beginning of a client's silence to its session's expiry.
func expiryDelay(e evidence.Expiry) delay {
	return newDelay(e.Earliest().Seconds(), e.PingEvery().Seconds(), e.ReportEvery().Seconds(), e.Tick.Seconds())
}

// cdf returns the probability that the delay is at most x.
func (d delay) cdf(x float64) float64 {
	switch {
	case x <= d.lo:
		return 0
	case x >= d.hi:
		return 1
	}
	return min(1, max(0, d.powers(x, 0)))
}

// integral returns the integral of cdf up to x.
func (d delay) integral(x float64) float64 {
	switch {
	case x <= d.lo:
		return 0
	case x >= d.hi:
		return x - d.mean
	}
	return d.powers(x, 1)
}

// integral2 returns the integral of integral up to x.
func (d delay) integral2(x float64) float64 {
	switch {
	case x <= d.lo:
		return 0
	case x >= d.hi:
		return ((x-d.mean)*(x-d.mean) + d.variance) / 2
	}
	return d.powers(x, 2)
}

// powers returns the distribution function, integrated so many times.
func (d delay) powers(x float64, integrated int) float64 {
	sum, power := 0.0, d.n+integrated
	for i, at := range d.offsets {
		if x > at {
			sum += d.signs[i] * math.Pow(x-at, float64(power))
		}
	}
	for k := 2; k <= power; k++ {
		sum /= float64(k)
	}
	return sum * d.scale
}
