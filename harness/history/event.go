package history

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind says which part of an operation an event is.
type Kind uint8

// The kinds. An operation is an Invoke followed by at most one of OK, Fail and
// Info of the same process, client, op and number.
const (
	// Info is a fact that is no operation's result, or a result that says
	// "outcome unknown": the operation may have taken effect or not, now or later.
	Info Kind = iota
	// Invoke is the moment before an operation is asked for.
	Invoke
	// OK is the moment after an operation returned with success.
	OK
	// Fail is the moment after an operation returned, certainly without effect.
	Fail
)

var kindNames = [...]string{Info: "info", Invoke: "invoke", OK: "ok", Fail: "fail"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind-" + strconv.Itoa(int(k))
}

// MarshalText writes the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name.
func (k *Kind) UnmarshalText(b []byte) error {
	for i, n := range kindNames {
		if n == string(b) {
			*k = Kind(i)
			return nil
		}
	}
	return fmt.Errorf("unknown event kind %q", b)
}

// SessionID is a ZooKeeper session id. It is written in hexadecimal, as
// ZooKeeper's own logs do, because 64 bits do not survive a JSON number.
type SessionID int64

func (s SessionID) String() string { return fmt.Sprintf("0x%x", uint64(s)) }

// MarshalText writes the id in hexadecimal.
func (s SessionID) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *SessionID) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 0, 64)
	*s = SessionID(n)
	return err
}

