package ensembles

import (
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"locklab/ensembles/agent"
)

// A Role is the kind of process that a host runs. It decides what the image of the host needs.
type Role int

// The roles.
const (
	Server   Role = iota // a ZooKeeper server: an image with Java and ZooKeeper
	Client               // a client process: nothing but the binary
	Resource             // the protected resource: nothing but the binary
	Harness              // a harness: nothing but the binary, and the right to make labs of the same kind
)

// A HostSpec describes a host to make.
type HostSpec struct {
	Name string
	Role Role
	// Disk puts the host's data on a volume instead of a tmpfs.
	Disk bool
	// Publish makes ZooKeeper's client port reachable on 127.0.0.1, for tests that are clients themselves.
	Publish bool
	// Files are copied to the host before it starts.
	Files []File
	// Base gives the host the servers' image, which has Java and a shell, instead of one that has only the binary.
	// Image names another image.
	Base  bool
	Image string
	// Versions are the ZooKeepers that a server can be started with: [DefaultVersion], directories of this machine and,
	// in labs of containers, images. It starts with the first one. None = only [DefaultVersion].
	Versions []string
}

// First returns the version that a server starts with.
func (s *HostSpec) First() string {
	if len(s.Versions) == 0 {
		return DefaultVersion
	}
	return s.Versions[0]
}

// A File is copied from this machine to a host.
type File struct {
	Source, Target string
	Executable     bool
}

// A Host is part of a lab. It has its own address and runs one process.
type Host struct {
	Name string
	Role Role
	// Address is the host's address in the lab's own network. Only hosts of the lab can reach it.
	Address netip.Addr
	// Server is the address at which hosts of the lab reach the host's ZooKeeper server.
	Server netip.AddrPort
	// Published is the address of ZooKeeper's client port on 127.0.0.1, if the HostSpec asked for it.
	Published netip.AddrPort
	// Agent is the client by which the harness controls the host.
	Agent *agent.Client

	root  string            // as in its Location
	first string            // the version that its server starts with
	homes map[string]string // of its versions, as in its Location
}

// Path returns where the host sees the file that a [File] puts at a target.
func (h *Host) Path(target string) string { return h.root + target }

// A Lab is the set of hosts of a run.
type Lab struct {
	ID    string
	Kind  string // the name of the lab's Kind
	Image string // what the servers run on, such as the name of a container image
	hosts []*Host

	lease    context.CancelFunc
	renewals sync.WaitGroup
	place    Place
}

// Unstarted returns a lab of hosts that nothing was started for and that have no agents, such as a simulation's.
func Unstarted(hosts ...*Host) *Lab { return &Lab{hosts: hosts} }

// Hosts returns the hosts of the given roles, in the order of the specs.
func (l *Lab) Hosts(roles ...Role) []*Host {
	var hs []*Host
	for _, h := range l.hosts {
		for _, r := range roles {
			if h.Role == r {
				hs = append(hs, h)
			}
		}
	}
	return hs
}

// Host returns the host of that name, or nil.
func (l *Lab) Host(name string) *Host {
	for _, h := range l.hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// Close removes the lab with everything in it.
func (l *Lab) Close(ctx context.Context) error {
	l.lease()
	l.renewals.Wait()
	for _, h := range l.hosts {
		h.Agent.Close()
	}
	return l.place.Close(ctx)
}

// Lease is how long a lab's agents live without a renewal. After the harness was killed, everything of a run is gone
// within this time plus the time to remove it.
const Lease = 8 * time.Second

// renewEvery leaves room for several lost renewals within a lease.
const renewEvery = Lease / 8

// keepLease renews an agent's lease until the lab is closed. It warns once when an agent that has answered falls
// silent, and says when the agent answers again. An agent that has not answered yet is still starting, and awaitAgents
// gives it up in time.
func keepLease(
	ctx context.Context, host string, renew func(context.Context) (agent.Stamp, error), log *slog.Logger) {
	t := time.NewTicker(renewEvery)
	defer t.Stop()
	heard, silent := false, false
	for {
		// The loop waits first, because awaitAgents has renewed the lease or is about to.
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		once, cancel := context.WithTimeout(ctx, Lease/2)
		_, err := renew(once)
		cancel()
		switch {
		case err == nil && silent:
			log.Info("the agent answers again", "host", host)
			fallthrough
		case err == nil:
			heard, silent = true, false
		case heard && !silent && ctx.Err() == nil:
			log.Warn("the agent's lease cannot be renewed", "host", host, "err", err)
			silent = true
		}
	}
}
