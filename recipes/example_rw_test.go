package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// One client fills a cache, and then goes on reading it together with the others. No other client can write between
// its write and its reads. The reads carry the writer's token.
func ExampleRW_Downgrade() {
	var session *recipes.Session // connected as in the example of Mutex
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	lock, err := recipes.NewRW(recipes.RWConfig{Session: session, Path: "/locks/cache"})
	if err != nil {
		log.Fatal(err)
	}
	write, err := lock.Write().Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := store(write.Context(), write.Token(), 0); err != nil {
		_ = write.Release(ctx) // log.Fatal would leave the lock to the session's expiry
		log.Fatal(err)
	}
	read, err := lock.Downgrade(ctx, write)
	if err != nil {
		_ = write.Release(ctx) // a failed downgrade leaves the write hold as it was
		log.Fatal(err)
	}
	defer read.Release(ctx) // Release gives the service a second even if ctx has ended
	_ = load(read.Context(), read.Token())
}

// A reader that finds that it must write first releases the read lock, and then reads again under the write lock,
// because another client may have changed the data in between. A request for the write lock while it reads is refused
// with ErrUpgrade, if the context says that it reads.
func ExampleRW() {
	var lock *recipes.RW // made as in the example of RW.Downgrade
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	read, err := lock.Read().Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	stale := load(read.Context(), read.Token()) != nil
	if err := read.Release(ctx); err != nil {
		log.Fatal(err)
	}
	if !stale {
		return
	}
	write, err := lock.Write().Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer write.Release(ctx)                         // Release gives the service a second even if ctx has ended
	if load(write.Context(), write.Token()) != nil { // no other client has done it in between
		_ = store(write.Context(), write.Token(), 0)
	}
}

// load stands for a read of the protected resource, which ends with ctx and is refused for a stale token.
func load(ctx context.Context, token int64) error { return ctx.Err() }
