package history

import (
	"fmt"
	"math"
)

// None is the time of something that did not happen.
const None int64 = math.MinInt64

// An Acquisition is one client's attempt to get one lock and what became of it, put together from the client's own
// events. Times are on the run's base, and [None] where the thing did not happen or is missing from the record.
type Acquisition struct {
	Process, Client string
	Lock            string
	Mode            Mode
	N               int64 // the client's count, from 1
	Session         SessionID
	Token           int64
	// Permits is how many permits the client got, or asked for if it got none: at least 1 in [ModePermit], 0 in
	// every other mode.
	Permits int64

	// Scheduled says that work arrived whether or not a client was free, and Late how long before its call the
	// acquisition had been due.
	Scheduled bool
	Late      int64

	Invoked  int64      // acquire was called
	Queued   int64      // the client had its place in the queue
	Returned int64      // acquire returned, with whatever outcome
	Outcome  Kind       // OK = granted; Fail; Info = unknown, or still waiting when the history ends
	Reason   FailReason // why it failed
	Error    string

	ReleaseInvoked  int64
	ReleaseReturned int64
	ReleaseOutcome  Kind
	ReleaseError    string

	Lost      int64 // the client learned that its hold was gone
	LostCause string
	Died      int64 // its process was seen to exit
}

// Asked is when the wait for the lock began: when the acquisition was due, or else when it was invoked.
func (a *Acquisition) Asked() int64 { return a.Invoked - a.Late }

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
	for _, t := range [...]int64{a.ReleaseInvoked, a.Lost, a.Died} {
		if t != None && t < end {
			end = t
		}
	}
	return end
}

func (a *Acquisition) String() string {
	return fmt.Sprintf("%s acquisition %d of %s (token %d, session %s)", a.Client, a.N, a.Lock, a.Token, a.Session)
}

// Acquisitions puts the acquisitions of a merged history together, in the order in which they were invoked.
//
// If a client starts to count from 1 again, because its process was restarted under the same name, its acquisitions
// are new ones: an event belongs to the latest acquisition of that lock invoked under its number.
//
// Several locks taken at once are an acquisition each, with one number.
//
// The log keeps them. Nobody may change them.
func Acquisitions(events *Log) []Acquisition {
	if events == nil {
		return nil
	}
	if events.acquisitions == nil {
		events.acquisitions = acquisitions(events)
	}
	return events.acquisitions
}

func acquisitions(events *Log) []Acquisition {
	type caller struct{ client, lock string }
	type key struct {
		by int // a caller's number, which is shorter than its names
		n  int64
	}
	callers := map[caller]int{}
	calls := events.Count(OpAcquire, Invoke)
	if calls == 0 {
		return nil
	}
	all := make([]Acquisition, 0, calls)
	latest := map[key]int{}
	due := map[arrival]int64{}
	open := map[string]map[int]bool{} // by process: the acquisitions that wait for, or hold, a lock
	for _, e := range events.Of(OpArrive, OpAcquire, OpQueued, OpRelease, OpLost, OpProcess) {
		if e.ProcessIs(ProcessExited) {
			for at := range open[e.Process] {
				all[at].Died = e.At
			}
			delete(open, e.Process)
			continue
		}
		if e.Acq == 0 || e.Client == "" {
			continue
		}
		if e.Op == OpArrive {
			due[arrival{e.Process, e.Client, e.Acq}] = e.At
			continue
		}
		by, known := callers[caller{e.Client, e.Lock}]
		if !known {
			by = len(callers)
			callers[caller{e.Client, e.Lock}] = by
		}
		k := key{by, e.Acq}
		if e.Op == OpAcquire && e.Kind == Invoke {
			at := len(all)
			latest[k] = at
			all = append(
				all,
				Acquisition{Process: e.Process, Client: e.Client, Lock: e.Lock, Mode: e.Mode, N: e.Acq, Invoked: e.At,
					Permits: e.Permits(), Queued: None, Returned: None,
					ReleaseInvoked: None, ReleaseReturned: None, Lost: None, Died: None},
			)
			if intended, ok := due[arrival{e.Process, e.Client, e.Acq}]; ok {
				all[at].Scheduled, all[at].Late = true, e.At-intended
			}
			if open[e.Process] == nil {
				open[e.Process] = map[int]bool{}
			}
			open[e.Process][at] = true
			continue
		}
		at, known := latest[k]
		if !known || all[at].Process != e.Process {
			continue // the resource's own record, or a history without its head
		}
		a := &all[at]
		switch {
		case e.Op == OpQueued && a.Queued == None:
			a.Queued = e.At
		case e.Op == OpAcquire:
			a.Returned, a.Outcome, a.Error = e.At, e.Kind, e.Detail
			a.Token, a.Session = e.Token, e.Session
			if a.Mode == ModePermit && e.Kind == OK && e.Value > 0 {
				a.Permits = e.Value
			}
			if e.Kind == Fail {
				a.Reason = failReason(&e)
				delete(open[e.Process], at)
			}
		case e.Op == OpRelease && e.Kind == Invoke:
			a.ReleaseInvoked = e.At
		case e.Op == OpRelease:
			a.ReleaseReturned, a.ReleaseOutcome, a.ReleaseError = e.At, e.Kind, e.Detail
			delete(open[e.Process], at)
		case e.Op == OpLost && a.Lost == None:
			a.Lost, a.LostCause = e.At, e.Detail
		}
	}
	return all
}

// An arrival names an acquisition that was due. If several of a client are late, the next may be due before the last
// is invoked.
type arrival struct {
	process, client string
	n               int64
}
