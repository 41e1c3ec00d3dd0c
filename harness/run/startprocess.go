package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
		g.Go(func() error { return r.start(gctx, h, r.client, "client", cfg) })
	}
	if h := r.stage.lab.Host(rundir.ObserverHost); h != nil {
		cfg, err := r.clientConfig(ctx, h, at)
		if err != nil {
			return err
		}
		cfg.Observe, cfg.Seen = true, r.sc.Mix().Seen
		g.Go(func() error { return r.start(gctx, h, ownBinary, "client", cfg) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return r.awaitReady(ctx, r.workers()...)
}

// configFile is the name of a process's configuration in its directory.
const configFile = "config.json"

// start runs a command of a locklab binary on a host.
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
	r.mu.Lock()
	p := r.processes[h]
	r.mu.Unlock()
	binary := p.binary
	if binary == otherClients {
		binary = h.Path(binary)
	}
	st, err := h.Agent.Start(ctx, agent.Spec{Argv: []string{binary, p.command, configFile}, Dir: dir,
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
