package history

import (
	"fmt"
	"strconv"
	"strings"
)

// The ops of a client about a lock. One acquisition of several locks at once has one number and, for each lock,
// events of its own.
const (
	OpArrive  Op = "arrive"  // Info: in an open loop, the acquisition of this number was due at this time
	OpDropped Op = "dropped" // Info, of no client: an acquisition was due, and no client was free to begin it
	OpAcquire Op = "acquire" // Invoke; OK: granted; Fail: see FailReason; Info: the outcome is unknown
	OpAttempt Op = "attempt" // Info: the acquire is about to ask the servers for znodes
	OpQueued  Op = "queued"  // Info: the acquire has its place in the queue
	OpRelease Op = "release" // Invoke; OK; Fail: the hold had been lost; Info: the outcome is unknown
	OpLost    Op = "lost"    // Info: the client learned that its hold is gone
	// OpTrigger is about a point of a critical section; see [Claim.Trigger].
	OpTrigger Op = "trigger" // Info: the client is about to stop itself, or to harm its session, for a fault
)

// The ops of an access to the resource. Each access is recorded twice: by the client (Invoke, then OK, Fail for one
// that was refused as stale, or Info) and by the resource itself (OK for one that was accepted, Fail for one that was
// refused as stale). The resource's record is the one that counts.
//
// Where ZooKeeper keeps what a lock protects there is no resource, and no client enters or leaves. The clients' record
// is then the only one.
const (
	OpEnter Op = "enter"
	OpRead  Op = "read"
	OpWrite Op = "write"
	OpExit  Op = "exit"
)

// A Mode says what a hold of a lock excludes.
type Mode string

// The modes of holds, and of accesses under them.
const (
	ModeExclusive Mode = ""       // excludes every other hold
	ModeWrite     Mode = "write"  // the same, of a lock that can be read-locked too
	ModeRead      Mode = "read"   // excludes exclusive holds only
	ModePermit    Mode = "permit" // takes some of a semaphore's permits
)

// Exclusive reports whether a hold of this mode excludes every other one.
func Exclusive(mode Mode) bool { return mode == ModeExclusive || mode == ModeWrite }

// Conflict reports whether two holds of these modes exclude each other, however
// many permits there are.
func Conflict(a, b Mode) bool {
	return Exclusive(a) && (Exclusive(b) || b == ModeRead) || a == ModeRead && Exclusive(b)
}

// A Claim is one client's claim to one lock: it names the acquisition that the events of a client about a lock belong
// to.
type Claim struct {
	Client  string
	Acq     int64 // the client's count, from 1
	Lock    string
	Mode    Mode
	Permits int64 // how many it asks for, or holds, in ModePermit
	Token   int64
	Session SessionID
}

func (c Claim) event(op Op, kind Kind) Event {
	return Event{Op: op, Kind: kind, Client: c.Client, Acq: c.Acq, Lock: c.Lock, Mode: c.Mode, Value: c.Permits,
		Token: c.Token, Session: c.Session}
}

// Arrived is the event that a client's acquisition of that number was due.
func Arrived(client string, acq, due int64) Event {
	return Event{At: due, Op: OpArrive, Client: client, Acq: acq}
}

// Dropped is the event that an acquisition was due that no client was free to begin.
func Dropped(due int64) Event { return Event{At: due, Op: OpDropped} }

// Acquire is the event that the client asks for the lock.
func (c Claim) Acquire() Event { return c.event(OpAcquire, Invoke) }

// Granted is the event that the client got the lock.
func (c Claim) Granted() Event { return c.event(OpAcquire, OK) }

// NotGranted is the event that the client did not get the lock.
func (c Claim) NotGranted(why FailReason, text string) Event {
	e := c.event(OpAcquire, Fail)
	e.Target, e.Detail = string(why), text
	return e
}

// Attempt is the event that the client is about to ask the servers for znodes whose names begin with prefix.
func (c Claim) Attempt(prefix string) Event {
	e := c.event(OpAttempt, Info)
	e.Detail = prefix
	return e
}

// Queued is the event that the client has its place in the queue, with that many contenders ahead of it.
func (c Claim) Queued(ahead int) Event {
	e := c.event(OpQueued, Info)
	e.Value = int64(ahead)
	return e
}

// Release is the event that the client asks for the end of its hold.
func (c Claim) Release() Event { return c.event(OpRelease, Invoke) }

// Released is the event that release returned: with OK, with Fail because the hold had been lost, or with Info because
// its end is not confirmed. The text is the error's.
func (c Claim) Released(kind Kind, text string) Event {
	e := c.event(OpRelease, kind)
	e.Detail = text
	return e
}

// Lost is the event that the client learned that its hold is gone.
func (c Claim) Lost(cause string) Event {
	e := c.event(OpLost, Info)
	e.Value, e.Detail = 0, cause
	return e
}