// What an event is about. Who records it is said with each group.
const (
	// A client's, about a lock. Acq numbers the client's acquisitions from 1
	// and ties its events together.
	//
	// One that takes several locks at once (a multi-lock) is one number with events
	// of its own for each lock.
	//
	// Where work arrives whether or not anybody is free (open loop), At of the first two is when it was
	// due; they are recorded then or later.
	OpArrive  = "arrive"  // Info: the acquisition of this number was due
	OpDropped = "dropped" // Info, of no client: an acquisition was due, and nobody was free to begin it
	OpAcquire = "acquire" // Invoke; OK with Token and Session (and Value = permits); Fail (timed out, cancelled: Detail); Info
	OpAttempt = "attempt" // Info: the acquire is about to ask the servers for znodes whose names begin with Detail
	OpQueued  = "queued"  // Info: the acquire has its place in the queue; Value = contenders ahead
	OpRelease = "release" // Invoke; OK; Fail (the hold had been lost: Detail); Info
	OpLost    = "lost"    // Info: the client learned that its hold is gone; Detail = cause

	// Accesses to the resource, recorded twice: by the client (Invoke, then OK,
	// Fail = refused as stale, or Info) and by the resource itself (OK =
	// accepted, Fail = refused as stale), which is the record that counts. Value
	// is the counter's value read or written, or the last element of a list, and Target of a
	// write then says what it is written behind, see [Behind]. Mode is the hold's; under a permit
	// Target is its slot, see [Slot].
	//
	// Where what a lock protects is in ZooKeeper there is no resource, and nobody enters or
	// leaves: the client's are all there are.
	OpEnter = "enter"
	OpRead  = "read"
	OpWrite = "write"
	OpExit  = "exit"

	// A client's, about its session. Target = the server's host name.
	OpConnected    = "connected"    // Info; Session; Value = negotiated timeout in ns
	OpDisconnected = "disconnected" // Info; Session
	OpExpired      = "expired"      // Info; Session; Detail = cause

	// A client's, about the run.
	OpTrigger = "trigger" // Info: the client is about to stop itself at the point in Detail, for the fault in Fault
	OpStrike  = "strike"  // Info: the client is about to do harm to its own session, as told; Detail = what, or StrikeSettled, Target = the server's host name. Fail: it had none
	OpReady   = "ready"   // Info: all clients of the process are connected
	OpResize  = "resize"  // Info: Lock has Value permits from now on
	OpDone    = "done"    // Info: all clients of the process have come to an end
	OpFinal   = "final"   // Info: when all had, Lock's counter was Value, or its list had Value elements; Token = the version of its znode, which counts writes, if it has one
	OpElement = "element" // Info: Value is the next element of Lock's list, as it was then

	// StrikeSettled says that a client that was driven from its server may go back there, for the fault in Fault.
	StrikeSettled = "settled"

	// A client process's and the harness's, about themselves in the measured window; see
	// package hiccups.
	OpHiccup   = "hiccup"   // Info: at its end, a sleep of 10 ms that took Value ns too long
	OpHiccups  = "hiccups"  // Info: all others; Value = how many, Detail = their distribution
	OpResident = "resident" // Info: the process has Value bytes in memory, at the window's end

	// The observer's: the head of a lock's queue changed, as seen by a watch.
	// Session and Token are the head's, 0 if nobody is queued.
	OpHeld = "held" // Info

	// An agent's, about its host's process and network. Detail says more.
	OpProcess = "process" // Info; Mode = started, stopped (SIGSTOP), continued or exited; Value = pid
	OpNetwork = "network" // Info; Mode = blocked, cleared, delayed or reset; Target = what was done to which peers

	// The harness's, about the run.
	OpBegin    = "begin"    // Info: Value = the run's base on CLOCK_MONOTONIC
	OpPhase    = "phase"    // Info: Detail = name of the phase that begins
	OpSnapshot = "snapshot" // Info: servers' counters were read; Detail = which snapshot
	OpEnd      = "end"      // Info: the last event of a run; Detail = complete, interrupt or broken
	OpClock    = "clock"    // Info: Value = the wall clock at this moment, ns since 1970
	// OpServerLog is about the transaction log of the server in Target: Info as the run begins, Value = the
	// last zxid that the server had seen; OK when the log was copied, Value = its bytes; Fail if it could not be, or
	// is not all there; Detail.
	OpServerLog = "server-log"

	// The harness's, about a fault: Fault = its id, Mode = its kind, Target = the
	// hosts hit. At is the agent's stamp where an agent did it.
	OpFaultAim        = "fault-aim"         // Info: its target comes to these hosts now, Value = 1 if one of them leads; Detail = the target, and why
	OpFaultInject     = "fault-inject"      // Invoke = requested; OK = injected, Session and Detail = whose session and which znodes (or sessions), if any; Fail; Detail
	OpFaultVerify     = "fault-verify"      // OK or Fail: the effect was seen, or not
	OpFaultHeal       = "fault-heal"        // OK or Fail; of what is over at once, OK when it was done
	OpFaultHealVerify = "fault-heal-verify" // OK or Fail: the effect was seen to be gone
	// In the place of an injection that failed: Fail; Detail = what this machine lacks for it.
	OpFaultUnsupported = "fault-unsupported"
	// The same; nobody was there to be hit, or another fault had what it would have been done to.
	OpFaultMissed = "fault-missed"

	// The harness's, once the schedule is over: OK = nothing is left of any fault and the ensemble is whole; Fail with Detail.
	OpFinalHeal = "final-heal"
)

// The values of Detail for phases, in order.
const (
	PhaseEnsemble = "ensemble"  // hosts are up; the ensemble is being started
	PhaseConnect  = "connect"   // the ensemble is ready; clients connect
	PhaseWarmup   = "warm-up"   // clients work; nothing is measured
	PhaseMeasure  = "measure"   // the measured window
	PhaseHeal     = "heal"      // what is left of faults is being healed, and clients go on; nothing is measured
	PhaseLiveness = "liveness"  // the final heal is over, and clients go on until each had its turn; nothing is measured
	PhaseDrain    = "drain"     // no new acquisitions; waiters finish or are cancelled
	PhaseCollect  = "collect"   // all clients have ended
	EndComplete   = "complete"  // Detail of OpEnd
	EndInterrupt  = "interrupt" // Detail of OpEnd: ended early on purpose
	EndBroken     = "broken"    // Detail of OpEnd: ended early because something failed
)

