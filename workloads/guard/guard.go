package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// The names of the guards.
const (
	None        = "none"         // the resource accepts every access
	LostContext = "lost-context" // and the client makes none once it has been told that its hold is over
	LeaseClock  = "lease-clock"  // or once the service can have expired its session
	ZKMulti     = "zk-multi"     // what the lock protects is in ZooKeeper
	Fencing     = "fencing"      // the resource refuses a token below what it has served
)

// A Guard describes one guard, and what the client and the resource do for it.
type Guard struct {
	Name string
	// Is says in one line what the guard is.
	Is string
	// Protects says how it protects the data, Costs what that costs, and Passes which accesses still get through.
	Protects, Costs, Passes string

	// over reports whether the client must no longer use what a hold protects; nil = the client never asks.
	over func(*recipes.Hold) bool
	// LeaseClock gives sessions a lease clock.
	LeaseClock bool
	// InZooKeeper keeps what the lock protects in ZooKeeper, and not at the resource: each write is a transaction that
	// checks the hold's znodes too.
	InZooKeeper bool
	// Fences makes the resource refuse stale tokens.
	Fences bool

	// refusals returns why the guard cannot be used in a run.
	refusals func(Run) []Refusal
}

// All lists the guards.
var All = []Guard{
	{
		Name:     None,
		Is:       "The lock is trusted.",
		Protects: "Not at all: the resource accepts every access.",
		Costs:    "nothing",
		Passes:   "every outdated access",
	},
	{
		Name: LostContext,
		Is:   "Before each access the client checks whether it has been told that its lock is lost.",
		Protects: "Before each access the client checks whether it has been told that its lock is lost. If so, it " +
			"abandons the critical section.",
		Costs: "nothing",
		Passes: "A client that has not been told yet, because it is cut off or has just woken up. A client that is " +
			"stopped between the check and the access.",
		over: func(h *recipes.Hold) bool { return h.Context().Err() != nil },
	},
	{
		Name:       LeaseClock,
		Is:         "Before each access the client checks that the servers cannot have expired its session yet.",
		Protects:   "The client keeps a clock that ends its hold before the servers can have expired its session.",
		Costs:      "Heartbeats, each of which is a write to ZooKeeper. Some holds end early.",
		Passes:     "A client that is stopped between the check and the access, or on a suspended machine.",
		over:       func(h *recipes.Hold) bool { return !h.Valid() },
		LeaseClock: true,
		refusals:   noLeaseClock,
	},
	{
		Name: Fencing,
		Is:   "The resource refuses a token that is lower than the highest it has served.",
		Protects: "The resource refuses an access whose token is lower than the highest token it has served. A new " +
			"holder's first access raises that token, even if it is a read. Readers do not refuse each other. Permits " +
			"are told apart by their slots.",
		Costs:    "The resource must remember tokens.",
		Passes:   "nothing",
		Fences:   true,
		refusals: noFencing,
	},
	{
		Name: ZKMulti,
		Is:   "The data is in ZooKeeper, and each write checks the lock in one transaction.",
		Protects: "The data is in ZooKeeper. Each write is one transaction that also checks that the znode of the " +
			"writer's hold exists. A reader uses what it read only after a later check of the same kind has passed.",
		Costs:       "The data must be in ZooKeeper. A reader's check costs a quorum.",
		Passes:      "nothing",
		InZooKeeper: true,
		refusals:    noTransaction,
	},
}

// Find returns the guard of that name; the zero Guard protects nothing.
func Find(name string) (Guard, bool) {
	for _, g := range All {
		if g.Name == name {
			return g, true
		}
	}
	return Guard{}, false
}

// Names returns the names of the guards.
func Names() []string {
	var names []string
	for _, g := range All {
		names = append(names, g.Name)
	}
	return names
}

// Asks reports whether the client asks the guard before each access.
func (g Guard) Asks() bool { return g.over != nil }

// RefusesStale reports whether the guard makes sure that no stale access has an effect.
func (g Guard) RefusesStale() bool { return g.InZooKeeper || g.Fences }

// ErrGivenUp says that a client makes no more accesses, because its guard says that the lock is lost. No client can
// guard itself while it is stopped between the question and the access.
var ErrGivenUp = errors.New(history.TextGivenUp)

// Ask returns why the guard forbids an access under a hold, or nil. The error wraps [ErrGivenUp].
func (g Guard) Ask(hold *recipes.Hold) error {
	if g.over == nil || !g.over(hold) {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrGivenUp, context.Cause(hold.Context()))
}

// Refusals returns why the guard cannot be used in a run.
func (g Guard) Refusals(r Run) []Refusal {
	if g.refusals == nil {
		return nil
	}
	return g.refusals(r)
}

// suggested is the recipe to suggest for a run whose recipe a guard refuses.
func suggested(r Run) string { return lock.Default(r.Workload) }

// HowTo says of each kind of data, in a few sentences, how it is made to refuse outdated accesses.
func HowTo() []string {
	return []string{
		"SQL: UPDATE t SET value = :value, token = :token WHERE id = :id AND token <= :token. If no row was changed, the " +
			"access was outdated: stop, and do not retry with the same token.",
		"An object store: write with the condition that the object is still the one that was read under this token " +
			"(If-Match with its ETag), and keep the token in its metadata.",
		"A file or a device that compares nothing: give it a lease that ends before the session can (guard lease-clock). " +
			"It stops most outdated writes, not those of a client that is stopped after it has looked at the clock.",
		"Data that is small: keep it in ZooKeeper, and write it in one transaction with a check of the lock's znode " +
			"(guard zk-multi).",
	}
}

// Manual is where the manual describes the guards, from the root of locklab's repository.
const Manual = "recipes/README.md#guards"

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
