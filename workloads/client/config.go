package client

import (
	"errors"
	"fmt"
	"time"
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
	// Recipe names the lock algorithm; see [FindRecipe].
	Recipe string `json:"recipe"`
	// Command is the lock's, with its arguments, where the recipe is foreign.
	Command []string `json:"command,omitempty"`
	// Classes is Java's class path, before ZooKeeper's jars, where Command is "java";
	// whoever starts the process resolves both.
	Classes string `json:"classes,omitempty"`
	// Locks are the paths of the locks; a client takes one at random each time.
	Locks []string `json:"locks"`
	// Clients is how many this process runs; First is the number of its first
	// among those of all processes, which decides its server and its randomness.
	Clients int `json:"clients"`
	First   int `json:"first"`
	// SessionTimeout is what to ask the servers for.
	SessionTimeout time.Duration `json:"session_timeout_ns"`
	// Hold is the time between read and write, Think that before the next acquire.
	Hold  time.Duration `json:"hold_ns"`
	Think time.Duration `json:"think_ns"`
	// Iterations ends each client after so many acquisitions; 0 = with the window.
	Iterations int    `json:"iterations"`
	Drain      string `json:"drain"`
	Seed       uint64 `json:"seed"`
	// Observe makes the process watch the locks' queues instead of contending.
	Observe bool `json:"observe"`

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
	r, ok := FindRecipe(c.Recipe)
	if !ok {
		return fmt.Errorf("client: unknown recipe %q", c.Recipe)
	}
	if r.Foreign && !c.Observe && len(c.Command) == 0 {
		return fmt.Errorf("client: recipe %s needs a command", c.Recipe)
	}
	return nil
}

// serversFor is the order in which a client tries the servers: clients are
// dealt to them in turn.
func (c *Config) serversFor(client int) []string {
	n := len(c.Servers)
	order := make([]string, n)
	for i := range order {
		order[i] = c.Servers[(client+i)%n].Address
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
