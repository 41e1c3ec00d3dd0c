package control

import (
	"time"

	"locklab/ensembles/reach"
	"locklab/ensembles/txnlog/nodes"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// The ways to drain.
const (
	DrainFinish = "finish" // a client that waits at the end of the window is still granted the lock
	DrainCancel = "cancel" // a client that waits at the end of the window is cancelled
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
	// Layout is the layout of znodes that the scenario declares for the command; empty = none.
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
