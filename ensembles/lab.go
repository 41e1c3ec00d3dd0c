package ensembles

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles/agent"
)

// A Role is the kind of process that a host runs. It decides what the image of the host needs.
type Role int

// The roles.
const (
	Server   Role = iota // a ZooKeeper server: an image with Java and ZooKeeper
	Client               // a client process: nothing but the binary
	Resource             // the protected resource: nothing but the binary
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
	// Published is the address of ZooKeeper's client port on 127.0.0.1, if the HostSpec asked for it.
	Published netip.AddrPort
	// Agent is the client by which the harness controls the host.
	Agent *agent.Client
}

// A Lab is the set of hosts of a run.
type Lab struct {
	ID    string
	Kind  string
	Image string // the image of the servers
	hosts []*Host

	lease    context.CancelFunc
	renewals sync.WaitGroup
	close    func(context.Context) error
}

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
	return l.close(ctx)
}

// Lease is how long a lab's agents live without a renewal. After the harness was killed, everything of a run is gone
// within this time plus the time to remove it.
const Lease = 8 * time.Second

// renewEvery leaves room for several lost renewals within a lease.
const renewEvery = Lease / 8

// keepLease renews an agent's lease until the lab is closed.
func keepLease(ctx context.Context, host string, c *agent.Client, log *slog.Logger) {
	t := time.NewTicker(renewEvery)
	defer t.Stop()
	for {
		// The loop waits first, because awaitAgents has renewed the lease or is about to.
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		once, cancel := context.WithTimeout(ctx, Lease/2)
		if _, err := c.Renew(once); err != nil && ctx.Err() == nil {
			log.Warn("renew lease", "host", host, "err", err)
		}
		cancel()
	}
}

// awaitAgents waits until every agent answers.
func (l *Lab) awaitAgents(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	for _, h := range l.hosts {
		g.Go(func() error {
			return Poll(ctx, 10*time.Millisecond, fmt.Sprintf("agent of %s", h.Name), func() error {
				_, err := h.Agent.Renew(ctx)
				return err
			})
		})
	}
	return g.Wait()
}

// Poll calls f until it succeeds or ctx ends. Its error then says what it waited for, and wraps the last error of f.
func Poll(ctx context.Context, every time.Duration, what string, f func() error) error {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w", what, context.Cause(ctx), err)
		}
	}
}

func newSecret() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// closeAll calls every function, even after an error, and joins the errors.
func closeAll(fs ...func() error) error {
	var errs []error
	for _, f := range fs {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
