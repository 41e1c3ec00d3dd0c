package capacity

import (
	"cmp"
	"math"
)

// A Lock describes the locks that clients contend for. Times are means, in seconds.
type Lock struct {
	Hold    float64 // granted → release called
	Handoff float64 // release called → the next waiter, already queued, is granted
	// Spread is the mean, and the standard deviation, of the part of Hold + Handoff that varies, which is taken to be
	// exponential. Because of it, readers that are granted together last as long as the slowest of them.
	Spread float64
	// Reader is the time by which each further reader lengthens a round of readers, because the same servers and
	// processors wake, serve and queue the readers in turn.
	Reader float64
	// Variation is the squared coefficient of variation of Hold + Handoff: 0 if it is constant, 1 if it is
	// exponential.
	Variation float64

	Enqueue float64 // acquire called → in the queue
	Release float64 // release called → returned
	Think   float64 // returned → acquire called again, in a closed loop

	// Gate is the time between two grants even if permits are free, because a mutex gives them out one by one.
	// 0 = there is no such time. GateSpread is its standard deviation.
	Gate, GateSpread float64
	// Use is granted → release returned with many clients, the time for which a permit cannot be given out again. 0 =
	// Hold + Release.
	Use float64

	Permits   int     // acquisitions that can hold together; 0 = 1
	ReadShare float64 // of acquisitions that read, and hold together with other readers
	Locks     int     // from which each acquisition draws one; 0 = 1

	_ struct{}
}

// Service returns S, the time for which an acquisition keeps the lock from the next.
func (l Lock) Service() float64 { return l.Hold + l.Handoff }

// Away returns Z, the time for which a client of a closed loop neither waits nor holds, after it has called release.
// The hand-off proceeds meanwhile.
func (l Lock) Away() float64 { return l.Release + l.Think + l.Enqueue }

func (l Lock) permits() float64 { return float64(max(l.Permits, 1)) }
func (l Lock) locks() float64   { return float64(max(l.Locks, 1)) }

// together returns the mean number of clients that hold one lock at once, given the number in its queue.
//
// For a read/write lock that serves in order it follows from the rounds: a round is either one writer, or all readers
// before the next writer. With N in the queue, each a reader with probability r, one writer comes with r/(1-r)
// readers in r/(1-r^N) rounds, of which the share r^(k-1) has k readers or more, up to N. A round of n readers takes
// S + Reader (n-1) + Spread (1/2 + … + 1/n): the last term is by how much the longest of n exponential times exceeds
// one of them in the mean (Rényi, On the Theory of Order Statistics, 1953).
func (l Lock) together(queued float64) float64 {
	r, n := l.ReadShare, max(queued, 1)
	if r <= 0 {
		return min(l.permits(), n)
	}
	if r >= 1 {
		return n // there are no writers, so there are no rounds
	}
	full := 1 - math.Pow(r, n)
	rounds := r / full
	further := full/(1-r) - 1 // readers of a round, beside the first
	round := l.Service() + l.Reader*further + l.Spread*(harmonic(n, r)-1)
	return (1 + r/(1-r)) / (1 + rounds*round/l.Service())
}

// harmonic returns 1 + r/2 + … + r^(n-1)/n. This is the mean of 1 + 1/2 + … + 1/k over rounds of k readers, if the
// share r^(k-1) of the rounds has k or more, up to n. Between whole numbers it is interpolated, and its limit is
// -ln(1-r)/r.
func harmonic(n, r float64) float64 {
	const enough = 1e-12
	if math.Pow(r, n) < enough*(1-r) {
		return -math.Log1p(-r) / r
	}
	var sum float64
	power := 1.0
	for k := 1.0; k <= n; k++ {
		sum += power / k
		power *= r
	}
	whole := math.Floor(n)
	return sum + (n-whole)*power/(whole+1)
}

// Most returns the most acquisitions per second that a number of clients can make: 1/S for one lock.
func (l Lock) Most(clients int) float64 {
	n := float64(clients)
	return min(l.locks()*l.together(n/min(l.locks(), n))/l.Service(), l.gated())
}

// gated returns how many acquisitions a second the gate lets through.
func (l Lock) gated() float64 {
	if l.Gate == 0 {
		return math.Inf(1)
	}
	return l.locks() / l.spacing()
}

// spacing is the time between two permits that are given out if there are always clients that wait. It is the gate's
// time, and sometimes the wait for a permit if all are in use. A permit is in use until its release has returned. If
// the gate's times were exponential, Erlang's loss formula would give the share of time that is lost so, however
// holds vary. If they were constant, nothing would be lost as long as there are enough permits. In between, the loss
// is interpolated by the coefficient of variation.
func (l Lock) spacing() float64 {
	lost := erlangB(cmp.Or(l.Use, l.Hold+l.Release)/l.Gate, l.permits()) * min(l.GateSpread/l.Gate, 1)
	return l.Gate / (1 - lost)
}

// Capacity returns the most acquisitions per second that any number of clients can make.
func (l Lock) Capacity() float64 {
	const many = 1 << 20
	return l.Most(many)
}

// Knee returns the number of clients of a closed loop beyond which more clients only wait longer: N* = (Z+S)/S for
// one lock (Denning and Buzen, The Operational Analysis of Queueing Network Models, 1978).
func (l Lock) Knee() float64 {
	return l.Capacity() * (l.Away() + l.Service())
}

// Throughput returns the acquisitions a second of a closed loop.
//
// It uses approximate mean value analysis: an arriving client finds the queue that there would be without it, and the
// client in service takes its residual time (Reiser, A Queueing Network Analysis of Computer Communication Networks
// with Window Flow Control, 1979). k permits are one permit that is k times as fast, and a delay
// (Seidmann, Schweitzer, Shalev-Oren, Computerized Closed Queueing Network Models of Flexible Manufacturing Systems,
// 1987). The asymptotic bounds N/(Z+S) and [Lock.Most] always hold.
func (l Lock) Throughput(clients int) float64 {
	s, all := l.Service(), l.locks()
	if !(s > 0) {
		return math.NaN()
	}
	// For one lock: the clients that are present, and those that a new one has to wait for. A client in the delay of a
	// permit is not in the queue.
	var x, present, queue float64
	for n := 1; n <= clients; n++ {
		k := l.permits()
		if l.ReadShare > 0 {
			k = l.together(present + 1)
		}
		busy := min(x*s/(all*k), 1)
		fast := s / k
		response := s - fast + fast*(1+max(queue-busy, 0)) + busy*fast*(1+l.Variation)/2
		x = min(float64(n)/(l.Away()+response), float64(n)/(l.Away()+s), all*k/s, l.gated())
		present = max(float64(n)-x*l.Away(), 0) / all
		queue = max(float64(n)-x*(l.Away()+s-fast), 0) / all
	}
	return x
}

// Acquire returns the mean time to get a lock in a closed loop.
func (l Lock) Acquire(clients int) float64 { return l.AcquireAt(clients, l.Throughput(clients)) }

// AcquireAt returns the mean time to get a lock in a closed loop whose throughput is known. It follows from Little's
// law, because a client is either getting the lock, holding it, giving it back, or thinking.
func (l Lock) AcquireAt(clients int, throughput float64) float64 {
	return max(float64(clients)/throughput-l.Hold-l.Release-l.Think, 0)
}