// The values of Detail for an acquire that failed for a reason of the workload's.
const (
	CancelledAtEnd = "cancelled at the end of the run"
	TimedOut       = "timed out"
	Busy           = "busy: it would have to wait"
)

// The values of Mode for events about a lock, and for accesses under it.
const (
	ModeExclusive = ""       // excludes every other hold
	ModeWrite     = "write"  // the same, of a lock that can be read-locked too
	ModeRead      = "read"   // excludes exclusive holds only
	ModePermit    = "permit" // takes some of a semaphore's permits; Value = how many, 0 = 1
)

// Exclusive reports whether a hold of this mode excludes every other one.
func Exclusive(mode string) bool { return mode == ModeExclusive || mode == ModeWrite }

// Conflict reports whether two holds of these modes exclude each other, however
// many permits there are.
func Conflict(a, b string) bool {
	return Exclusive(a) && (Exclusive(b) || b == ModeRead) || a == ModeRead && Exclusive(b)
}

// The values of Mode for OpProcess and OpNetwork.
const (
	ProcessStarted   = "started"
	ProcessStopped   = "stopped"
	ProcessContinued = "continued"
	ProcessExited    = "exited"
	NetworkBlocked   = "blocked"
	NetworkCleared   = "cleared"
	NetworkReset     = "reset"   // Value = connections
	NetworkDelayed   = "delayed" // Target = peers
)

// An Event is one thing that happened.
type Event struct {
	// At is nanoseconds of CLOCK_MONOTONIC: since boot in a raw history, since
	// the run's base in a merged one.
	At int64 `json:"at_ns"`
	// Process is the host whose process recorded the event, or "harness".
	Process string `json:"process"`
	Kind    Kind   `json:"kind"`
	Op      string `json:"op"`
	// Client is process/number of the client that the event is about.
	Client string `json:"client,omitempty"`
	// Acq is the number of the client's acquisition, from 1; 0 where none is meant.
	Acq int64 `json:"acquisition,omitempty"`
	// Lock is the lock's path.
	Lock string `json:"lock,omitempty"`
	// Mode is the hold's mode (empty = exclusive), or as said with the op.
	Mode    string    `json:"mode,omitempty"`
	Token   int64     `json:"token,omitempty"`
	Session SessionID `json:"session,omitempty"`
	Value   int64     `json:"value,omitempty"`
	Target  string    `json:"target,omitempty"`
	Fault   string    `json:"fault,omitempty"`
	Detail  string    `json:"detail,omitempty"`
}

// Slot renders the number of a permit's slot as an access's Target.
func Slot(n int64) string { return slotPrefix + strconv.FormatInt(n, 10) }

const slotPrefix = "slot-"

// ParseSlot reads what Slot wrote.
func ParseSlot(s string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, slotPrefix), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no slot", s)
	}
	return n, nil
}

// Behind renders the element that a list ended with when it was read (0 = none) as the Target of the write of
// that list and one element more.
func Behind(element int64) string { return "behind-" + strconv.FormatInt(element, 10) }

// String renders the event on one line, for logs and failing tests.
func (e Event) String() string {
	s := fmt.Sprintf("%.6fs %s %s %s", float64(e.At)/1e9, e.Process, e.Op, e.Kind)
	add := func(name, v string) {
		if v != "" {
			s += " " + name + "=" + v
		}
	}
	num := func(name string, v int64) {
		if v != 0 {
			s += fmt.Sprintf(" %s=%d", name, v)
		}
	}
	add("client", e.Client)
	num("acquisition", e.Acq)
	add("lock", e.Lock)
	add("mode", e.Mode)
	num("token", e.Token)
	if e.Session != 0 {
		add("session", e.Session.String())
	}
	num("value", e.Value)
	add("target", e.Target)
	add("fault", e.Fault)
	add("detail", e.Detail)
	return s
}
