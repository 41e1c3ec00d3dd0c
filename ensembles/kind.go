package ensembles

import (
	"context"
	"log/slog"
	"net/netip"

	"locklab/ensembles/agent"
)

// What scenarios and run directories call the kinds of labs. LabAuto stands for the first kind that works on this
// machine. They are here and not with their kinds, so that a reader of a scenario links no kind.
const (
	LabAuto       = "auto"
	LabDocker     = "docker"
	LabNetns      = "netns"
	LabProcess    = "process"
	LabKubernetes = "kubernetes"
	// LabSim is a simulation, which has no hosts: see package simulate.
	LabSim = "sim"
)

// LabNames returns what a scenario can call a lab: LabAuto, then the kinds in the order in which it tries them, and
// LabSim.
func LabNames() []string {
	return []string{LabAuto, LabDocker, LabNetns, LabProcess, LabKubernetes, LabSim}
}

// A Kind is a way to make labs. Kinds differ in how hosts are started and reached. All else goes through the agents of
// the hosts, and is the same for every kind.
type Kind interface {
	// Name is what scenarios and run directories call the kind.
	Name() string
	// Lacks says why hosts of the kind lack capabilities on every machine. What a machine lacks besides, only an agent on
	// it can tell.
	Lacks() agent.Capabilities
	// Open prepares a place for the hosts of one lab, whose id is unique. If it returns an error, it has left nothing
	// behind. A version of ZooKeeper that the hosts cannot have is a [*VersionError].
	Open(ctx context.Context, id string, cfg LabConfig) (Place, error)
	// Clean removes what killed runs have left. It leaves running labs alone.
	Clean(ctx context.Context, log *slog.Logger) error
}

// A Place holds the hosts of one lab.
type Place interface {
	// Image says what servers run on, for the record of a run.
	Image() string
	// Start starts the i-th host of the lab's configuration. The host's first process is the agent, with that
	// environment besides the host's own. Many goroutines may call Start.
	Start(ctx context.Context, i int, env map[string]string) (Location, error)
	// Close removes the hosts, with their data, and all else that the place made.
	Close(ctx context.Context) error
}

// A Location is where a host can be reached.
type Location struct {
	// Address is the host's address in the lab's own network.
	Address netip.Addr
	// Control is where the harness reaches the host's agent.
	Control netip.AddrPort
	// Server is where hosts of the lab reach the host's ZooKeeper server, if that is not ClientPort of its Address.
	Server netip.AddrPort
	// Published is where this machine reaches the host's ZooKeeper server, if the HostSpec asked for it.
	Published netip.AddrPort
	// Root is the directory of this machine below which the host sees its files; empty if it has a file system of its own.
	Root string
	// Homes are the directories of the host in which the versions of its HostSpec are, and perhaps others. An empty one
	// stands for the ZooKeeper that the agent finds by itself.
	Homes map[string]string
}

// LabConfig configures a lab of any kind.
type LabConfig struct {
	Hosts []HostSpec
	// Binary is the static locklab binary that hosts run.
	Binary string
	Log    *slog.Logger
	// Opened is called once the kind has a place for the hosts, so that their images and files are there; nil = it is not
	// called.
	Opened func()

	_ struct{}
}
