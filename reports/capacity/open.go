package capacity

import "math"

// Wait returns the mean time in the queue if acquisitions arrive at random at a rate, over all locks: M/G/1 by
// Pollaczek and Khinchine, λE[S²]/2(1-ρ), and M/G/k by Allen and Cunneen's approximation (Allen, Probability,
// Statistics and Queueing Theory, 1990), which for one permit is the same. It is infinite at and beyond the rate that
// the locks can serve.
func (l Lock) Wait(rate float64) float64 {
	k, s := l.servers(), l.Service()
	load := rate / l.locks() * s // Erlangs of each lock
	if load >= k {
		return math.Inf(1)
	}
	wait := erlangC(load, k) * s / (k - load) * (1 + l.Variation) / 2
	if l.Gate == 0 {
		return wait
	}
	gate := rate / l.gated()
	if gate >= 1 {
		return math.Inf(1)
	}
	return wait + gate*l.Gate/(1-gate)/2 // the gate has a queue of its own
}

// WaitQuantile returns the time in the queue that a share p of acquisitions do not exceed. The waits of those that
// wait at all are taken to be exponential, which they become under heavy load (Kingman, On Queues in Heavy Traffic,
// 1962).
func (l Lock) WaitQuantile(rate, p float64) float64 {
	wait := l.Wait(rate)
	if math.IsInf(wait, 1) || wait == 0 {
		return wait
	}
	waits := max(erlangC(rate/l.locks()*l.Service(), l.servers()), rate/l.locks()*l.Gate)
	if waits <= 1-p {
		return 0
	}
	return wait / waits * math.Log(waits/(1-p))
}

// Arriving returns the mean time to get a lock if acquisitions arrive at random at a rate.
func (l Lock) Arriving(rate float64) float64 { return l.Enqueue + l.Wait(rate) }

// servers is how many clients hold at once if there are always clients that wait. A read/write lock's rounds grow
// with the number of clients, so this is the number under heavy load, where it matters.
func (l Lock) servers() float64 { return l.together(math.Inf(1)) }

// erlangC returns the share of arrivals that have to wait at k servers with a load in Erlangs. Between whole numbers
// of servers it is interpolated.
func erlangC(load, k float64) float64 {
	lo, hi := math.Floor(k), math.Ceil(k)
	if lo < hi {
		share := k - lo
		below := 1.0
		if lo >= 1 && load < lo {
			below = erlangC(load, lo)
		}
		return (1-share)*below + share*erlangC(load, hi)
	}
	if load >= k {
		return 1
	}
	blocked := erlangB(load, k)
	return blocked / (1 - load/k*(1-blocked))
}

// erlangB returns the share of arrivals that are turned away by k servers with a load in Erlangs, by the recursion
// whose terms stay bounded.
func erlangB(load, k float64) float64 {
	blocked := 1.0
	for i := 1.0; i <= k; i++ {
		blocked = load * blocked / (i + load*blocked)
	}
	return blocked
}
