package agent

import (
	"time"

	"locklab/harness/history"
)

// Spec says what process to run on a host.
type Spec struct {
	// Argv is the program and its arguments. The program "java" is the image's Java, and "locklab" is the agent's own
	// binary.
	Argv []string `json:"argv"`
	// ZooKeeper puts the image's ZooKeeper jars on Java's class path, or those in the directory Home if that is given.
	ZooKeeper bool   `json:"zookeeper,omitempty"`
	Home      string `json:"home,omitempty"`
	// Env are variables of the process, as name=value, besides those of the host. Of the host's own it does not get those
	// that are meant for the agent.
	Env []string `json:"env,omitempty"`
	// Dir is the process's working directory, below DataDir. The process's standard output and error go to LogFile in it.
	Dir string `json:"dir"`
	// Files are written to Dir before the process starts, by name.
	Files map[string]string `json:"files,omitempty"`
	// Data are files that the process finds when it starts for the first time, by their path below Dir. A file that
	// exists is left as it is, so that a restarted process finds what it has written.
	Data map[string][]byte `json:"data,omitempty"`
	// Clock gives the process a wall clock of its own; see [Client.SetClock].
	Clock bool `json:"clock,omitempty"`
	// Grace is how long a stop waits for the process to end by itself; 0 means 5 s.
	Grace time.Duration `json:"grace,omitempty"`
}

// Stamp is the answer to a request that changes a host.
type Stamp struct {
	// At is when the agent made the change, in ns of CLOCK_MONOTONIC.
	At int64 `json:"at_ns"`
}

// ProcessorTime is how much of the processors a host's process has used since it was started, with the processes that
// it has started itself.
type ProcessorTime struct {
	PID  int           `json:"pid"`     // 0 = there is no process
	Used time.Duration `json:"used_ns"` // to 10 ms
	// Away says that the process is a server's that the agent speaks for, on another machine.
	Away bool `json:"away,omitempty"`
	// Agent is what the agent itself has used.
	Agent time.Duration `json:"agent_ns"`
}

// Status is the state of a host's process.
type Status struct {
	// State is history.ProcessNone before the first start.
	State history.ProcessState `json:"state"`
	PID   int                  `json:"pid"`
	// Since is when the state began, in ns of CLOCK_MONOTONIC.
	Since int64 `json:"since_ns"`
	// Exit describes how the process ended, e.g. "exit status 1" or "killed".
	Exit string `json:"exit,omitempty"`
	// Starts is how often a process was started on this host.
	Starts int `json:"starts"`
	// Rules are the ids of the network blocks and delays in force.
	Rules []string `json:"rules"`
	// Network describes the same blocks and delays.
	Network []InForce `json:"network,omitempty"`
	// Stalls are the ids of the faults that hold the process's disk thread.
	Stalls []string `json:"stalls,omitempty"`
	// ClockOffset is how far the process's wall clock is set off.
	ClockOffset time.Duration `json:"clock_offset_ns,omitempty"`
	// HistoryBytes is the size of the agent's own history so far.
	HistoryBytes int64 `json:"history_bytes"`
}

// Port is where an agent listens inside its host.
const Port = 7070

// DataDir is the directory on a host to which its agent and its process write. It is a volume or a tmpfs of the lab,
// never a layer of the image.
const DataDir = "/lab"

// The environment variables that configure an agent.
const (
	EnvHost   = "LOCKLAB_HOST"
	EnvSecret = "LOCKLAB_SECRET"
	EnvLease  = "LOCKLAB_LEASE"
	// EnvControl and EnvPublished are the numbers of sockets that the agent inherits, and which may be outside its
	// host's network: one on which it serves as on Port, and one from which it passes connections on to ClientPort.
	EnvControl   = "LOCKLAB_CONTROL"
	EnvPublished = "LOCKLAB_PUBLISHED"
)

// HistoryDir is the directory of the agent's own history, below DataDir.
const HistoryDir = "agent"

// LogFile is the name of a process's log, in the process's directory.
const LogFile = "log"

// ProcessHistoryDir is the name of the history in a process's directory, for processes that record one.
const ProcessHistoryDir = "history"

// ClientPort is where a ZooKeeper server of a lab serves its clients.
const ClientPort = 2181

// Capabilities says why the host lacks a capability, by the capability's name; "" means that the host has it.
type Capabilities map[string]string

// The names of the capabilities.
const (
	CapReject   = "nftables reject"
	CapLoss     = "nftables numgen"
	CapLimit    = "nftables limit"
	CapNetem    = "netem"
	CapFaketime = "libfaketime" // of the image
	CapPtrace   = "ptrace"      // only a running process can be tried; see [Client.Stall]
	CapDestroy  = "INET_DIAG_DESTROY"
	CapNetAdmin = "CAP_NET_ADMIN"
)

// SharedNetwork returns why a host that is a mere process of this machine lacks the capabilities that change its
// network.
func SharedNetwork() Capabilities {
	const why = "the host shares the network of this machine, whose rules are not touched"
	return Capabilities{CapNetAdmin: why, CapReject: why, CapLoss: why, CapLimit: why, CapNetem: why, CapDestroy: why}
}

// A Disk describes the storage below DataDir.
type Disk struct {
	// FreeBytes is how much can still be written to it.
	FreeBytes int64 `json:"free_bytes"`
	// Syncs is how many appends were synced, one after the other. P50, P99 and Max are how long one took.
	Syncs int           `json:"syncs"`
	P50   time.Duration `json:"fsync_p50_ns"`
	P99   time.Duration `json:"fsync_p99_ns"`
	Max   time.Duration `json:"fsync_max_ns"`
}
