package guard

import (
	"fmt"
	"slices"
	"time"

	"locklab/workloads"
	"locklab/workloads/lock"
)

// A Run is what decides whether a guard can be used.
type Run struct {
	Workload string
	Recipes  []lock.Recipe
	Mix      lock.Recipe // of the recipes
	Units    int         // of an acquisition of permits
	// SessionTimeout is the timeout that clients get, and Tick is the servers' tick.
	SessionTimeout, Tick time.Duration
}

// A Refusal says why a guard cannot be used, which keys of the scenario are the cause, and what to do instead.
type Refusal struct {
	Keys         []string
	Reason, Hint string
}

// lacking returns the first recipe that does not have what a guard needs.
func lacking(all []lock.Recipe, has func(lock.Recipe) bool) (lock.Recipe, bool) {
	i := slices.IndexFunc(all, func(r lock.Recipe) bool { return !has(r) })
	if i < 0 {
		return lock.Recipe{}, false
	}
	return all[i], true
}

// noFencing refuses holds that tokens cannot tell apart.
func noFencing(run Run) []Refusal {
	keys, semaphore := []string{"guard", "recipe"}, run.Workload == workloads.Semaphore
	r, lacks := lacking(run.Recipes, func(r lock.Recipe) bool { return r.Tokens || r.MayToken })
	switch {
	case lacks:
		return []Refusal{{keys, fmt.Sprintf("guard fencing needs tokens, and recipe %s gives none", r.Name),
			"guard: none, or a recipe with tokens, such as " + suggested(run)}}
	case semaphore && !run.Mix.Slots:
		return []Refusal{
			{keys, fmt.Sprintf("guard fencing tells permits apart by their slots, and recipe %s has none", run.Mix.Name),
				"guard: none, or recipe: semaphore"},
		}
	case semaphore && run.Units > 1:
		return []Refusal{{[]string{"guard", "units"},
			fmt.Sprintf("guard fencing goes by one slot of a hold, and a hold of %d units has %d", run.Units, run.Units),
			"guard: none, or units: 1"}}
	}
	return nil
}

// LeaseClockLeast is the bound, in ticks, that the session timeout must exceed for a lease clock: otherwise, with the
// default interval and margin, the clock would run out between two heartbeats.
const LeaseClockLeast = 3

// noLeaseClock refuses recipes whose holds a clock cannot end, and a session timeout at which the clock would run out
// although nothing is wrong.
func noLeaseClock(run Run) (all []Refusal) {
	if r, lacks := lacking(run.Recipes, func(r lock.Recipe) bool { return r.Clock }); lacks {
		all = append(all, Refusal{[]string{"guard", "recipe"},
			fmt.Sprintf("guard lease-clock needs holds that a clock ends, and recipe %s has none", r.Name),
			"guard: lost-context, or a recipe with a lease clock, such as " + suggested(run)})
	}
	if least := LeaseClockLeast * run.Tick; run.SessionTimeout <= least {
		all = append(all, Refusal{[]string{"guard", "session-timeout", "tick"},
			fmt.Sprintf("a lease clock needs a session timeout of more than %d ticks (%s), and clients get %s",
				LeaseClockLeast, least, run.SessionTimeout),
			fmt.Sprintf("a session-timeout of %s, or a shorter tick", least+time.Second)})
	}
	return all
}

// noTransaction refuses holds that no transaction can check, and loads without writers.
func noTransaction(run Run) (all []Refusal) {
	if r, lacks := lacking(run.Recipes, lock.Recipe.Checked); lacks {
		all = append(all, Refusal{[]string{"guard", "recipe"},
			fmt.Sprintf(
				"guard zk-multi writes in a transaction that checks the hold's znode, and recipe %s %s",
				r.Name,
				r.Unchecked,
			),
			"guard: fencing, or a recipe whose holds have znodes of their own, such as " + suggested(run)})
	}
	if run.Workload == workloads.Semaphore {
		all = append(
			all,
			Refusal{[]string{"guard", "workload"}, "guard zk-multi guards writes, and no client writes under permits",
				"guard: fencing"},
		)
	}
	return all
}
