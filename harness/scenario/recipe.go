package scenario

import (
	"slices"
	"strings"
)

// The workloads: which holds of a lock there are.
const (
	WorkloadMutex     = "mutex"      // exclusive ones
	WorkloadReadWrite = "read-write" // of readers, together, and of writers, alone
	WorkloadSemaphore = "semaphore"  // of some of the permits
	WorkloadMultiLock = "multi-lock" // of several locks at once
)

// The names of recipes that code speaks of.
const (
	RecipeMutex      = "mutex"       // Curator's queue: one watch, on the predecessor
	RecipeNaiveMutex = "naive-mutex" // one znode that everybody watches
	RecipeNone       = "none"        // no lock at all: what the oracle must catch
	RecipeExec       = "exec:"       // with a command after it: anybody's own lock
)

// A Recipe is what is known of a lock algorithm: what it can be used for, and what
// it promises.
type Recipe struct {
	Name      string
	Workloads []string // that it serves
	// Layout names the znodes by which its clients see each other. Only recipes of
	// one layout can be mixed: others do not contend. Empty = not known, or like
	// nobody's.
	Layout string

	Exclusive bool // what excludes each other is not granted together
	Tokens    bool // grants carry rising fencing tokens
	MayToken  bool // whether they do is not known before there are grants
	Slots     bool // tokens of permits go with slots, by which a resource can tell them apart
	Queue     bool // grants come in the order of the clients' znodes, which tokens show
	Foreign   bool // it is in a command behind the lock protocol
	Several   bool // takes several locks at once
	Clock     bool // its holds can go by a lease clock
	Checked   bool // a transaction can check its holds: by znodes whose names no other hold ever has
	OneLock   bool // a client of it has one lock, on a connection for it alone
	OneByOne  bool // takes several permits one after the other
	Control   bool // it has a bug that is known, to see who finds it
	Downgrade bool // a writer can become a reader
	// LeakyDowngrade is a downgrade that may let a writer in beside the reader, as
	// is known of it. What is known to be broken is not promised.
	LeakyDowngrade bool
	// OwnUnseen is a lock that does not look whether its own znode is in the queue, so that one which is deleted
	// while it waits is granted without. That is known of it, and so not promised either.
	OwnUnseen bool

	// Seen is how an observer sees who holds.
	Seen Seen
}

// Seen is how an observer sees who holds a lock.
type Seen string

// The ways to see it.
const (
	SeenQueue  Seen = ""       // by the first of the queue in the lock's directory
	SeenNode   Seen = "node"   // by the lock's path, which is the holder's znode
	SeenLeases Seen = "leases" // by the first of the leases in the directory of that name
	SeenNot    Seen = "not"    // not by one znode
)

// The layouts that several recipes share. Curator's multi-lock and ours are locks
// of mutexes. A semaphore's permits have more clients than its mutex.
const (
	layoutQueue     = "a mutex's queue"
	layoutRW        = "Curator's read/write queue"
	layoutTextbook  = "the textbook's read/write queue"
	layoutSemaphore = "leases behind a mutex"
)

// The layouts by which a lock's znodes are read in the servers' logs.
const (
	LayoutQueue     = layoutQueue
	LayoutReadWrite = layoutRW
	LayoutTextbook  = layoutTextbook
	LayoutSemaphore = layoutSemaphore
)

// recipeTable has every recipe but anybody's own. The first that serves a workload
// is that workload's default.
var recipeTable = append([]Recipe{
	{Name: RecipeMutex, Workloads: []string{WorkloadMutex, WorkloadMultiLock}, Layout: layoutQueue, Exclusive: true, Clock: true, Checked: true, Tokens: true, Queue: true},
	{Name: "rw", Workloads: []string{WorkloadReadWrite, WorkloadMutex}, Layout: layoutRW, Exclusive: true, Clock: true, Checked: true, Tokens: true, Queue: true, Downgrade: true},
	{Name: "semaphore", Workloads: []string{WorkloadSemaphore}, Layout: layoutSemaphore, Exclusive: true, Clock: true, Checked: true, Tokens: true, Slots: true, Queue: true, Seen: SeenNot},
	{Name: "multi", Workloads: []string{WorkloadMultiLock}, Layout: layoutQueue, Exclusive: true, Clock: true, Checked: true, Tokens: true, Queue: true, Several: true},
	{Name: RecipeNaiveMutex, Workloads: []string{WorkloadMutex}, Exclusive: true, Clock: true, Tokens: true, Seen: SeenNode},
	{Name: "fair-rw", Workloads: []string{WorkloadReadWrite, WorkloadMutex}, Layout: layoutTextbook, Exclusive: true, Clock: true, Checked: true, Tokens: true, Queue: true},
	{Name: "naive-rw", Workloads: []string{WorkloadReadWrite, WorkloadMutex}, Layout: layoutTextbook, Exclusive: true, Clock: true, Checked: true, Tokens: true, Queue: true},
	// The token of a semaphore mutex is of its lease, which it gets with the grant: what
	// order it has is no word on the queue.
	{Name: "semaphore-mutex", Workloads: []string{WorkloadMutex}, Layout: layoutSemaphore, Exclusive: true, Clock: true, Checked: true, Tokens: true, Seen: SeenLeases},
	{Name: RecipeNone, Workloads: allWorkloads, Several: true, Seen: SeenNot},
	// Its znodes are a mutex's queue, but without tokens nothing tells their order.
	{Name: "zk-lock", Workloads: []string{WorkloadMutex}, Layout: layoutQueue, Exclusive: true, OneLock: true, OwnUnseen: true},

	{Name: "curator-mutex", Workloads: []string{WorkloadMutex, WorkloadMultiLock}, Layout: layoutQueue, Exclusive: true, Tokens: true, Queue: true, Foreign: true},
	// Before 5.5, its reader's znode stands behind the writers that wait (CURATOR-621).
	{Name: "curator-rw", Workloads: []string{WorkloadReadWrite, WorkloadMutex}, Layout: layoutRW, Exclusive: true, Tokens: true, Queue: true, Foreign: true, Downgrade: true, LeakyDowngrade: true},
	{Name: "curator-semaphore", Workloads: []string{WorkloadSemaphore}, Layout: layoutSemaphore, Exclusive: true, Foreign: true, OneByOne: true, Seen: SeenNot},
	{Name: "curator-semaphore-mutex", Workloads: []string{WorkloadMutex}, Layout: layoutSemaphore, Exclusive: true, Tokens: true, Foreign: true, Seen: SeenLeases},
	{Name: "curator-multi", Workloads: []string{WorkloadMultiLock}, Layout: layoutQueue, Exclusive: true, Tokens: true, Queue: true, Foreign: true, Several: true},
}, controls...)

