package lock

import (
	"context"
	"slices"

	"locklab/ensembles/txnlog/nodes"
)

// A Recipe describes a lock algorithm: what it can be used for, what it promises, and how it is opened.
type Recipe struct {
	Name    string
	Version string // of Curator; empty if it is another's lock, or any version will do
	About   string // what it is, for the manual
	// Workloads are the workloads that it serves.
	Workloads []string
	// Layout says by which znodes its clients see each other. Only recipes with the same layout can be mixed, because
	// others do not contend. Curator's multi-lock and ours are locks of mutexes. Empty = not known.
	Layout nodes.Layout
	// Seen is how an observer sees which client holds.
	Seen Seen

	Promises
	Needs

	// Control says that the recipe has a known bug, to test checks that should find it. Bug describes the bug.
	Control bool
	Bug     string

	// Open makes a source for a client; nil if the recipe is a command: see [Recipe.Opener].
	Open Opener
}

// Promises are the properties of a recipe's holds that a run can rely on.
type Promises struct {
	Exclusive bool // holds that exclude each other are not granted together
	Tokens    bool // grants carry rising fencing tokens
	MayToken  bool // whether they do is not known before there are grants
	Slots     bool // tokens of permits go with slots, by which a resource can tell them apart
	Queue     bool // grants come in the order of the clients' znodes, which tokens show (of permits, the znodes alone)
	Several   bool // takes several locks at once
	Downgrade bool // a writer can become a reader
	Clock     bool // its holds can end by a lease clock
	Resizes   bool // the number of permits can change during a run
	// Unchecked says why no transaction can check its holds. Empty = a transaction can, by znodes whose names no
	// other hold ever has.
	Unchecked string
}

// Needs are the ways in which a recipe differs from those of package recipes.
type Needs struct {
	Foreign       bool // it is a command behind the lock protocol
	OwnConnection bool // each client has a connection of its own, which makes new sessions, and cannot try
	Anonymous     bool // its connections have no credentials
	OneByOne      bool // it takes several permits one after the other
	// LeakyDowngrade says that a downgrade is known to let a writer in beside the reader. Nothing is promised that is
	// known to be broken.
	LeakyDowngrade bool
	// OwnUnseen says that the lock does not check that its own znode is in the queue, so that a client whose znode is
	// deleted while it waits is granted the lock without one. That is known, and so not promised either.
	OwnUnseen bool
}

// Seen is how an observer sees which client holds a lock.
type Seen string

// The ways to see it.
const (
	SeenQueue  Seen = ""       // by the first of the queue in the lock's directory
	SeenNode   Seen = "node"   // by the lock's path, which is the holder's znode
	SeenLeases Seen = "leases" // by the first of the leases in the directory of that name
	SeenNot    Seen = "not"    // not by one znode
)

// Serves reports whether the recipe serves a workload.
func (r Recipe) Serves(workload string) bool { return slices.Contains(r.Workloads, workload) }

// Checked reports whether a transaction can check its holds.
func (r Recipe) Checked() bool { return r.Unchecked == "" }

// An Opener makes a source for a client.
type Opener func(ctx context.Context, c Client) (Source, error)

// Opener returns the function that opens the recipe for a client.
func (r Recipe) Opener() Opener {
	if r.Foreign {
		return openForeign
	}
	return r.Open
}

// Use describes what a run demands of its recipes that some are known to do badly.
type Use struct {
	Downgrades   bool // writers become readers
	DeletesNodes bool // a fault deletes contenders' znodes
}

// Mix returns what several recipes together promise on one lock: the weakest of each promise, and all needs.
func Mix(name string, all []Recipe, use Use) Recipe {
	mix := Recipe{
		Name:     name,
		Promises: Promises{Exclusive: true, Tokens: true, Slots: true, Queue: true, Downgrade: true},
	}
	for i, r := range all {
		mix.Exclusive = mix.Exclusive && r.Exclusive && !(r.LeakyDowngrade && use.Downgrades) &&
			!(r.OwnUnseen && use.DeletesNodes)
		mix.Tokens = mix.Tokens && (r.Tokens || r.MayToken)
		mix.MayToken = mix.MayToken || r.MayToken
		mix.Slots = mix.Slots && r.Slots
		mix.Queue = mix.Queue && r.Queue
		mix.Foreign = mix.Foreign || r.Foreign
		mix.Several = mix.Several || r.Several
		mix.Downgrade = mix.Downgrade && r.Downgrade
		if i == 0 {
			mix.Seen = r.Seen // recipes with one layout are seen in the same way
		}
	}
	return mix
}
