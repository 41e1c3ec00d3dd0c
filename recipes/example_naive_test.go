package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// The naive locks are used as the others are. They are no less exclusive, but each release wakes all who wait: for few
// clients that seldom meet they are the cheapest.
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