// Trigger is the event that the client, at a point of its critical section, is about to stop itself or to harm its
// session for a fault. Under a permit slot is the permit's.
func (c Claim) Trigger(fault, point string, slot Slot) Event {
	e := c.event(OpTrigger, Info)
	e.Value, e.Fault, e.Detail, e.Target = 0, fault, point, string(slot)
	return e
}

// Permits is how many permits an acquire asks for, or was granted: at least 1 in [ModePermit], 0 in every other mode.
func (e *Event) Permits() int64 {
	if e.Mode != ModePermit {
		return 0
	}
	return max(e.Value, 1)
}

// Ahead is how many contenders were ahead of a client in the queue, of an event of [OpQueued].
func (e *Event) Ahead() int64 { return e.Value }

// Attempt is what the names of the znodes begin with that a client is about to ask for, of an event of [OpAttempt].
func (e *Event) Attempt() string { return e.Detail }

// An Access is what the resource, or ZooKeeper, was asked for under a hold, or what it answered.
type Access struct {
	// Value is the counter's value that was read or written, or the last element of a list.
	Value int64
	// Slot is that of the permit, under a permit.
	Slot Slot
	// Behind says what a write appended to, if it was to a list.
	Behind Behind
	// Detail says why an access was refused, or why its outcome is unknown.
	Detail string
}

// TextGivenUp is what the Detail of an access begins with that its client did not make, because its guard said that
// the lock was lost.
const TextGivenUp = "given up, for the lock is lost"

// GivenUp reports whether the client's guard kept it from the access.
func (a Access) GivenUp() bool { return strings.HasPrefix(a.Detail, TextGivenUp) }

// Access is the event of an access under the hold.
func (c Claim) Access(op Op, kind Kind, a Access) Event {
	e := c.event(op, kind)
	e.Value, e.Target, e.Detail = a.Value, string(a.Behind), a.Detail
	if c.Mode == ModePermit {
		e.Target = string(a.Slot)
	}
	return e
}

// Access returns the access that an event of [OpEnter], [OpRead], [OpWrite] or [OpExit] is about. Of an event of
// [OpTrigger] it has the Slot.
func (e *Event) Access() Access {
	a := Access{Value: e.Value, Detail: e.Detail}
	if e.Mode == ModePermit {
		a.Slot = Slot(e.Target)
	} else {
		a.Behind = Behind(e.Target)
	}
	return a
}

// A Slot names the slot of a semaphore that a permit is for: the tokens of one slot rise.
type Slot string

const slotPrefix = "slot-"

// NewSlot returns the slot of that number.
func NewSlot(n int64) Slot { return Slot(slotPrefix + strconv.FormatInt(n, 10)) }

// Number returns the slot's number.
func (s Slot) Number() (int64, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(string(s), slotPrefix), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a slot", string(s))
	}
	return n, nil
}

// A Behind names the element that a list ended with when a writer read it: the writer's own element goes behind it.
type Behind string

const behindPrefix = "behind-"

// NewBehind returns the name of that element; 0 means that the list was empty.
func NewBehind(element int64) Behind { return Behind(behindPrefix + strconv.FormatInt(element, 10)) }

// Element returns the element, as text.
func (b Behind) Element() string { return strings.TrimPrefix(string(b), behindPrefix) }

// A FailReason says why an acquire failed, as its client recorded it.
type FailReason string

// The reasons. The first three are the workload's: no client wanted to wait any longer.
const (
	FailTimedOut  FailReason = "timed-out" // the client waited for as long as the scenario has it wait
	FailBusy      FailReason = "busy"      // the client only tried, and would have had to wait
	FailCancelled FailReason = "cancelled" // the run ended
	FailDeadline  FailReason = "deadline"  // the lock gave up by a time limit of its own
	FailAborted   FailReason = "aborted"   // the lock's call was cancelled, but not by the workload
	FailError     FailReason = "error"     // anything else
)

// The texts of acquires that failed for a reason of the workload's.
const (
	TextCancelled = "cancelled at the end of the run"
	TextTimedOut  = "timed out"
	TextBusy      = "busy: it would have to wait"
)

// ByWorkload reports whether the acquire failed only because its client did not want to wait any longer.
func (r FailReason) ByWorkload() bool {
	return r == FailTimedOut || r == FailBusy || r == FailCancelled
}

// failReason returns why an acquire failed. Histories from before clients recorded the reason are told by their texts,
// here and nowhere else.
func failReason(e *Event) FailReason {
	if e.Target != "" {
		return FailReason(e.Target)
	}
	switch e.Detail {
	case TextBusy:
		return FailBusy
	case TextTimedOut:
		return FailTimedOut
	case TextCancelled:
		return FailCancelled
	}
	text := strings.ToLower(e.Detail)
	contains := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case contains("deadline exceeded", "timed out", "timeout"):
		return FailDeadline
	case contains("cancel", "drain"):
		return FailAborted
	}
	return FailError
}
