package history

import (
	"fmt"
	"math"
)

// None is the time of something that did not happen.
const None int64 = math.MinInt64

// An Acquisition is one client's attempt to get one lock and what became of it, put together from the client's own
// events. Times are on the run's base, and [None] where the thing did not happen or is missing from the record.
//
// A run has millions, so what many of them have in common is shared, and nobody may change it: an Acquisition always
// has a Claimant and a Trouble.
type Acquisition struct {
	*Claimant
	*Trouble
	N     int64 // the client's count, from 1
	Token int64

	Late     int64 // how long before its call the acquisition had been due
	Invoked  int64 // acquire was called
	Queued   int64 // the client had its place in the queue
	Returned int64 // acquire returned, with whatever outcome

	ReleaseInvoked  int64
	ReleaseReturned int64

	Place          int32 // in [Acquisitions]
	Outcome        Kind  // OK = granted; Fail; Info = unknown, or still waiting when the history ends
	ReleaseOutcome Kind
	Scheduled      bool // work arrived whether or not a client was free
}

// A Claimant is whom an acquisition is for, and what it is to be.
type Claimant struct {
	Process, Client string
	Lock            string
	Mode            Mode
	// Permits is how many permits the client got, or asked for if it got none: at least 1 in [ModePermit], 0 in
	// every other mode.
	Permits int64
	Session SessionID // 0 until acquire returned
}

// A Trouble is what went wrong with an acquisition, or with its hold.
type Trouble struct {
	Reason       FailReason // why it failed
	Error        string
	ReleaseError string
	Lost         int64 // the client learned that its hold was gone
	LostCause    string
	Died         int64 // its process was seen to exit
}

// Asked is when the wait for the lock began: when the acquisition was due, or else when it was invoked.
func (a *Acquisition) Asked() int64 { return a.Invoked - a.Late }

// Latency is how long the wait lasted: from [Acquisition.Asked] until acquire returned.
func (a *Acquisition) Latency() int64 { return a.Returned - a.Asked() }

// Granted reports whether the client got the lock.
func (a *Acquisition) Granted() bool { return a.Outcome == OK && a.Returned != None }

// Unknown reports whether it is not known what became of the attempt, because its answer says so or because its
// process died while it waited.
func (a *Acquisition) Unknown() bool {
	if a.Returned == None {
		return a.Died != None
	}
	return a.Outcome == Info
}

// BelievedUntil is when the client stopped believing that it held the lock: when it called release, learned of the
// loss, or died. It returns end if the client never stopped.
func (a *Acquisition) BelievedUntil(end int64) int64 {
	return Earliest(end, a.ReleaseInvoked, a.Lost, a.Died)
}

// Earliest is the first of some instants, of which any may be [None], and end at the latest.
func Earliest(end int64, instants ...int64) int64 {
	for _, t := range instants {
		if t != None {
			end = min(end, t)
		}
	}
	return end
}

// Beliefs tell until when clients believed that they held locks. In a history that is not complete, a belief is known
// to have lasted only until the last event of its process; assuming more would make overlaps out of lost records.
type Beliefs struct {
	End     int64            // of the history
	Horizon map[string]int64 // by process: its last event; nil if the history is complete
}

// NewBeliefs returns those of a history, which is whole if it is complete.
func NewBeliefs(events *Log, whole bool) Beliefs {
	b := Beliefs{End: events.End()}
	if whole {
		return b
	}
	b.Horizon = map[string]int64{}
	for _, e := range events.All() {
		b.Horizon[e.Process] = e.At
	}
	return b
}

// BelievedUntil is when a's client is known to have stopped believing that it held the lock.
func (b Beliefs) BelievedUntil(a *Acquisition) int64 {
	end := b.End
	if h, ok := b.Horizon[a.Process]; ok {
		end = h
	}
	return a.BelievedUntil(end)
}

func (a *Acquisition) String() string {
	return fmt.Sprintf("%s acquisition %d of %s (token %d, session %s)", a.Client, a.N, a.Lock, a.Token, a.Session)
}
