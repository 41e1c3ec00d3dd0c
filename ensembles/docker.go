package ensembles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles/agent"
)

// DockerConfig configures a lab of containers.
type DockerConfig struct {
	Hosts []HostSpec
	// Binary is the static locklab binary that hosts run.
	Binary string
	Log    *slog.Logger

	_ struct{}
}

// StartDocker makes a lab of containers, one for each host, on a network of its own. It returns when every agent
// answers. If it returns an error, it has removed what it made.
func StartDocker(ctx context.Context, cfg DockerConfig) (*Lab, error) {
	e, err := openEngine(ctx)
	if err != nil {
		return nil, err
	}
	if err := sweep(ctx, e, leftoverAge, cfg.Log); err != nil {
		cfg.Log.Warn("remove leftovers of earlier runs", "err", err)
	}
	images, err := findImages(ctx, e, cfg.Binary)
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	lab := &Lab{ID: newSecret()[:8], Kind: "docker", Image: images.base}
	var leases context.Context
	leases, lab.lease = context.WithCancel(context.WithoutCancel(ctx))
	lab.close = func(ctx context.Context) error {
		return closeAll(func() error { return removeLab(ctx, e, lab.ID) }, e.close)
	}
	if err := lab.fill(ctx, leases, e, cfg, images); err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, lab.Close(clean))
	}
	return lab, nil
}

func (l *Lab) fill(ctx, leases context.Context, e *engine, cfg DockerConfig, images images) error {
	network, addresses, err := makeNetwork(ctx, e, l.ID)
	if err != nil {
		return err
	}
	var names []string
	for i, h := range cfg.Hosts {
		names = append(names, fmt.Sprintf("%s:%s", h.Name, addresses(i)))
	}
	hosts := make([]*Host, len(cfg.Hosts))
	g, gctx := errgroup.WithContext(ctx)
	for i, spec := range cfg.Hosts {
		g.Go(func() error {
			secret := newSecret()
			b := box{lab: l.ID, host: spec.Name, image: images.plain, network: network, address: addresses(i), hosts: names,
				env:   map[string]string{agent.EnvHost: spec.Name, agent.EnvSecret: secret, agent.EnvLease: Lease.String()},
				ports: []uint16{agent.Port}, tmpfs: !spec.Disk, dataDir: agent.DataDir}
			if spec.Role == Server || spec.Base {
				b.image, b.binary = images.base, cfg.Binary
			}
			if spec.Image != "" {
				b.image, b.binary = spec.Image, cfg.Binary
			}
			b.files = spec.Files
			if spec.Publish {
				b.ports = append(b.ports, agent.ClientPort)
			}
			at, err := e.run(gctx, b)
			if err != nil {
				return err
			}
			h := &Host{Name: spec.Name, Role: spec.Role, Address: b.address, Published: at[agent.ClientPort],
				Agent: agent.NewClient(spec.Name, at[agent.Port].String(), secret)}
			hosts[i] = h
			// The lease runs from the agent's start, and other hosts may take longer to start than the lease lasts.
			l.renewals.Go(func() { keepLease(leases, h.Name, h.Agent, cfg.Log) })
			return gctx.Err()
		})
	}
	err = g.Wait()
	l.hosts = slices.DeleteFunc(hosts, func(h *Host) bool { return h == nil })
	if err != nil {
		return err
	}
	return l.awaitAgents(ctx)
}

// makeNetwork tries random subnets of a private range until it finds a free one. A fixed subnet would collide with
// that of a run at the same time.
func makeNetwork(ctx context.Context, e *engine, lab string) (name string, address func(i int) netip.Addr, err error) {
	const tries = 32
	for range tries {
		third := byte(rand.IntN(256))
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 87, third, 0}), 24)
		name, err = e.addNetwork(ctx, lab, subnet)
		if err == nil {
			// .1 is the gateway.
			return name, func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 87, third, byte(10 + i)}) }, nil
		}
		if !errors.Is(err, errSubnetTaken) {
			return "", nil, err
		}
	}
	return "", nil, fmt.Errorf("no free subnet in %d tries: %w", tries, err)
}

// removeLab removes a lab's containers, then its networks.
func removeLab(ctx context.Context, e *engine, id string) error {
	all, err := e.owned(ctx, id)
	if err != nil {
		return err
	}
	return removeAll(ctx, e, all)
}

func removeAll(ctx context.Context, e *engine, all []leftover) error {
	var g errgroup.Group
	for _, l := range all {
		if !l.network {
			g.Go(func() error { return e.remove(ctx, l) })
		}
	}
	errs := []error{g.Wait()}
	for _, l := range all {
		if l.network {
			// Docker detaches a removed container from its network a moment after the removal.
			errs = append(errs, Poll(ctx, 50*time.Millisecond, "network to be free", func() error { return e.remove(ctx, l) }))
		}
	}
	return errors.Join(errs...)
}

// How old a container or network must be before it counts as a leftover and not as part of a lab that is just
// starting. Another run waits longer than the start of a container may take; clean, which a user asks for, waits
// longer than a start takes in practice.
const (
	leftoverAge = startCap
	cleanAge    = 15 * time.Second
)

// sweep removes what dead runs left: containers that never ran, and networks without containers. Running containers
// are left to their agents, which end when their leases lapse.
func sweep(ctx context.Context, e *engine, age time.Duration, log *slog.Logger) error {
	all, err := e.owned(ctx, "")
	if err != nil {
		return err
	}
	dead, _ := ofDeadLabs(all, time.Now().Add(-age))
	for _, l := range dead {
		log.Info("remove leftover", "name", l.name, "lab", l.lab)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return removeAll(ctx, e, dead)
}

// ofDeadLabs returns the leftovers of labs that have no running container. The young ones were created after that
// time, perhaps by a lab that is just starting.
func ofDeadLabs(all []leftover, after time.Time) (old, young []leftover) {
	living := map[string]bool{}
	for _, l := range all {
		living[l.lab] = living[l.lab] || l.running
	}
	for _, l := range all {
		switch {
		case living[l.lab]:
		case l.created.After(after):
			young = append(young, l)
		default:
			old = append(old, l)
		}
	}
	return old, young
}

// Clean removes what dead runs left in the Docker engine, and the images of locklab's binary. It leaves running labs
// alone. It waits until every young container or network either runs or is old enough to be removed.
func Clean(ctx context.Context, log *slog.Logger) error {
	e, err := openEngine(ctx)
	if err != nil {
		return err
	}
	return closeAll(
		func() error {
			return Poll(ctx, 500*time.Millisecond, "leftovers to be old enough", func() error {
				all, err := e.owned(ctx, "")
				if _, young := ofDeadLabs(all, time.Now().Add(-cleanAge)); err == nil && len(young) > 0 {
					err = fmt.Errorf("%s may belong to a lab that is just starting", young[0].name)
				}
				return err
			})
		},
		func() error { return sweep(ctx, e, cleanAge, log) },
		func() error { return pruneHostImages(ctx, e, 0) },
		e.close)
}
