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
	var session *recipes.Session // connected as for a Mutex
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
	defer released(hold)
	_ = store(hold.Context(), hold.Token(), 0)
}
