package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// Four workers' places at a service form a pool, and this client takes two of them for one job. For each slot the
// service remembers the highest token that it has seen, and refuses lower ones. So a client that was stopped while it
// held permits, and does not know that it has lost them, does no harm.
func ExampleSemaphore() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := recipes.Connect(
		ctx,
		recipes.SessionConfig{Config: zksession.Config{Servers: []string{"zk1", "zk2", "zk3"}}},
	)
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
			log.Print(err) // the permits are free, or will be as soon as the service can be reached
		}
	}()
	for _, slot := range hold.Slots() {
		if err := render(hold.Context(), slot, hold.Token()); err != nil {
			log.Print(err) // if the context has ended, its cause says how the permits were lost
			return
		}
	}
}

// render stands for a request to the service, which ends with ctx.
func render(ctx context.Context, slot int, token int64) error { return ctx.Err() }
