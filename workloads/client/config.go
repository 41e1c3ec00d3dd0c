package client

import (
	"errors"
	"fmt"
	"time"

	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/ensembles/txnlog/nodes"
	"locklab/recipes/zksession"
	"locklab/workloads"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// The ways to drain.
const (
	DrainFinish = "finish" // a client that waits at the end of the window is still granted the lock
	DrainCancel = "cancel" // a client that waits at the end of the window is cancelled
)

// Config is what a client process is started with, as JSON.
type Config struct {
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

	_ struct{}
}

// A Server is one server of the ensemble.
type Server struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

func (c *Config) validate() error {
	switch {
	case c.Host == "" || len(c.Servers) == 0 || len(c.Locks) == 0:
		return errors.New("client: host, servers and locks are required")
	case !c.Observe && (c.Clients < 1 || c.Resource == ""):
		return errors.New("client: clients and resource are required")
	case c.Drain != DrainFinish && c.Drain != DrainCancel:
		return fmt.Errorf("client: unknown drain %q", c.Drain)
	}
	if c.Observe {
		return nil
	}
	if g, _ := guard.Find(c.Guard); g.LeaseClock && c.Tick <= 0 {
		return errors.New("client: a lease clock needs the servers' tick")
	}
	if c.open() && (c.MaxInFlight < 1 || c.AllClients < c.First+c.Clients || c.Iterations > 0) {
		return fmt.Errorf(
			"client: arrivals %q of %d in flight, clients %d to %d of %d, %d iterations",
			c.Arrivals,
			c.MaxInFlight,
			c.First,
			c.First+c.Clients,
			c.AllClients,
			c.Iterations,
		)
	}
	if c.opener() == nil {
		return fmt.Errorf("client: unknown recipe %q, which has no command either", c.Recipe)
	}
	switch {
	case c.Workload == workloads.Mutex || c.Workload == workloads.ReadWrite:
	case c.Workload == workloads.Semaphore && c.Units >= 1 && c.Units <= c.Permits:
	case c.Workload == workloads.MultiLock && c.LocksAtOnce >= 1 && c.LocksAtOnce <= len(c.Locks):
	default:
		return fmt.Errorf(
			"client: workload %q of %d of %d permits, %d of %d locks",
			c.Workload,
			c.Units,
			c.Permits,
			c.LocksAtOnce,
			len(c.Locks),
		)
	}
	return nil
}

// session returns the configuration of a session that knows these servers.
func (c *Config) session(servers []string) zksession.Config {
	s := zksession.Config{Servers: servers, Timeout: c.SessionTimeout}
	if c.Credential != "" {
		s.Credentials, s.ACL = remote.Credentials(c.Credential), remote.ACL(c.Credential)
	}
	return s
}

// recipe returns the recipe of the process's clients.
func (c *Config) recipe() lock.Recipe {
	r, _ := lock.Find(c.Recipe)
	r.Foreign = r.Foreign || len(c.Command) > 0
	return r
}

// opener returns the recipe's opener; nil if there is none.
func (c *Config) opener() lock.Opener {
	if r := c.recipe(); r.Foreign == (len(c.Command) > 0) {
		return r.Opener()
	}
	return nil // a command that is not given
}

// perSession returns how many clients share a session.
func (c *Config) perSession() int { return max(c.ClientsPerSession, 1) }

// serversFor returns the order in which a session tries the servers: sessions are dealt in turn to all servers, or to
// those that they are pinned to.
func (c *Config) serversFor(session int) []string {
	order := make([]string, 0, len(c.Servers))
	n := len(c.Servers)
	if c.Pinned > 0 {
		n = min(c.Pinned, n)
	}
	for i := range n {
		order = append(order, c.Servers[(session+i)%n].Address)
	}
	for _, s := range c.Servers[n:] {
		order = append(order, s.Address)
	}
	return order
}

// homeOf returns the servers that a session of the clients knows, in the order in which it tries them.
func (c *Config) homeOf(session int) []string {
	order := c.serversFor(session)
	if c.Stay {
		order = order[:1]
	}
	return order
}

// serverName is the host name of the server at an address.
func (c *Config) serverName(address string) string {
	for _, s := range c.Servers {
		if s.Address == address {
			return s.Name
		}
	}
	return address
}
