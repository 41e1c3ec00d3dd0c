package agent

import "time"

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
