package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/workloads/control"
)

// startProcesses starts the resource, and then the clients and the observer. It waits until all are connected.
func (r *run) startProcesses(ctx context.Context) error {
	res := r.stage.lab.Host(rundir.ResourceHost)
	err := r.start(ctx, res, ownBinary, "resource", control.ResourceConfig{Host: res.Name, Address: res.Address,
		Fencing: r.sc.Protection().Fences, Lists: r.sc.Section == scenario.SectionAppend})
	if err != nil {
		return err
	}
	if err := r.awaitReady(ctx, res); err != nil {
		return err
	}
	at, err := r.place(ctx)
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	first := 0
	for i, h := range r.clientHosts() {
		cfg, err := r.clientConfig(ctx, h, at)
		if err != nil {
			return err
		}
		cfg.Clients, cfg.First = r.sc.ClientsPerProcess()[i], first
		if all := r.sc.InFlight(); all != nil {
			cfg.MaxInFlight, cfg.Queue = all[i], r.sc.Queues()[i]
		}
		r.giveRecipe(&cfg, h, i)
		first += cfg.Clients
		g.Go(func() error {
			if err := r.verifyRoundTrip(gctx, h); err != nil {
				return err
			}
			return r.start(gctx, h, r.client, "client", cfg)
		})
	}
	if h := r.stage.lab.Host(rundir.ObserverHost); h != nil {
		cfg, err := r.clientConfig(ctx, h, at)
		if err != nil {
			return err
		}
		cfg.Observe, cfg.Seen, cfg.Layout = true, r.sc.Mix().Seen, r.sc.RecipeOf(0).Layout
		g.Go(func() error { return r.start(gctx, h, ownBinary, "client", cfg) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return r.awaitReady(ctx, r.workers()...)
}

// configFile is the name of a process's configuration in its directory.
const configFile = "config.json"

func (r *run) start(ctx context.Context, h *ensembles.Host, binary, command string, config any) error {
	r.mu.Lock()
	// The process may run even if its agent does not answer.
	r.processes[h] = &hostProcess{binary: binary, command: command, config: config}
	r.mu.Unlock()
	_, err := r.startIn(ctx, h, config, r.work)
	return err
}

// startIn starts the next process of a host in a directory of the host and collects its history. It returns when the
// process was started, in ns of CLOCK_MONOTONIC.
func (r *run) startIn(ctx context.Context, h *ensembles.Host, config any, dir string) (int64, error) {
	if c, ok := config.(control.ClientConfig); ok {
		config = c.Needed() // so that clients of another binary understand it
	}
	b, err := json.Marshal(config)
	if err != nil {
		return 0, err
	}
	var env []string
	if h.Role == ensembles.Client && h.Agent.SharesClock() {
		// Each client process of this machine has its share of the processors. With more, their idle threads look for work
		// where the servers need the processors: closed loops were slower by a fifth.
		share := max(1, runtime.GOMAXPROCS(0)/r.sc.ClientProcesses)
		env = append(env, fmt.Sprintf("%s=%d", control.ProcessorsEnv, share))
	}
	r.mu.Lock()
	p := r.processes[h]
	r.mu.Unlock()
	binary := p.binary
	if binary == otherClients {
		binary = h.Path(binary)
	}
	st, err := h.Agent.Start(ctx, agent.Spec{Argv: []string{binary, p.command, configFile}, Dir: dir, Env: env,
		Files: map[string]string{configFile: string(b)}})
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	p.dirs = append(p.dirs, dir)
	n := len(p.dirs)
	r.mu.Unlock()
	return st.At, r.collect.follow(r.streams, processStream(h, dir, n))
}

// awaitReady waits until the processes of the hosts have reported that they are ready.
func (r *run) awaitReady(ctx context.Context, hosts ...*ensembles.Host) error {
	for _, h := range hosts {
		var died error
		err := r.view.Wait(ctx, func(now watch.State) bool {
			if how, exited := now.Exited(h.Name); exited {
				died = r.ended(h, how)
			}
			return died != nil || now.Ready(h.Name)
		})
		if err != nil {
			err = fmt.Errorf("%w: only %d clients of %s have connected to the servers: %w", ErrBrokeOff,
				r.view.Connected(h.Name), h.Name, err)
			if r.stage.ensemble.External {
				err = fmt.Errorf("%w; servers refuse connections beyond maxClientCnxns from one address, which is 60 by default",
					err)
			}
		}
		if err = errors.Join(err, died); err != nil {
			return err
		}
	}
	return nil
}

// clientConfig returns what the clients of a host must know about the scenario and the lab.
func (r *run) clientConfig(ctx context.Context, h *ensembles.Host, p placement) (control.ClientConfig, error) {
	sc := r.sc
	cfg := control.ClientConfig{
		Host: h.Name, Resource: r.resourceAddress().String(), Locks: r.locks, AllClients: sc.Clients,
		Workload: sc.Workload, Load: sc.Load, Rates: sc.Rate.Pacer(sc.Warmup, sc.Duration), Guard: sc.Guard,
		LockOnly: sc.Section == scenario.SectionNone, Append: sc.Section == scenario.SectionAppend,
		ClientsPerSession: sc.ClientsPerSession, SessionTimeout: sc.SessionTimeout, Tick: sc.Tick,
		Warmup: sc.Warmup, Iterations: sc.Iterations, Drain: sc.Drain, Seed: sc.Seed,
	}
	cfg.Pinned, cfg.Stay = p.pinned, p.stay
	var err error
	cfg.Servers, err = r.routes(ctx, h, p)
	return cfg, err
}

// giveRecipe sets the recipe of the i-th client process. A recipe that can take only one lock at a time takes one
// where other recipes take several.
func (r *run) giveRecipe(cfg *control.ClientConfig, h *ensembles.Host, i int) {
	recipe := r.sc.RecipeOf(i)
	cfg.Recipe = recipe.Name
	if f := r.stage.foreign.of(r.sc.Recipe, i); f != nil {
		cfg.Command, cfg.Classes, cfg.Layout = slices.Clone(f.argv), f.classes, r.sc.Layout
		for _, at := range []*string{&cfg.Command[0], &cfg.Classes} {
			if strings.HasPrefix(*at, lockDir) {
				*at = h.Path(*at)
			}
		}
	}
	if !recipe.Several {
		cfg.LocksAtOnce = 1
	}
}

// resourceAddress returns where clients reach the resource.
func (r *run) resourceAddress() netip.AddrPort {
	return netip.AddrPortFrom(r.stage.lab.Host(rundir.ResourceHost).Address, control.ResourcePort)
}

// A placement is the order in which client processes list the servers. Sessions are dealt to the first ones, as many as
// pinned says; to all if it is 0. If they stay, they know no other server than their first.
type placement struct {
	servers []*ensembles.Host
	pinned  int
	stay    bool
}

// place finds out on which servers the scenario wants sessions. It goes by the present roles of the servers, so a later
// election moves no session.
func (r *run) place(ctx context.Context) (placement, error) {
	hosts := slices.Clone(r.stage.ensemble.Servers)
	p := placement{stay: r.sc.Placement == scenario.PlacementOwnFollower}
	if r.sc.Placement != scenario.PlacementSpread {
		roles, err := r.stage.ensemble.Roles(ctx)
		if err != nil {
			return p, err
		}
		wanted := []string{ensembles.RoleFollower} // and no observer
		if r.sc.Placement == scenario.PlacementLeader {
			wanted = []string{ensembles.RoleLeader, ensembles.RoleStandalone}
		}
		hosts, p.pinned = pinned(hosts, func(h *ensembles.Host) bool { return slices.Contains(wanted, roles[h.Name]) })
		if p.pinned == 0 {
			return p, fmt.Errorf("%w: placement %s: no server is a %s (roles: %v)", ErrBrokeOff, r.sc.Placement, wanted[0],
				roles)
		}
	}
	p.servers = hosts
	return p, nil
}

// pinned puts the elements first that are wanted, and counts them. Each part keeps its order.
func pinned[T any](all []T, wanted func(T) bool) ([]T, int) {
	var first, rest []T
	for _, h := range all {
		if wanted(h) {
			first = append(first, h)
		} else {
			rest = append(rest, h)
		}
	}
	return append(first, rest...), len(first)
}
