package scenario

import (
	"slices"
	"strings"
)

// RecipeBroken begins the names of the controls, which are the locks of recipes/broken by their names
// there: each has one known bug, so what finds nothing wrong with them has not looked, or the bug was not triggered.
const RecipeBroken = "broken-"

// controls are they. They promise what those locks do that they are taken for, so that whatever they
// fail in is a finding.
var controls = slices.Concat(
	control(Recipe{Workloads: []string{WorkloadMutex}, Layout: layoutQueue, Queue: true}, "missing-own"), // it never looks at its own znode
	control(Recipe{Workloads: []string{WorkloadMutex}, Layout: layoutQueue, Tokens: true, Queue: true},
		"stale-own", "local-reentry", "lost-create", "unsynced-search", "name-order", "wrong-predecessor",
		"lost-wakeup", "cancelled-cleanup", "sequence-token"),
	control(Recipe{Workloads: []string{WorkloadReadWrite, WorkloadMutex}, Layout: layoutRW, Tokens: true, Queue: true}, "later-writers"),
	control(Recipe{Workloads: []string{WorkloadReadWrite, WorkloadMutex}, Layout: layoutRW, Tokens: true, Queue: true, Downgrade: true},
		"queued-downgrade", "local-read"),
	control(Recipe{Workloads: []string{WorkloadSemaphore}, Layout: layoutSemaphore, OneByOne: true, Seen: SeenNot}, "dead-lease", "leaked-lease", "partial-permits"),
	control(Recipe{Workloads: []string{WorkloadMutex}, Tokens: true, Seen: SeenNode}, "blind-delete", "queued-write"),
)

// control makes the controls that are like one in all but the bug.
func control(like Recipe, names ...string) (all []Recipe) {
	for _, name := range names {
		like.Name, like.Exclusive, like.Control = RecipeBroken+name, true, true
		all = append(all, like)
	}
	return all
}

func isControl(name string) bool { return strings.HasPrefix(name, RecipeBroken) }

// commonRecipes names the recipes that are no controls.
func commonRecipes() []string { return slices.DeleteFunc(recipeList(), isControl) }

// closest names the recipes that one which does not exist may have been meant to be.
func closest(name string) []string {
	if isControl(name) {
		return slices.DeleteFunc(recipeList(), func(name string) bool { return !isControl(name) })
	}
	return commonRecipes()
}

// connection checks what a lock cannot have whose clients have a connection each that makes itself new
// sessions, and no say in whether they wait.
func (v *validator) connection() {
	all := v.Recipes()
	i := slices.IndexFunc(all, func(r Recipe) bool { return r.Control || r.OneLock })
	if i < 0 {
		return
	}
	name := all[i].Name
	if v.ClientsPerSession > 1 {
		v.refuse(by("clients-per-session", "recipe"), "drop it", "clients of recipe %s have a connection each", name)
	}
	if v.Try {
		v.refuse(by("try", "recipe"), "wait: a time", "recipe %s does not say whether it waits", name)
	}
}
