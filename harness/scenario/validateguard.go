package scenario

import (
	"slices"
	"time"
)

// LeaseClockLeast is what the session timeout must exceed for a lease clock, in ticks: with the default
// interval and margin of the recipes' clock, it would run out between two heartbeats otherwise.
const LeaseClockLeast = 3

// leaseClock checks that there can be one, and that it does not run out in calm.
func (v *validator) leaseClock() {
	if v.Guard != GuardLeaseClock {
		return
	}
	all := v.Recipes()
	if i := slices.IndexFunc(all, func(r Recipe) bool { return !r.Clock }); i >= 0 {
		v.refuse(by("guard", "recipe"), "guard: lost-context, or a recipe with a lease clock, such as "+defaultRecipe(v.Workload),
			"guard lease-clock needs holds that a clock ends, and recipe %s has none", all[i].Name)
	}
	if least := LeaseClockLeast * v.Tick; v.Negotiated() <= least {
		v.refuse(by("guard", "session-timeout", "tick"), "a session-timeout of "+formatDuration(least+time.Second)+", or a shorter tick",
			"a lease clock needs a session timeout of more than %d ticks (%s), and clients get %s", LeaseClockLeast, formatDuration(least), formatDuration(v.Negotiated()))
	}
}

// refusesStale reports whether the guard leaves no stale access an effect.
func (s *Scenario) refusesStale() bool { return s.Guard == GuardFencing || s.Guard == GuardZKMulti }

// zkMulti checks that each hold has znodes that a transaction can check, and that somebody writes.
func (v *validator) zkMulti() {
	if v.Guard != GuardZKMulti {
		return
	}
	all := v.Recipes()
	if i := slices.IndexFunc(all, func(r Recipe) bool { return !r.Checked }); i >= 0 {
		r, why := all[i], ""
		switch {
		case r.Foreign:
			why = "is a command with a session of its own, in which nothing can be written for it"
		case r.Name == RecipeNaiveMutex:
			why = "has one znode for all holders, so a check of it passes on the next one's"
		case r.OneLock:
			why = "does not say which znode is its hold's"
		default:
			why = "has no znode to check"
		}
		v.refuse(by("guard", "recipe"), "guard: fencing, or a recipe whose holds have znodes of their own, such as "+defaultRecipe(v.Workload),
			"guard zk-multi writes in a transaction that checks the hold's znode, and recipe %s %s", r.Name, why)
	}
	if v.Workload == WorkloadSemaphore {
		v.refuse(by("guard", "workload"), "guard: fencing", "guard zk-multi guards writes, and nobody writes under permits")
	}
}
