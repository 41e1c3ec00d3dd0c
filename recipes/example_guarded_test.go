package recipes_test

import (
	"context"
	"errors"
	"log"
	"time"

	"locklab/recipes"
)

// A job's state is kept in ZooKeeper itself. A client that has lost the lock, whether it knows or not, changes
// nothing, because each write is a transaction that checks the lock. No other service has to look at tokens.
func ExampleHold_Multi() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := recipes.Connect(
		ctx,
		recipes.SessionConfig{Config: recipes.Config{Servers: []string{"zk1", "zk2", "zk3"}}},
	)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close(ctx) // frees the locks; Close gives the service a second even if ctx has ended
	lock, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: "/jobs/nightly/lock"})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := lock.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx) // Release gives the service a second even if ctx has ended
	_, err = hold.Multi(
		ctx,
		recipes.Op{
			Kind:    recipes.OpSet,
			Path:    "/jobs/nightly/state",
			Data:    []byte("done"),
			Version: recipes.AnyVersion,
		},
		recipes.Op{
			Kind: recipes.OpCreate,
			Path: "/jobs/nightly/report",
			Data: []byte("42 rows"),
			Mode: recipes.Persistent,
		},
	)
	switch {
	case errors.Is(err, recipes.ErrConnectionLoss):
		log.Print(err) // read what is there before trying again
	case errors.Is(err, recipes.ErrLockLost):
		log.Print(err) // nothing was written; another client may be doing it
	case err != nil:
		log.Print(err) // one operation was refused, for example because the report exists already
	}
}
