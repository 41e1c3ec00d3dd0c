package harness

import (
	"slices"
	"testing"
	"time"

	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/recipes"
	"locklab/workloads/client"
)

// What scenarios know of recipes and what clients can run are the same.
func TestRecipesAreTheClients(t *testing.T) {
	var want []string
	for _, r := range scenario.AllRecipes() {
		if !r.Foreign {
			want = append(want, r.Name)
		}
	}
	slices.Sort(want)
	if got := client.Recipes(); !slices.Equal(got, want) {
		t.Errorf("clients run %v, scenarios know %v", got, want)
	}
	for a, b := range map[string]string{
		scenario.WorkloadMutex: client.WorkloadMutex, scenario.WorkloadReadWrite: client.WorkloadReadWrite,
		scenario.WorkloadSemaphore: client.WorkloadSemaphore, scenario.WorkloadMultiLock: client.WorkloadMultiLock,
		string(scenario.SeenQueue): client.SeenQueue, string(scenario.SeenNode): client.SeenNode, string(scenario.SeenLeases): client.SeenLeases,
		scenario.TriggerReadWrite: client.BetweenReadAndWrite, scenario.TriggerReads: client.BetweenReads, scenario.TriggerWrite: client.BeforeWrite,
		scenario.GuardLostContext: client.GuardLostContext, scenario.GuardLeaseClock: client.GuardLeaseClock, scenario.GuardZKMulti: client.GuardZKMulti, check.GuardFencing: scenario.GuardFencing,
	} {
		if a != b {
			t.Errorf("scenarios say %q where clients say %q", a, b)
		}
	}
}

// The checks and scenarios call the guard that has no resource the same.
func TestGuardOfZooKeeper(t *testing.T) {
	if check.GuardZKMulti != scenario.GuardZKMulti {
		t.Errorf("checks say %q where scenarios say %q", check.GuardZKMulti, scenario.GuardZKMulti)
	}
}

// The bound of lease clocks that scenarios go by is the recipes'.
func TestLeaseClockBound(t *testing.T) {
	for _, tick := range []time.Duration{10 * time.Millisecond, 200 * time.Millisecond, 333 * time.Millisecond, 2 * time.Second} {
		least, err := recipes.LeaseClockConfig{Tick: tick}.MinTimeout()
		if err != nil || least != scenario.LeaseClockLeast*tick {
			t.Errorf("tick %s: %s, %v; want %d ticks", tick, least, err, scenario.LeaseClockLeast)
		}
	}
}
