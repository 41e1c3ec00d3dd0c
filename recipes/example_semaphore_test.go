package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// Four workers' places at a service form a pool, and this client takes two of them for one job. For each slot the
// service remembers the highest token that it has seen, and refuses lower ones. So a client that was stopped while it
// held permits, and does not know that it has lost them, does no harm.
func ExampleSemaphore() {
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
	pool, err := recipes.NewSemaphore(recipes.SemaphoreConfig{Session: session, Path: "/pools/render", Max: 4})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := pool.Acquire(ctx, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx) // Release gives the service a second even if ctx has ended
	for _, slot := range hold.Slots() {
		if err := render(hold.Context(), slot, hold.Token()); err != nil {
			log.Print(err) // if the context has ended, its cause says how the permits were lost
			return
		}
	}
}

// Do works with permits as with a lock: Of says how many are to be held.
func ExampleSemaphore_Of() {
	var pool *recipes.Semaphore // made as in the example of Semaphore
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := recipes.Do(ctx, pool.Of(2), func(ctx context.Context, hold *recipes.Hold) error {
		for _, slot := range hold.Slots() {
			if err := render(ctx, slot, hold.Token()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}

// render stands for a request to the service, which ends with ctx.
func render(ctx context.Context, slot int, token int64) error { return ctx.Err() }
