package harness

import (
	"locklab/ensembles"
	"locklab/harness/scenario"
	"locklab/workloads/client"
	"locklab/workloads/resource"
)

// clientConfig is what a host's clients are told of the scenario and of where things are.
func (r *run) clientConfig(h *ensembles.Host, p placement) client.Config {
	sc := r.sc
	cfg := client.Config{Host: h.Name, Resource: r.resourceAddress().String(), Locks: r.locks, Workload: sc.Workload, ReadShare: sc.ReadShare, DowngradeShare: sc.DowngradeShare,
		Permits: sc.Permits, Resize: sc.Resize, ReadBurst: sc.ReadBurst, Units: sc.Units, LocksPerAcquire: sc.LocksPerAcquire, Ordered: sc.Ordered, Wait: sc.Wait, Try: sc.Try,
		ClientsPerSession: sc.ClientsPerSession, LockOnly: sc.Section == scenario.SectionNone, Append: sc.Section == scenario.SectionAppend, LockChoice: sc.LockChoice, AllClients: sc.Clients, Arrivals: sc.Arrivals, Rates: sc.Rate.Pacer(sc.Warmup, sc.Duration),
		Warmup: sc.Warmup, SessionTimeout: sc.SessionTimeout, Hold: sc.Hold, Think: sc.Think, Iterations: sc.Iterations, Drain: sc.Drain, Seed: sc.Seed, Guard: sc.Guard, Tick: sc.Tick}
	cfg.Servers, cfg.Pinned = p.servers, p.pinned
	return cfg
}

// resourceGuard is the resource's own: the others are the clients'.
func resourceGuard(sc *scenario.Scenario) string {
	if sc.Guard == scenario.GuardFencing {
		return resource.GuardFencing
	}
	return resource.GuardNone
}

// giveRecipe gives the i-th client process its recipe. One that takes one lock at a
// time takes one of the locks that others take several of.
func (r *run) giveRecipe(cfg *client.Config, i int) {
	recipe := r.sc.RecipeOf(i)
	cfg.Recipe = recipe.Name
	if f := r.stage.foreign[i]; recipe.Foreign {
		cfg.Command, cfg.Classes = f.argv, f.classes
	}
	if !recipe.Several {
		cfg.LocksPerAcquire = 1
	}
}
