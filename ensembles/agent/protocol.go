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
	// Data are files that are there before the process first writes any: by their path
	// below Dir, to content. One that is there already is left as it is, so that a restart finds what it left.
	Data map[string][]byte `json:"data,omitempty"`
	// Clock gives the process a wall clock that can be set; see [Client.SetClock].
	Clock bool `json:"clock,omitempty"`
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
	// Rules are the ids of the network blocks and delays in force.
	Rules []string `json:"rules"`
	// Network says of the same blocks and delays what they meet.
	Network []InForce `json:"network,omitempty"`
	// Stalls are the ids of the faults that keep the process from its disk.
	Stalls []string `json:"stalls,omitempty"`
	// ClockOffset is what the process's wall clock is set off by.
	ClockOffset time.Duration `json:"clock_offset_ns,omitempty"`
	// HistoryBytes is the size of the agent's own history so far.
	HistoryBytes int64 `json:"history_bytes"`
}

// An InForce is a network block or a delay of a host.
type InForce struct {
	ID string `json:"id"`
	// Peers are those whose packets it meets, Direction which of them, seen from the host.
	Peers     []netip.Addr `json:"peers"`
	Direction Direction    `json:"direction,omitempty"`
	// Connections says that it meets packets of TCP only.
	Connections bool `json:"connections,omitempty"`
}

// Probe asks whether this host can open TCP connections.
type Probe struct {
	Addresses []netip.AddrPort `json:"addresses"`
	Timeout   time.Duration    `json:"timeout"`
	// Ask sends ruok on each connection and waits for the whole answer.
	Ask bool `json:"ask,omitempty"`
}

// ProbeResult is the answer to a Probe, in its order.
type ProbeResult struct {
	// Errors are "" for reached (and answered), else why not.
	Errors []string `json:"errors"`
	// Took is how long each connection, or the answer on it, took.
	Took []time.Duration `json:"took"`
}

// Expectation asks the agent to count datagrams that bear an id of its choosing.
type Expectation struct {
	ID string `json:"id"`
}

// Datagrams asks the agent to send datagrams to another agent's host. Unlike a
// connection they need one way only, so they tell the ways apart.
type Datagrams struct {
	// ID is the receiver's expectation.
	ID    string         `json:"id"`
	To    netip.AddrPort `json:"to"`
	Count int            `json:"count"`
	// Size of each in bytes; 0 for as small as can be.
	Size int `json:"size,omitempty"`
	// Every is the time from one to the next.
	Every time.Duration `json:"every,omitempty"`
}

// Heard is what came of an expectation so far.
type Heard struct {
	Count int `json:"count"`
	// First and Last are when the first and last datagram came; 0 if none did.
	First int64 `json:"first_ns"`
	Last  int64 `json:"last_ns"`
}

// RelayRequest asks for a relay on this host to a server, see [Delay].
type RelayRequest struct {
	To netip.AddrPort `json:"to"`
	// Seed is what the relay draws jitter from.
	Seed uint64 `json:"seed"`
}

// RelayResult says where on this host a relay listens.
type RelayResult struct {
	Address netip.AddrPort `json:"address"`
}

// Connections are this host's established TCP connections with some peers.
type Connections struct {
	Stamp
	// Open are "local remote", in order.
	Open []string `json:"open"`
}

// Capabilities says what this host's kernel lacks: "" or why, by name.
type Capabilities map[string]string

// The names of the capabilities.
const (
	CapReject   = "nftables reject"
	CapLoss     = "nftables numgen"
	CapLimit    = "nftables limit"
	CapNetem    = "netem"
	CapFaketime = "libfaketime" // in the image
	CapPtrace   = "ptrace"      // known only of a process that there is; see [Client.Stall]
	CapDestroy  = "INET_DIAG_DESTROY"
	CapNetAdmin = "CAP_NET_ADMIN"
)
