package history

import (
	"strconv"
	"time"
)

// The ops of an agent about its host.
const (
	OpProcess Op = "process" // Info: see ProcessChange
	OpNetwork Op = "network" // Info: see NetworkChange
)

// A ProcessState is the state of a host's one process.
type ProcessState string

// The states of a process.
const (
	ProcessNone      ProcessState = "none" // it was never started; no event says so
	ProcessStarted   ProcessState = "started"
	ProcessStopped   ProcessState = "stopped" // by SIGSTOP
	ProcessContinued ProcessState = "continued"
	ProcessExited    ProcessState = "exited"
)

// A ProcessChange is a change of the state of a host's process, which is the event's Process.
type ProcessChange struct {
	State  ProcessState
	PID    int
	Detail string // how it exited, or which signal stopped it
}

// Event returns the event that records the change.
func (c ProcessChange) Event() Event {
	return Event{Op: OpProcess, Mode: Mode(c.State), Value: int64(c.PID), Detail: c.Detail}
}

// ProcessChange returns the payload of an event of [OpProcess].
func (e *Event) ProcessChange() ProcessChange {
	return ProcessChange{State: ProcessState(e.Mode), PID: int(e.Value), Detail: e.Detail}
}

// ProcessIs reports whether the event says that its process came to be in that state.
func (e *Event) ProcessIs(state ProcessState) bool {
	return e.Op == OpProcess && ProcessState(e.Mode) == state
}

// A NetworkState says what was done to a host's network.
type NetworkState string

// The states of a network.
const (
	NetworkBlocked NetworkState = "blocked" // a rule that drops packets is in force
	NetworkDelayed NetworkState = "delayed" // a rule that delays packets is in force
	NetworkCleared NetworkState = "cleared" // a rule is gone
	NetworkReset   NetworkState = "reset"   // connections were reset
)

// A NetworkChange is a change of a host's network.
type NetworkChange struct {
	State       NetworkState
	Rule        string // the rule's id; empty for a reset
	Peers       string // what was done to which peers, in words
	Connections int    // how many were reset
}

// Event returns the event that records the change.
func (c NetworkChange) Event() Event {
	return Event{Op: OpNetwork, Mode: Mode(c.State), Fault: c.Rule, Target: c.Peers, Value: int64(c.Connections)}
}

// NetworkChange returns the payload of an event of [OpNetwork].
func (e *Event) NetworkChange() NetworkChange {
	return NetworkChange{State: NetworkState(e.Mode), Rule: e.Fault, Peers: e.Target, Connections: int(e.Value)}
}

// The ops of a client process and the harness about themselves, in the measured window; see package hiccups.
const (
	OpHiccup        Op = "hiccup"         // Info, at its end: a sleep of 10 ms that took much too long
	OpHiccups       Op = "hiccups"        // Info: all other sleeps
	OpResident      Op = "resident"       // Info: how much memory the process has, at the window's end
	OpProcessorTime Op = "processor-time" // Info: how much of the processors a process had used
	OpSlowed        Op = "slowed"         // Info, at its end: a wait of its clients; see [Recorder.AwaitCollector]
)

// HiccupOf is the event of a sleep that ended at a time and took so much too long.
func HiccupOf(at int64, over time.Duration) Event {
	return Event{At: at, Op: OpHiccup, Value: int64(over)}
}

// Hiccup is by how much the sleep of an event of [OpHiccup] was too long.
func (e *Event) Hiccup() time.Duration { return time.Duration(e.Value) }

// Hiccups are the sleeps of a process that were not much too long.
type Hiccups struct {
	Count        int64
	Distribution string // as package hiccups encodes it
}

// Event returns the event that records them.
func (h Hiccups) Event() Event { return Event{Op: OpHiccups, Value: h.Count, Detail: h.Distribution} }

// Hiccups returns the payload of an event of [OpHiccups].
func (e *Event) Hiccups() Hiccups { return Hiccups{Count: e.Value, Distribution: e.Detail} }

// ResidentOf is the event that a process has so many bytes in memory.
func ResidentOf(bytes int64) Event { return Event{Op: OpResident, Value: bytes} }

// Resident is how many bytes a process had in memory, of an event of [OpResident].
func (e *Event) Resident() int64 { return e.Value }

// ProcessorTime is how much of the processors a host's process had used since it was started.
type ProcessorTime struct {
	Host string // or [AgentOf] one, or [Machine]
	PID  int    // or Away
	Used time.Duration
}

// Machine stands, as the host of a [ProcessorTime], for all that the harness's machine does, and Away, as its process,
// for one of another machine.
const (
	Machine = "machine"
	Away    = -1
)

// AgentOf stands for the agent of a host, as the host of a [ProcessorTime].
func AgentOf(host string) string { return host + " agent" }

// Event returns the event that records it. Its time is when that was read.
func (p ProcessorTime) Event(at int64) Event {
	return Event{At: at, Op: OpProcessorTime, Target: p.Host, Value: int64(p.Used), Detail: strconv.Itoa(p.PID)}
}

// ProcessorTime returns the payload of an event of [OpProcessorTime]. Its PID is 0 if the event does not say it.
func (e *Event) ProcessorTime() ProcessorTime {
	pid, _ := strconv.Atoi(e.Detail)
	return ProcessorTime{Host: e.Target, PID: pid, Used: time.Duration(e.Value)}
}

// SlowedFor is the event of a wait that ended at a time and lasted so long.
func SlowedFor(at int64, wait time.Duration) Event {
	return Event{At: at, Op: OpSlowed, Value: int64(wait)}
}

// Slowed is how long the wait of an event of [OpSlowed] lasted.
func (e *Event) Slowed() time.Duration { return time.Duration(e.Value) }
