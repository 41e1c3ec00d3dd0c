package agent

import (
	"net/netip"
	"time"
)

// Port is where an agent listens inside its host.
const Port = 7070

// DataDir is the directory on a host that holds everything its agent and its
// process write. It is a volume or tmpfs of the run, never the image's layer.
const DataDir = "/lab"

// The environment variables by which an agent learns what it is.
const (
	EnvHost   = "LOCKLAB_HOST"
	EnvSecret = "LOCKLAB_SECRET"
	EnvLease  = "LOCKLAB_LEASE"
)

// HistoryDir is the agent's own history, relative to DataDir.
const HistoryDir = "agent"

// Spec says what process to run on a host.
type Spec struct {
	// Argv is the program and its arguments. An Argv[0] of "java" is resolved to
	// the image's Java, and "locklab" to the agent's own binary.
	Argv []string `json:"argv"`
	// ZooKeeper puts ZooKeeper's jars of the image on Java's class path.
	ZooKeeper bool `json:"zookeeper,omitempty"`
	// Dir is the process's working directory, relative to DataDir; its standard
	// output and error go to Log in it.
	Dir string `json:"dir"`
	// Files are written to Dir first: name to content.
	Files map[string]string `json:"files,omitempty"`
	// Grace is how long a stop waits for the process to end by itself.
	Grace time.Duration `json:"grace,omitempty"`
}

// LogFile is the name of a process's log in its directory.
const LogFile = "log"

// ProcessHistoryDir is the name of the history in a process's directory, for
// processes that record one.
const ProcessHistoryDir = "history"

// Stamp is the answer to everything that changes a host.
type Stamp struct {
	// At is when it was done, in ns of CLOCK_MONOTONIC.
	At int64 `json:"at_ns"`
}

// Status is the state of a host's process.
type Status struct {
	// State is one of the history.Process… constants, or "none" before the first start.
	State string `json:"state"`
	PID   int    `json:"pid"`
	// Since is when the state began.
	Since int64 `json:"since_ns"`
	// Exit describes how the process ended, e.g. "exit status 1" or "killed".
	Exit string `json:"exit,omitempty"`
	// Starts counts how often a process was started on this host.
	Starts int `json:"starts"`
	// Rules are the ids of the network blocks in force.
	Rules []string `json:"rules"`
	// HistoryBytes is the size of the agent's own history so far.
	HistoryBytes int64 `json:"history_bytes"`
}

// Block is a network rule: no packet passes between this host and the peers.
type Block struct {
	// ID names the rule, so that healing one fault keeps the others' rules.
	ID    string       `json:"id"`
	Peers []netip.Addr `json:"peers"`
}

// Probe asks whether this host can open TCP connections.
type Probe struct {
	Addresses []netip.AddrPort `json:"addresses"`
	Timeout   time.Duration    `json:"timeout"`
}

// ProbeResult is the answer to a Probe, in its order: "" for reached, else the error.
type ProbeResult struct {
	Errors []string `json:"errors"`
}
