package evidence

import (
	"cmp"
	"time"
)

// An Expiry says when the servers expire the session of a client that they no longer hear of.
//
// An idle client sends a ping every third of its session timeout T, so the servers may have heard of it last up to T/3
// before it fell silent. A follower reports every half tick to the leader which sessions it has heard of. The leader
// expires a session once T is over since it heard of it, rounded up to a tick. So the session expires between 2/3 T
// and T + 1.5 ticks after its client fell silent.
type Expiry struct {
	Timeout, Tick time.Duration
}

// PingEvery is the time from one ping of an idle client to the next, T/3.
func (e Expiry) PingEvery() time.Duration { return e.Timeout / 3 }

// ReportEvery is the time from one report of a follower to the next, half a tick.
func (e Expiry) ReportEvery() time.Duration { return e.Tick / 2 }

// Earliest is the shortest silence after which the session may expire, 2/3 T.
func (e Expiry) Earliest() time.Duration { return e.Timeout * 2 / 3 }

// Latest is the longest silence that the session may outlive, T + 1.5 ticks.
func (e Expiry) Latest() time.Duration { return e.Timeout + e.ReportEvery() + e.Tick }

// HandOff is how long a hand-off may take on a busy machine, in addition to what the protocol needs.
const HandOff = time.Second

// StallBound is how long a lock may stay free while a client waits for it.
func StallBound(timeout, tick time.Duration) time.Duration { return timeout + 2*tick + HandOff }

// Standstill is how long a process must have stood still for a stall to be excused.
func Standstill(tick time.Duration) time.Duration { return cmp.Or(tick, HandOff) }
