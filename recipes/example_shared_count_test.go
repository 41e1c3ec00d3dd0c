package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// The number of a semaphore's permits is kept in a shared count, which an operator changes while clients use it.
func ExampleSharedCount() {
	var session *recipes.Session // connected as in the example of Mutex
	count, err := recipes.NewSharedCount(
		recipes.SharedCountConfig{Session: session, Path: "/pools/render-size", Seed: 4},
	)
	if err != nil {
		log.Fatal(err)
	}
	pool, err := recipes.NewSemaphore(recipes.SemaphoreConfig{Session: session, Path: "/pools/render", Count: count})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := count.SetCount(ctx, 6); err != nil { // two waiters, if there are any, get in at once
		log.Fatal(err)
	}
	hold, err := pool.Acquire(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx) // Release gives the service a second even if ctx has ended
	slots := hold.Slots()
	if len(slots) == 0 {
		log.Print("a client without slots, such as Curator's, uses the same permits: no token can fence this one")
		return
	}
	_ = render(hold.Context(), slots[0], hold.Token())
}