// AllRecipes returns every recipe but anybody's own.
func AllRecipes() []Recipe { return slices.Clone(recipeTable) }

// findRecipe returns the recipe of that name. Of anybody's own, nothing is known but
// that it is meant to be exclusive.
func findRecipe(name string) (Recipe, bool) {
	if strings.HasPrefix(name, RecipeExec) {
		return Recipe{Name: name, Workloads: allWorkloads, Exclusive: true, Foreign: true, MayToken: true, Several: true, Downgrade: true}, true
	}
	i := slices.IndexFunc(recipeTable, func(r Recipe) bool { return r.Name == name })
	if i < 0 {
		return Recipe{}, false
	}
	return recipeTable[i], true
}

// Serves reports whether the recipe can do what a workload wants of it.
func (r Recipe) Serves(workload string) bool { return slices.Contains(r.Workloads, workload) }

// serving names the recipes that serve a workload.
func serving(workload string) []string {
	var names []string
	for _, r := range recipeTable {
		if r.Serves(workload) {
			names = append(names, r.Name)
		}
	}
	return names
}

// offered names those that are to be recommended.
func offered(workload string) []string {
	return slices.DeleteFunc(serving(workload), isControl)
}

// recipeNames splits the names of recipes that are mixed. A command may have commas,
// and is mixed with nothing.
func recipeNames(text string) []string {
	if strings.HasPrefix(text, RecipeExec) {
		return []string{text}
	}
	names := strings.Split(text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// Recipes returns the scenario's recipes, of which each client process runs one, c1
// the first. Names that are none are left out.
func (s *Scenario) Recipes() []Recipe {
	var all []Recipe
	for _, name := range recipeNames(s.Recipe) {
		if r, ok := findRecipe(name); ok {
			all = append(all, r)
		}
	}
	return all
}

// RecipeOf returns the recipe of the i-th client process, from 0.
func (s *Scenario) RecipeOf(i int) Recipe {
	all := s.Recipes()
	return all[i%len(all)]
}

// Mix returns what all of the scenario's recipes together promise: of each promise
// the weakest, of each need all.
func (s *Scenario) Mix() Recipe {
	mix := Recipe{Name: s.Recipe, Exclusive: true, Tokens: true, Slots: true, Queue: true, Downgrade: true}
	for i, r := range s.Recipes() {
		mix.Exclusive = mix.Exclusive && r.Exclusive && !(r.LeakyDowngrade && s.DowngradeShare > 0) && !(r.OwnUnseen && s.deletesNodes())
		mix.Tokens = mix.Tokens && (r.Tokens || r.MayToken)
		mix.MayToken = mix.MayToken || r.MayToken
		mix.Slots = mix.Slots && r.Slots
		mix.Queue = mix.Queue && r.Queue
		mix.Foreign = mix.Foreign || r.Foreign
		mix.Several = mix.Several || r.Several
		mix.Downgrade = mix.Downgrade && r.Downgrade
		if i == 0 {
			mix.Seen = r.Seen // those of one layout are seen alike
		}
	}
	return mix
}

// deletesNodes reports whether the scenario names a fault that deletes contenders' znodes.
func (s *Scenario) deletesNodes() bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == FaultDeleteNode })
}

// HasTokens reports whether the recipes give out fencing tokens, or may, as far as is known.
func (s *Scenario) HasTokens() bool { return s.Mix().Tokens }

// Command returns the command of a recipe that is anybody's own lock, and its
// arguments; nil for every other recipe.
func (s *Scenario) Command() []string {
	command, ok := strings.CutPrefix(s.Recipe, RecipeExec)
	if !ok {
		return nil
	}
	return strings.Fields(command)
}

// Foreign reports whether a recipe is in a process beside the client's.
func (s *Scenario) Foreign() bool { return s.Mix().Foreign }

// defaultRecipe is the one that a workload has if none is given.
func defaultRecipe(workload string) string {
	names := serving(workload)
	if len(names) == 0 {
		return RecipeMutex // the workload will be refused
	}
	for _, name := range names {
		// A mutex takes one of a multi-lock's locks: good in company only.
		if r, _ := findRecipe(name); workload != WorkloadMultiLock || r.Several {
			return name
		}
	}
	return names[0]
}
