package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"time"

	"locklab/ensembles/reach"
	"locklab/ensembles/txnlog/nodes"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// ClientConfig is what a client process is started with, as JSON.
type ClientConfig struct {
	// Host is the process's name in the history.
	Host string `json:"host"`
	// Servers are the ensemble's servers, in the order in which they are numbered.
	Servers []Server `json:"servers"`
	// Resource is the address of what the locks protect.
	Resource string `json:"resource"`
	// Recipe names the lock algorithm.
	Recipe string `json:"recipe"`
	// Command is the lock's command with its arguments, if the recipe is foreign.
	Command []string `json:"command,omitempty"`
	// Workload is one of the workloads; the recipe has to serve it.
	Workload string `json:"workload"`
	// Load is what clients ask of the locks, and when. In an open loop, Rates are the rates of all processes
	// together, from the start of the window on, and MaxInFlight bounds how many acquisitions this process has under
	// way at once.
	workloads.Load
	Rates       workloads.Rates `json:"rates,omitempty"`
	MaxInFlight int             `json:"max_in_flight,omitempty"`
	// Queue is how many arrivals of this process wait while that many are under way.
	Queue int `json:"queue,omitempty"`
	// Classes is Java's class path, before ZooKeeper's jars, where Command is "java"; the harness resolves both before it
	// starts the process.
	Classes string `json:"classes,omitempty"`
	// Layout is the layout of znodes that the scenario declares for the command, and for an observer that of the locks;
	// empty = none.
	Layout nodes.Layout `json:"layout,omitempty"`
	// Locks are the paths of the locks; a client takes one each time, by LockChoice.
	Locks []string `json:"locks"`
	// Clients is how many this process runs; First is the number of its first
	// among those of all processes, AllClients, which decides its server and its randomness.
	Clients    int `json:"clients"`
	First      int `json:"first"`
	AllClients int `json:"all_clients"`
	// ClientsPerSession is how many of them share a session; 0 is 1. A recipe's command has one session for each
	// client.
	ClientsPerSession int `json:"clients_per_session,omitempty"`
	// Pinned is how many of the first servers clients are dealt to; 0 is all. The others are tried after
	// those.
	Pinned int `json:"pinned,omitempty"`
	// Stay says that a client knows only the server that it is dealt to, so that it never moves to another one.
	Stay bool `json:"stay,omitempty"`
	// LockOnly says that clients do not use the resource, but only hold the lock.
	LockOnly bool `json:"lock_only,omitempty"`
	// Append makes the resource's data lists, to which writers append.
	Append bool `json:"append,omitempty"`
	// Incarnation counts how often this process was started again: it numbers its clients' acquisitions
	// where none of its predecessors' can have come to, and draws from streams of its own. From is when
	// it took over, in ns of CLOCK_MONOTONIC: arrivals due before that were not its own.
	Incarnation int   `json:"incarnation,omitempty"`
	From        int64 `json:"from_ns,omitempty"`
	// Warmup is how long after the start the measured window opens.
	Warmup time.Duration `json:"warmup_ns"`
	// SessionTimeout is what to ask the servers for.
	SessionTimeout time.Duration `json:"session_timeout_ns"`
	// Guard is one of the client's guards, or another name for none. Tick is the servers', for
	// a lease clock.
	Guard string        `json:"guard"`
	Tick  time.Duration `json:"tick_ns"`
	// Iterations ends each client after so many acquisitions; 0 = with the window.
	Iterations int    `json:"iterations"`
	Drain      string `json:"drain"`
	Seed       uint64 `json:"seed"`
	// Observe makes the process watch the locks' holders instead of contending, in the
	// way that Seen says.
	Observe bool      `json:"observe"`
	Seen    lock.Seen `json:"seen,omitempty"`
	// Credential is the digest credential of the sessions; empty = none. It does not come with the rest, because that is
	// kept in a file.
	Credential reach.Secret `json:"-"`
	// TLS is what connections by TLS need; nil = there are none. It does not come with the rest either.
	TLS *reach.TLS `json:"-"`

	_ struct{}
}

// A Server is one server of the ensemble.
type Server struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	// TLS says that connections to it use TLS.
	TLS bool `json:"tls,omitempty"`
}

// Protocol is the version of how a harness talks with client processes: what their configuration means, the commands on
// their standard input, and the events that they record. A benchmark runs client processes of another binary beside
// ours if both have the same version. It rises with each change that the other side would misunderstand. A new field of
// [ClientConfig] is not such a change, since a process refuses fields that it does not know and is only given those
// that are needed.
const Protocol = 2

// ProcessorsEnv is the variable by which Go learns how many processors the process may use at once.
const ProcessorsEnv = "GOMAXPROCS"

