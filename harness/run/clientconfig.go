package run

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/workloads/control"
)

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
