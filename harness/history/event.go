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
	// Info is a fact that does not end an operation, or a result that says
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

// An Op says what an event is about. The ops are defined beside their payloads.
type Op string

// An Event is one thing that happened, as it is recorded. See the package comment for how to make and read its
// payload.
type Event struct {
	// At is nanoseconds of CLOCK_MONOTONIC: since boot, by the host's clock, in
	// a raw history; since the run's base, on the harness's clock, in a merged
	// one.
	At int64 `json:"at_ns"`
	// Process is the host whose process recorded the event, or "harness".
	Process string `json:"process"`
	Kind    Kind   `json:"kind"`
	Op      Op     `json:"op"`
	// Client is process/number of the client that the event is about.
	Client string `json:"client,omitempty"`
	// Acq is the number of the client's acquisition, from 1; 0 where none is meant.
	Acq int64 `json:"acquisition,omitempty"`
	// Lock is the lock's path.
	Lock string `json:"lock,omitempty"`
	// Mode is the hold's mode; in events that are about no lock it belongs to the payload.
	Mode    Mode      `json:"mode,omitempty"`
	Token   int64     `json:"token,omitempty"`
	Session SessionID `json:"session,omitempty"`
	// Value, Target and Detail belong to the payload.
	Value  int64  `json:"value,omitempty"`
	Target string `json:"target,omitempty"`
	// Fault is the id of the fault, or of the network rule, that the event is about.
	Fault  string `json:"fault,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// HostOf returns the host of a client, whose name is host/number.
func HostOf(client string) string {
	if i := strings.LastIndexByte(client, '/'); i >= 0 {
		return client[:i]
	}
	return client
}

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
	add("mode", string(e.Mode))
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