// Needed is the configuration as JSON without the fields that say nothing.
func (c ClientConfig) Needed() json.RawMessage {
	full, zero := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, f := range []struct {
		of   ClientConfig
		into *map[string]json.RawMessage
	}{{c, &full}, {ClientConfig{}, &zero}} {
		b, err := json.Marshal(f.of)
		if err == nil {
			err = json.Unmarshal(b, f.into)
		}
		if err != nil {
			panic(fmt.Sprintf("client: configuration: %v", err)) // it is plain values
		}
	}
	for name, nothing := range zero {
		if bytes.Equal(full[name], nothing) {
			delete(full, name)
		}
	}
	b, err := json.Marshal(full)
	if err != nil {
		panic(fmt.Sprintf("client: configuration: %v", err)) // it was JSON before
	}
	return b
}

// ResourcePort is where the resource serves clients, on its own host.
const ResourcePort = 7100

// ResourceConfig is what a resource process is started with, as JSON.
type ResourceConfig struct {
	Host string `json:"host"`
	// Address is the address of the host, on whose ResourcePort the resource serves.
	Address netip.Addr `json:"address"`
	// Fencing makes the resource refuse stale tokens: see resource.New.
	Fencing bool `json:"fencing"`
	// Resume lists the directories of the records of the resources that it takes over from, oldest first.
	Resume []string `json:"resume,omitempty"`
	// Lists makes each lock protect a list instead of a counter.
	Lists bool `json:"lists,omitempty"`

	_ struct{}
}

// The commands that a client process reads from its standard input, a line each.
const (
	// CommandGo starts the work: go START END, both in ns of CLOCK_MONOTONIC.
	// START is the same for all processes, so they begin together; after END no
	// client begins another acquisition, and the drain begins.
	CommandGo = "go"
	// CommandUntil closes the window earlier than announced: until END, in ns of CLOCK_MONOTONIC.
	CommandUntil = "until"
	// CommandStop ends the work now, as if the window had closed, and cancels waiters.
	CommandStop = "stop"
	// CommandFinal makes the process record the final values of the locks' data, once its work is over: one OpFinal
	// for each lock. A process that cannot read them ends with an error.
	CommandFinal = "final"
	// CommandArm arms a trigger: arm FAULT POINT. The next client that comes to
	// that point stops the whole process.
	CommandArm = "arm"
	// With a third word it does something else to itself there: arm FAULT POINT expire|move.
	// CommandDisarm takes it back: disarm FAULT.
	CommandDisarm = "disarm"
	// CommandStrike does it at once, to the session of a client: strike FAULT expire|move CLIENT.
	CommandStrike = "strike"
	// CommandSettle takes a move back: settle FAULT.
	CommandSettle = "settle"
)

// FormatGo writes the command that starts the work.
func FormatGo(start, end int64) string { return fmt.Sprintf("%s %d %d", CommandGo, start, end) }

// FormatUntil writes the command that closes the window at end, or now if that is past.
func FormatUntil(end int64) string { return fmt.Sprintf("%s %d", CommandUntil, end) }

// FormatArm writes the command that arms a trigger.
func FormatArm(fault, point string) string { return CommandArm + " " + fault + " " + point }

// FormatArmTo writes the command that arms a trigger for an action other than a stop: one of the Strike… constants.
func FormatArmTo(fault, point, action string) string { return FormatArm(fault, point) + " " + action }

// FormatStrike writes the command that injects a fault into the session of a client (HOST/NUMBER) at once.
func FormatStrike(fault, action, client string) string {
	return CommandStrike + " " + fault + " " + action + " " + client
}

// FormatSettle writes the command that lets clients back to the server that a move drove them from, and
// disarms the move if it has not been made yet.
func FormatSettle(fault string) string { return CommandSettle + " " + fault }

// FormatDisarm writes the command that disarms a trigger.
func FormatDisarm(fault string) string { return CommandDisarm + " " + fault }

// What a client does to itself, on command or when it comes to an armed point.
const (
	StrikeStop   = "stop"   // stops its whole process
	StrikeExpire = "expire" // ends its own session at the servers
	StrikeMove   = "move"   // resets its connection, and keeps away from that server
)

// The points of a critical section.

// BetweenReadAndWrite is the point of a critical section after the counter was
// read and before it is written: where a stale write loses an update.
const BetweenReadAndWrite = "between-read-and-write"

// BeforeWrite is the point of a critical section directly before the counter is written, behind what the
// client's guard asks: where no client can guard itself.
const BeforeWrite = "before-write"

// BetweenReads is the point between the two reads of a client that writes nothing: there, what a reader relies on can
// change.
const BetweenReads = "between-reads"

// WithinHold is an instant of the time for which a client holds on between its accesses, from the seed and the fault's
// name.
const WithinHold = "within-hold"

// InstantOf draws at which share of its hold a fault strikes that is armed at [WithinHold].
func InstantOf(seed uint64, fault string) float64 {
	name := fnv.New64a()
	name.Write([]byte(fault))
	return rand.New(rand.NewPCG(seed, name.Sum64())).Float64()
}
