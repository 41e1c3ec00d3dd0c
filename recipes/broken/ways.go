package broken

import (
	"context"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// Config describes a lock of this package.
type Config struct {
	Client *zksession.Plain // from [Connect]
	// Path is the lock's directory, or its one znode. It is created if it does not exist.
	Path string
	// Permits is how many permits a semaphore has, and Units how many of them a hold takes.
	Permits, Units int
	// OnQueued, if set, is called once an attempt has its place in a queue, before it waits,
	// with the number of contenders ahead.
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// Ways are the ways to hold a lock. Those that a lock does not have are nil.
type Ways struct {
	// Write's holds exclude all others, and Read's holds exclude Write's.
	Write, Read recipes.Lock
	// Permits's holds are a number of units of a semaphore.
	Permits recipes.Lock
	// Downgrade turns a hold of Write into one of Read.
	Downgrade func(ctx context.Context, write *recipes.Hold) (*recipes.Hold, error)
}

// acquirer is a function that is a [recipes.Lock].
type acquirer func(ctx context.Context) (*recipes.Hold, error)

func (f acquirer) Acquire(ctx context.Context) (*recipes.Hold, error) { return f(ctx) }
