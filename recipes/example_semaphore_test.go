package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// A pool of four workers' places at a service, of which this client takes two for one job. The service
// remembers the highest token that it has seen for each slot and refuses what is lower, so that a client that
// was stopped while it held, and does not know that it has lost its permits, does no harm.
func ExampleSemaphore() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := recipes.Connect(ctx, recipes.SessionConfig{Servers: []string{"zk1", "zk2", "zk3"}})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close(context.WithoutCancel(ctx))
	pool, err := recipes.NewSemaphore(recipes.SemaphoreConfig{Session: session, Path: "/pools/render", Max: 4})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := pool.Acquire(ctx, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := hold.Release(ctx); err != nil {
			log.Print(err) // the permits are free, or will be once the service can be told
		}
	}()
	for _, slot := range hold.Slots() {
		if err := render(hold.Context(), slot, hold.Token()); err != nil {
			log.Print(err) // if the context has ended: its cause says how the permits were lost
			return
		}
	}
}

// render stands for a request to the service, which ends with ctx.
func render(ctx context.Context, slot int, token int64) error { return ctx.Err() }
