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
