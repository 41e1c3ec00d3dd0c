package recipes_test

import (
	"context"
	"errors"
	"log"
	"time"

	"locklab/recipes"
)

// A worker drives a machine that does not know tokens, so the worker has to stop by itself before another client can
// have the lock. Each step takes less time than the margin, and starts only while the lease lasts.
func ExampleLeaseClockConfig() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := recipes.Connect(
		ctx,
		recipes.SessionConfig{
			Config: recipes.Config{
				Servers: []string{"zk1", "zk2", "zk3"},
				Timeout: 15 * time.Second,
			}, // Tick is the servers' tickTime. Margin is the length of a step and an allowance for the clocks.
			LeaseClock: &recipes.LeaseClockConfig{Tick: 2 * time.Second, Margin: 3 * time.Second},
		},
	)
	if err != nil {
		log.Fatal(err) // wraps ErrTimeoutTooShort if the servers grant too little
	}
	defer session.Close(ctx) // frees the locks; Close gives the service a second even if ctx has ended
	lock, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: "/machines/press"})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := lock.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx) // Release gives the service a second even if ctx has ended
	for range 10 {
		if !hold.Valid() { // Valid looks at the time itself, and so is better than a check of the context
			break
		}
		press(hold.Context())
	}
	if cause := context.Cause(hold.Context()); errors.Is(cause, recipes.ErrLeaseExpired) {
		log.Print(cause) // the session may still live, and then the lock can be acquired again
	}
}

// press stands for a step of the machine, which stops when ctx ends.
func press(ctx context.Context) {}
