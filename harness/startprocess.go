package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/scenario"
	"locklab/workloads/client"
	"locklab/workloads/resource"
)

// startProcesses starts the resource, then the clients and the observer, and waits
// until all are connected.
func (r *run) startProcesses(ctx, streams context.Context) error {
	res := r.stage.lab.Host(resourceHost)
	if err := r.start(ctx, streams, res, ownBinary, "resource", resource.Config{Host: res.Name, Guard: resourceGuard(r.sc), Lists: r.sc.Section == scenario.SectionAppend}); err != nil {
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
		cfg := r.clientConfig(h, at)
		cfg.Clients, cfg.First = r.sc.ClientsPerProcess()[i], first
		if all := r.sc.InFlight(); all != nil {
			cfg.MaxInFlight = all[i]
		}
		r.giveRecipe(&cfg, i)
		if err := r.relay(ctx, h, &cfg); err != nil {
			return err
		}
		first += cfg.Clients
		g.Go(func() error { return r.start(gctx, streams, h, r.client, "client", cfg) })
	}
	if h := r.stage.lab.Host(observerHost); h != nil {
		cfg := r.clientConfig(h, at)
		cfg.Observe, cfg.Seen = true, string(r.sc.Mix().Seen)
		g.Go(func() error { return r.start(gctx, streams, h, ownBinary, "client", cfg) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return r.awaitReady(ctx, r.workers()...)
}

// configFile is the name of a process's configuration in its directory.
const configFile = "config.json"

// start runs a command of a locklab binary on a host.
func (r *run) start(ctx, streams context.Context, h *ensembles.Host, binary, command string, config any) error {
	r.mu.Lock()
	r.started[h] = true // whether or not the answer comes
	r.origins[h] = &origin{binary: binary, command: command, config: config}
	r.mu.Unlock()
	_, err := r.startIn(ctx, streams, h, config, r.work, processHist)
	return err
}

// startIn starts a process in a directory of its host, and collects its history into a file.
func (r *run) startIn(ctx, streams context.Context, h *ensembles.Host, config any, dir, file string) (int64, error) {
	if c, ok := config.(client.Config); ok {
		config = c.Needed() // so that another binary's clients understand it
	}
	b, err := json.Marshal(config)
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	o := r.origins[h]
	r.mu.Unlock()
	spec := agent.Spec{Argv: []string{o.binary, o.command, configFile}, Dir: dir, Files: map[string]string{configFile: string(b)}}
	st, err := h.Agent.Start(ctx, spec)
	if err != nil {
		return 0, err
	}
	r.mu.Lock()
	o.dirs = append(o.dirs, dir)
	r.mu.Unlock()
	history := processStream(h, dir)
	history.file = file
	return st.At, r.collect.follow(streams, history)
}

// awaitReady waits until processes have said that they are ready.
func (r *run) awaitReady(ctx context.Context, hosts ...*ensembles.Host) error {
	for _, h := range hosts {
		var died error
		err := r.live.wait(ctx, func() bool {
			if how, exited := r.live.exited[h.Name]; exited {
				died = fmt.Errorf("process of %s ended: %s (its log is in %s)", h.Name, how, path.Join(hostsDir, h.Name, processLog))
			}
			return died != nil || r.live.ready[h.Name]
		})
		if err != nil {
			err = fmt.Errorf("wait for %s, of which %d clients are connected: %w", h.Name, r.live.connected(h.Name), err)
		}
		if err = errors.Join(err, died); err != nil {
			return err
		}
	}
	return nil
}
