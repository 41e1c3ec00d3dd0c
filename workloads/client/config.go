package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/recipes/zksession"
	"locklab/workloads"
	"locklab/workloads/control"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// A config is what the process was started with, and what follows from that.
type config struct{ control.ClientConfig }

func (c *config) validate() error {
	switch {
	case c.Host == "" || len(c.Servers) == 0 || len(c.Locks) == 0:
		return errors.New("client: host, servers and locks are required")
	case !c.Observe && (c.Clients < 1 || c.Resource == ""):
		return errors.New("client: clients and resource are required")
	case c.TLS == nil && slices.ContainsFunc(c.Servers, func(s control.Server) bool { return s.TLS }):
		return errors.New("client: connections are to use TLS, and nothing says how")
	case c.Drain != workloads.DrainFinish && c.Drain != workloads.DrainCancel:
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
func (c *config) session(servers []string) zksession.Config {
	s := zksession.Config{Servers: servers, Timeout: c.SessionTimeout}
	if c.Credential != "" {
		s.Credentials, s.ACL = remote.Credentials(c.Credential), remote.ACL(c.Credential)
	}
	return s
}

// dial connects to a server, by TLS if connections to it use that.
func (c *config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var way reach.Ensemble
	if slices.ContainsFunc(c.Servers, func(s control.Server) bool { return s.TLS && s.Address == address }) {
		way.TLS = c.TLS
	}
	return way.Dial(ctx, network, address)
}

// recipe returns the recipe of the process's clients.
func (c *config) recipe() lock.Recipe {
	r, _ := lock.Find(c.Recipe)
	r.Foreign = r.Foreign || len(c.Command) > 0
	return r
}

// opener returns the recipe's opener; nil if there is none.
func (c *config) opener() lock.Opener {
	if r := c.recipe(); r.Foreign == (len(c.Command) > 0) {
		return r.Opener()
	}
	return nil // a command that is not given
}

// perSession returns how many clients share a session.
func (c *config) perSession() int { return max(c.ClientsPerSession, 1) }

// serversFor returns the order in which a session tries the servers: sessions are dealt in turn to all servers, or to
// those that they are pinned to.
func (c *config) serversFor(session int) []string {
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
func (c *config) homeOf(session int) []string {
	order := c.serversFor(session)
	if c.Stay {
		order = order[:1]
	}
	return order
}

// serverName is the host name of the server at an address.
func (c *config) serverName(address string) string {
	for _, s := range c.Servers {
		if s.Address == address {
			return s.Name
		}
	}
	return address
}
