package recipes_test

import (
	"context"
	"errors"
	"log"
	"time"

	"locklab/recipes"
)

// A worker drives a machine that knows no tokens, so it has to stop by itself before another can have the lock. Each step
// takes less than the margin, and is begun only while the lease lasts.
func ExampleLeaseClockConfig() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := recipes.Connect(ctx, recipes.SessionConfig{
		Servers: []string{"zk1", "zk2", "zk3"},
		Timeout: 15 * time.Second,
		// The servers' tickTime. Margin: how long a step takes, and something for the clocks.
		LeaseClock: &recipes.LeaseClockConfig{Tick: 2 * time.Second, Margin: 3 * time.Second},
	})
	if err != nil {
		log.Fatal(err) // wraps ErrTimeoutTooShort if the servers grant too little
	}
	defer session.Close(context.WithoutCancel(ctx))
	lock, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: "/machines/press"})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := lock.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for range 10 {
		if !hold.Valid() { // better than a look at the context: it looks at the time itself
			break
		}
		press(hold.Context())
	}
	if cause := context.Cause(hold.Context()); errors.Is(cause, recipes.ErrLeaseExpired) {
		log.Print(cause) // the session may have outlived it: the lock can be acquired anew
		return
	}
	if err := hold.Release(ctx); err != nil {
		log.Print(err)
	}
}

// press stands for a step of the machine, which stops as ctx ends.
func press(ctx context.Context) {}
