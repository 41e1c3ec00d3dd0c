package guard

import (
	"strings"
	"testing"
	"time"

	"locklab/recipes"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// The bound for lease clocks that runs are checked against is that of the recipes.
func TestLeaseClockBound(t *testing.T) {
	for _, tick := range []time.Duration{10 * time.Millisecond, 200 * time.Millisecond, 333 * time.Millisecond,
		2 * time.Second} {
		least, err := recipes.LeaseClockConfig{Tick: tick}.MinTimeout()
		if err != nil || least != LeaseClockLeast*tick {
			t.Errorf("tick %s: %s, %v; want %d ticks", tick, least, err, LeaseClockLeast)
		}
	}
}

// Every entry of the table is complete, and every guard but none does something.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range All {
		if g.Name == "" || seen[g.Name] || g.Protects == "" || g.Costs == "" || g.Passes == "" {
			t.Errorf("a field is empty, or the name occurs twice: %+v", g)
		}
		seen[g.Name] = true
		if got, ok := Find(g.Name); !ok || got.Protects != g.Protects {
			t.Errorf("%s: found %+v", g.Name, got)
		}
		if does := g.over != nil || g.InZooKeeper || g.Fences; does == (g.Name == None) {
			t.Errorf("%s: a guard must do something, and none must do nothing: %+v", g.Name, g)
		}
		if g.RefusesStale() != (g.Passes == "nothing") {
			t.Errorf("%s: refuses stale accesses: %t, and lets through: %s", g.Name, g.RefusesStale(), g.Passes)
		}
	}
}

// A combination that a guard cannot protect is refused, with the recipe's name and the reason.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		guard, recipe, workload string
		units                   int
		want                    string // empty = not refused
	}{
		{None, "none", workloads.Mutex, 0, ""},
		{Fencing, "mutex", workloads.Mutex, 0, ""},
		{Fencing, "exec:lock", workloads.Mutex, 0, ""},
		{Fencing, "zk-lock", workloads.Mutex, 0, "recipe zk-lock gives none"},
		{Fencing, "semaphore", workloads.Semaphore, 1, ""},
		{Fencing, "semaphore", workloads.Semaphore, 2, "a hold of 2 units has 2"},
		{LeaseClock, "rw", workloads.Mutex, 0, ""},
		{LeaseClock, "curator-rw", workloads.Mutex, 0, "recipe curator-rw has none"},
		{LeaseClock, "broken-slow-release", workloads.Mutex, 0, "recipe broken-slow-release has none"},
		{ZKMulti, "mutex", workloads.Mutex, 0, ""},
		{ZKMulti, "naive-mutex", workloads.Mutex, 0, "has one znode for all holders"},
		{ZKMulti, "curator-mutex", workloads.Mutex, 0, "is a command with a session of its own"},
		{ZKMulti, "zk-lock", workloads.Mutex, 0, "does not say which znode"},
		{ZKMulti, "broken-name-order", workloads.Mutex, 0, "has no znode to check"},
		{ZKMulti, "semaphore", workloads.Semaphore, 1, "no client writes under permits"},
	} {
		g, _ := Find(c.guard)
		all := lock.FindAll(c.recipe)
		run := Run{Workload: c.workload, Recipes: all, Mix: lock.Mix(c.recipe, all, lock.Use{}), Units: c.units,
			SessionTimeout: 2 * time.Second, Tick: 200 * time.Millisecond}
		var got []string
		for _, r := range g.Refusals(run) {
			if len(r.Keys) == 0 || r.Keys[0] != "guard" || r.Hint == "" {
				t.Errorf("%s, %s: %+v", c.guard, c.recipe, r)
			}
			got = append(got, r.Reason)
		}
		if text := strings.Join(got, "; "); (text == "") != (c.want == "") || !strings.Contains(text, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.guard, c.recipe, text, c.want)
		}
	}
	short := Run{
		Workload:       workloads.Mutex,
		Recipes:        lock.FindAll("mutex"),
		SessionTimeout: time.Second,
		Tick:           time.Second,
	}
	g, _ := Find(LeaseClock)
	if got := g.Refusals(short); len(got) != 1 || !strings.Contains(got[0].Hint, "4s") {
		t.Errorf("a short session timeout: %+v", got)
	}
}
