package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// The naive locks are used in the same way as the others, and are just as exclusive. But each release wakes all
// waiters, so they are the cheapest only for few clients that seldom contend.
func ExampleNaiveMutex() {
	var session *recipes.Session // connected as in the example of Mutex
	mutex, err := recipes.NewNaiveMutex(recipes.NaiveConfig{Session: session, Path: "/locks/nightly"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	hold, err := mutex.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx) // Release gives the service a second even if ctx has ended
	_ = store(hold.Context(), hold.Token(), 0)
}
