package ensembles

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles/agent"
)

// StartLab makes a lab of a kind. It returns when every agent answers. If it returns an error, it has removed what it
// made.
func StartLab(ctx context.Context, kind Kind, cfg LabConfig) (*Lab, error) {
	lab := &Lab{ID: NewID(), Kind: kind.Name()}
	var err error
	if lab.place, err = kind.Open(ctx, lab.ID, cfg); err != nil {
		return nil, err
	}
	if cfg.Opened != nil {
		cfg.Opened()
	}
	lab.Image = lab.place.Image()
	var leases context.Context
	leases, lab.lease = context.WithCancel(context.WithoutCancel(ctx))
	if err := lab.fill(ctx, leases, cfg); err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, lab.Close(clean))
	}
	return lab, nil
}

func (l *Lab) fill(ctx, leases context.Context, cfg LabConfig) error {
	hosts := make([]*Host, len(cfg.Hosts))
	g, gctx := errgroup.WithContext(ctx)
	for i, spec := range cfg.Hosts {
		g.Go(func() error {
			secret := newSecret()
			at, err := l.place.Start(gctx, i, map[string]string{
				agent.EnvHost: spec.Name, agent.EnvSecret: secret, agent.EnvLease: Lease.String()})
			if err != nil {
				return fmt.Errorf("start host %s: %w", spec.Name, err)
			}
			if !at.Server.IsValid() {
				at.Server = netip.AddrPortFrom(at.Address, agent.ClientPort)
			}
			h := &Host{Name: spec.Name, Role: spec.Role, Address: at.Address, Server: at.Server, Published: at.Published,
				Agent: agent.NewClient(spec.Name, at.Control.String(), secret), first: spec.First(), root: at.Root,
				homes: map[string]string{}}
			for _, v := range spec.Versions {
				h.homes[v] = at.Homes[v]
			}
			hosts[i] = h
			// The lease runs from the agent's start, and other hosts may take longer to start than the lease lasts.
			l.renewals.Go(func() { keepLease(leases, h.Name, h.Agent.Renew, cfg.Log) })
			return gctx.Err()
		})
	}
	err := g.Wait()
	l.hosts = slices.DeleteFunc(hosts, func(h *Host) bool { return h == nil })
	if err != nil {
		return err
	}
	return l.awaitAgents(ctx)
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

// NewID returns a random id of eight hexadecimal digits.
func NewID() string { return newSecret()[:8] }

func newSecret() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
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
