package client

import (
	"errors"
	"fmt"
	"time"

	"locklab/workloads"
)

// The ways to drain.
const (
	DrainFinish = "finish" // who waits at the end of the window is still granted the lock
	DrainCancel = "cancel" // who waits at the end of the window is cancelled
)

// Config is what a client process is started with, as JSON.
type Config struct {
	// Host is the process's name in the history.
	Host string `json:"host"`
	// Servers are the ensemble's, in the order in which they are numbered.
	Servers []Server `json:"servers"`
	// Resource is the address of what the locks protect.
	Resource string `json:"resource"`
	// Recipe names the lock algorithm.
	Recipe string `json:"recipe"`
	// Command is the lock's, with its arguments, where the recipe is foreign.
	Command []string `json:"command,omitempty"`
	// Workload is one of the workloads; the recipe has to serve it.
	Workload string `json:"workload"`
	// ReadShare and DowngradeShare are those of acquisitions that read and of writers
	// that go on as readers, of [WorkloadReadWrite].
	ReadShare      float64 `json:"read_share"`
	DowngradeShare float64 `json:"downgrade_share"`
	// Permits is how many there are, Units how many an acquisition takes, of [WorkloadSemaphore].
	Permits int `json:"permits"`
	Units   int `json:"units"`
	// ReadBurst is when every acquisition reads, from the start on.
	ReadBurst workloads.Burst `json:"read_burst"`
	// Resize is the other number of permits, and when it changes between the two.
	Resize workloads.Resize `json:"resize"`
	// LocksPerAcquire is how many an acquisition takes, in the order of Locks if Ordered
	// and in any if not, of [WorkloadMultiLock].
	LocksPerAcquire int  `json:"locks_per_acquire"`
	Ordered         bool `json:"ordered"`
	// Wait is how long an acquire may take; 0 = as long as it takes.
	Wait time.Duration `json:"wait_ns"`
	// Try makes an acquire give up once it is known that it would have to wait.
	Try bool `json:"try,omitempty"`
	// Classes is Java's class path, before ZooKeeper's jars, where Command is "java";
	// whoever starts the process resolves both.
	Classes string `json:"classes,omitempty"`
	// Locks are the paths of the locks; a client takes one each time, by LockChoice.
	Locks      []string         `json:"locks"`
	LockChoice workloads.Choice `json:"lock_choice"`
	// Clients is how many this process runs; First is the number of its first
	// among those of all processes, AllClients, which decides its server and its randomness.
	Clients    int `json:"clients"`
	First      int `json:"first"`
	AllClients int `json:"all_clients"`
	// ClientsPerSession is how many of them share a session; 0 is 1. A recipe's command has a session
	// for each.
	ClientsPerSession int `json:"clients_per_session,omitempty"`
	// Pinned is how many of the first servers clients are dealt to; 0 is all. The others are tried after
	// those.
	Pinned int `json:"pinned,omitempty"`
	// LockOnly leaves out what the lock is for: nobody uses the resource.
	LockOnly bool `json:"lock_only,omitempty"`
	// Append makes the resource's data lists, to which writers append.
	Append bool `json:"append,omitempty"`
	// Arrivals is one of the ways in which work arrives; empty = [workloads.Closed]. In the
	// others, Rates are those of all processes, from the window's start on, and MaxInFlight
	// bounds how many acquisitions of this process there are at once.
	Arrivals    string          `json:"arrivals,omitempty"`
	Rates       workloads.Rates `json:"rates,omitempty"`
	MaxInFlight int             `json:"max_in_flight,omitempty"`
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
	// [GuardLeaseClock].
	Guard string        `json:"guard"`
	Tick  time.Duration `json:"tick_ns"`
	// Hold is the time between read and write, Think that before the next acquire.
	Hold  workloads.Distribution `json:"hold"`
	Think workloads.Distribution `json:"think"`
	// Iterations ends each client after so many acquisitions; 0 = with the window.
	Iterations int    `json:"iterations"`
	Drain      string `json:"drain"`
	Seed       uint64 `json:"seed"`
	// Observe makes the process watch the locks' holders instead of contending, in the
	// way that Seen says.
	Observe bool   `json:"observe"`
	Seen    string `json:"seen,omitempty"`

	_ struct{}
}

// A Server is one of the ensemble's.
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
	if c.Guard == GuardLeaseClock && c.Tick <= 0 {
		return errors.New("client: a lease clock needs the servers' tick")
	}
	if c.open() && (c.MaxInFlight < 1 || c.AllClients < c.First+c.Clients || c.Iterations > 0) {
		return fmt.Errorf("client: arrivals %q of %d in flight, clients %d to %d of %d, %d iterations", c.Arrivals, c.MaxInFlight, c.First, c.First+c.Clients, c.AllClients, c.Iterations)
	}
	if c.opener() == nil {
		return fmt.Errorf("client: unknown recipe %q, which has no command either", c.Recipe)
	}
	switch {
	case c.Workload == WorkloadMutex || c.Workload == WorkloadReadWrite:
	case c.Workload == WorkloadSemaphore && c.Units >= 1 && c.Units <= c.Permits:
	case c.Workload == WorkloadMultiLock && c.LocksPerAcquire >= 1 && c.LocksPerAcquire <= len(c.Locks):
	default:
		return fmt.Errorf("client: workload %q of %d of %d permits, %d of %d locks", c.Workload, c.Units, c.Permits, c.LocksPerAcquire, len(c.Locks))
	}
	return nil
}

// opener is the recipe's; nil if there is none.
func (c *Config) opener() opener {
	if len(c.Command) > 0 {
		return openForeign
	}
	return openers[c.Recipe]
}

// perSession is how many clients share a session.
func (c *Config) perSession() int { return max(c.ClientsPerSession, 1) }

// serversFor is the order in which a session tries the servers: sessions are
// dealt in turn to all, or to those that they are pinned to.
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

// serverName is the host name of the server at an address.
func (c *Config) serverName(address string) string {
	for _, s := range c.Servers {
		if s.Address == address {
			return s.Name
		}
	}
	return address
}
