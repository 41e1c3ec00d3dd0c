package history

import (
	"fmt"
	"strconv"
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
	OpAcquire = "acquire" // Invoke; OK with Token and Session (and Value = permits); Fail (timed out, cancelled: Detail); Info
	OpQueued  = "queued"  // Info: the acquire has its place in the queue; Value = contenders ahead
	OpRelease = "release" // Invoke; OK; Fail (the hold had been lost: Detail); Info
	OpLost    = "lost"    // Info: the client learned that its hold is gone; Detail = cause

	// Accesses to the resource, recorded twice: by the client (Invoke, then OK,
	// Fail = refused as stale, or Info) and by the resource itself (OK =
	// accepted, Fail = refused as stale), which is the record that counts. Value
	// is the counter's value read or written. Mode is the hold's; under a permit
	// Target is its slot, see [Slot].
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
	OpReady   = "ready"   // Info: all clients of the process are connected
	OpDone    = "done"    // Info: all clients of the process have come to an end

	// The observer's: the head of a lock's queue changed, as seen by a watch.
	// Session and Token are the head's, 0 if nobody is queued.
	OpHeld = "held" // Info

	// An agent's, about its host's process and network. Detail says more.
	OpProcess = "process" // Info; Mode = started, stopped (SIGSTOP), continued or exited; Value = pid
	OpNetwork = "network" // Info; Mode = blocked or cleared; Target = peers

	// The harness's, about the run.
	OpBegin    = "begin"    // Info: Value = the run's base on CLOCK_MONOTONIC
	OpPhase    = "phase"    // Info: Detail = name of the phase that begins
	OpSnapshot = "snapshot" // Info: servers' counters were read; Detail = which snapshot
	OpEnd      = "end"      // Info: the last event of a run; Detail = complete, interrupt or broken

	// The harness's, about a fault: Fault = its id, Mode = its kind, Target = the
	// hosts hit. At is the agent's stamp where an agent did it.
	OpFaultInject     = "fault-inject"      // Invoke = requested; OK = injected; Fail; Detail
	OpFaultVerify     = "fault-verify"      // OK or Fail: the effect was seen, or not
	OpFaultHeal       = "fault-heal"        // OK or Fail
	OpFaultHealVerify = "fault-heal-verify" // OK or Fail: the effect was seen to be gone
)

// The values of Detail for phases, in order.
const (
	PhaseEnsemble = "ensemble"  // hosts are up; the ensemble is being started
	PhaseConnect  = "connect"   // the ensemble is ready; clients connect
	PhaseWarmup   = "warm-up"   // clients work; nothing is measured
	PhaseMeasure  = "measure"   // the measured window
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
func Slot(n int64) string { return "slot-" + strconv.FormatInt(n, 10) }

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
