package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// Kind makes labs of containers, one for each host, on a network of their own.
type Kind struct{}

// Name implements [ensembles.Kind].
func (Kind) Name() string { return ensembles.LabDocker }

// Lacks implements [ensembles.Kind]. Each host has a network of its own.
func (Kind) Lacks() agent.Capabilities { return nil }

// Open implements [ensembles.Kind]. It makes the network, and images with the binary unless the engine has them.
func (Kind) Open(ctx context.Context, id string, cfg ensembles.LabConfig) (_ ensembles.Place, err error) {
	e, err := openEngine(ctx)
	if err != nil {
		return nil, err
	}
	if err := sweep(ctx, e, leftoverAge, sweepCap, cfg.Log); err != nil {
		cfg.Log.Warn("remove leftovers of earlier runs", "err", err)
	}
	p := &place{id: id, cfg: cfg, engine: e}
	defer func() {
		if err != nil {
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, p.Close(clean))
		}
	}()
	if p.images, p.versions, err = findImages(ctx, e, id, cfg); err != nil {
		return nil, err
	}
	if p.network, p.address, err = makeNetwork(ctx, e, id); err != nil {
		return nil, err
	}
	for i, h := range cfg.Hosts {
		p.names = append(p.names, fmt.Sprintf("%s:%s", h.Name, p.address(i)))
	}
	return p, nil
}

// A place is the network of a lab and the containers on it.
type place struct {
	id       string
	cfg      ensembles.LabConfig
	engine   *engine
	images   images
	versions *versions
	network  string
	address  func(i int) netip.Addr
	names    []string // "name:address" of all hosts
}

// Image implements [ensembles.Place]. If servers start with several versions, it names all of them.
func (p *place) Image() string {
	var all []string
	for _, h := range p.cfg.Hosts {
		runs := p.versions.image(h.First())
		if ensembles.IsDir(h.First()) {
			runs += " with " + h.First()
		}
		if h.Role == ensembles.Server && !slices.Contains(all, runs) {
			all = append(all, runs)
		}
	}
	return cmp.Or(strings.Join(all, ", "), p.images.base)
}

// Start implements [ensembles.Place].
func (p *place) Start(ctx context.Context, i int, env map[string]string) (ensembles.Location, error) {
	spec := p.cfg.Hosts[i]
	b := box{lab: p.id, host: spec.Name, image: p.images.of(spec, p.versions), network: p.network, address: p.address(i),
		hosts: p.names, env: env, ports: []uint16{agent.Port}, tmpfs: !spec.Disk, dataDir: agent.DataDir,
		files: spec.Files}
	if spec.Publish {
		b.ports = append(b.ports, agent.ClientPort)
	}
	var err error
	if b.more, err = p.versions.tarFor(spec); err != nil {
		return ensembles.Location{}, err
	}
	at, err := p.engine.run(ctx, b)
	if err != nil {
		return ensembles.Location{}, err
	}
	return ensembles.Location{Address: b.address, Control: at[agent.Port], Published: at[agent.ClientPort],
		Homes: p.versions.homes(spec)}, nil
}

// Close implements [ensembles.Place].
func (p *place) Close(ctx context.Context) error {
	return errors.Join(removeLab(ctx, p.engine, p.id), p.engine.close())
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

// removeAll removes the containers one after another: an engine may miscount the endpoints of a network several of
// whose containers end at the same time.
func removeAll(ctx context.Context, e *engine, all []leftover) (err error) {
	for _, l := range all {
		if !l.network {
			err = errors.Join(err, e.remove(ctx, l))
		}
	}
	var networks errgroup.Group
	for _, l := range all {
		if l.network {
			// Docker detaches a removed container from its network a moment after the removal.
			networks.Go(func() error {
				err := ensembles.Poll(ctx, 50*time.Millisecond, "network to be free",
					func() error { return e.remove(ctx, l) })
				if err != nil && e.isEmpty(l) {
					err = fmt.Errorf("%w: %w", errMiscounted, err)
				}
				return err
			})
		}
	}
	return errors.Join(err, networks.Wait())
}

// How old a container or network must be before it counts as a leftover and not as part of a lab that is just
// starting. Another run waits longer than the start of a container may take; clean, which a user asks for, waits
// longer than a start takes in practice.
const (
	leftoverAge = startCap
	cleanAge    = 15 * time.Second
)

// How long leftovers may take to be removed. No start of a lab waits long for a network that the engine miscounts.
const sweepCap, cleanCap = 5 * time.Second, 30 * time.Second

// sweep removes what dead runs left: containers that never ran, and networks without containers. Running containers
// are left to their agents, which end when their leases lapse.
func sweep(ctx context.Context, e *engine, age, limit time.Duration, log *slog.Logger) error {
	all, err := e.owned(ctx, "")
	if err != nil {
		return err
	}
	dead, _ := ofDeadLabs(all, time.Now().Add(-age))
	for _, l := range dead {
		log.Info("remove leftover", "name", l.name, "lab", l.lab)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
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

// Clean implements [ensembles.Kind]. It also removes the images with locklab's binary. It waits until every young
// container or network either runs or is old enough to be removed.
func (Kind) Clean(ctx context.Context, log *slog.Logger) error {
	e, err := openEngine(ctx)
	if err != nil {
		return err
	}
	return errors.Join(
		ensembles.Poll(ctx, 500*time.Millisecond, "leftovers to be old enough", func() error {
			all, err := e.owned(ctx, "")
			if _, young := ofDeadLabs(all, time.Now().Add(-cleanAge)); err == nil && len(young) > 0 {
				err = fmt.Errorf("%s may belong to a lab that is just starting", young[0].name)
			}
			return err
		}),
		sweep(ctx, e, cleanAge, cleanCap, log),
		pruneHostImages(ctx, e, 0),
		e.close())
}
