package advice

import (
	"time"

	"locklab/harness/check"
	"locklab/workloads/guard"
)

// A harm is how likely a pause of a client is to do harm at one session timeout.
type harm struct {
	expiry  delay   // from the beginning of the pause to the session's expiry
	back    float64 // the servers hear of the client up to this many seconds after the pause
	holding float64 // the share of its time in which the client holds the lock
	// Of an access under the lock: the share of the time between two accesses in which one has been checked and has
	// not had its effect, and the seconds from there to the next check.
	inFlight, between float64
}

func (c *Config) harmAt(timeout time.Duration) harm {
	return harm{
		expiry:   expiryDelay(check.Expiry{Timeout: timeout, Tick: c.Tick}),
		back:     c.Reconnect.Seconds(),
		holding:  c.Holding,
		inFlight: c.Access.Seconds() / c.AccessEvery.Seconds(),
		between:  (c.AccessEvery - c.Access).Seconds(),
	}
}

// expires returns the probability that a pause of that many seconds ends the session: that the session expires before
// the servers hear of the client again.
func (h harm) expires(length float64) float64 {
	if h.back == 0 {
		return h.expiry.cdf(length)
	}
	return (h.expiry.integral(length+h.back) - h.expiry.integral(length)) / h.back
}

// untold returns the probability that, after a pause of that many seconds, the client begins an access between the
// session's expiry and hearing of it. If that time is l, then it does with probability min(1, l/between). This is the
// mean over the expiry and the time until the client hears of it, both by parts.
func (h harm) untold(length float64) float64 {
	switch {
	case h.back == 0:
		return 0
	case h.between == 0:
		return h.expires(length)
	}
	mean := h.expiry.integral2(length+h.back) - h.expiry.integral2(length) -
		min(h.back, h.between)*h.expiry.integral(length)
	if h.back > h.between {
		mean -= h.expiry.integral2(length+h.back-h.between) - h.expiry.integral2(length)
	}
	return min(1, max(0, mean/h.back/h.between))
}

// doubleHold returns the probability that a pause of that many seconds makes a double hold that a guard lets through.
// It must meet a hold. A client that does not ask its guard goes on with what it did. A client with a lease clock knows
// when its hold is over, so only an access that was checked before the pause gets through. A client that waits to be
// told also makes those accesses that it begins before it is told. A guard at the resource lets nothing through.
func (h harm) doubleHold(g guard.Guard, length float64) float64 {
	if g.RefusesStale() {
		return 0
	}
	if !g.Asks() {
		return h.holding * h.expires(length)
	}
	through := h.inFlight * h.expiry.cdf(length)
	if !g.LeaseClock {
		through += (1 - h.inFlight) * h.untold(length)
	}
	return h.holding * through
}

// usable reports whether a guard can be used with a session timeout.
func usable(g guard.Guard, timeout, tick time.Duration) bool {
	return !g.LeaseClock || timeout > guard.LeaseClockLeast*tick
}
