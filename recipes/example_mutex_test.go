package recipes_test

import (
	"context"
	"errors"
	"log"
	"time"

	"locklab/recipes"
)

// This is a job that only one process may do at a time. The hold's context bounds the work, and every request to the
// resource carries the hold's token. The resource remembers the highest token that it has seen, and refuses lower
// ones. That, and not the lock, protects it from a client that was stopped while it held the lock and goes on later.
//
// The two deferred calls suffice, whatever becomes of ctx: a release that is not confirmed in its second goes on in the
// background, and the service removes what is left when the session closes or expires.
func ExampleMutex() {
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
	mutex, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: "/locks/report", Data: []byte("host1")})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := mutex.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx) // Release gives the service a second even if ctx has ended
	for page := range 10 {
		select {
		case <-hold.Revoked():
			return // another client asks for the lock, and a page boundary is a good place to stop
		default:
		}
		if err := store(hold.Context(), hold.Token(), page); err != nil {
			if cause := context.Cause(hold.Context()); errors.Is(cause, recipes.ErrLockLost) {
				log.Print(cause) // another client may hold the lock by now: touch nothing more
			}
			return
		}
	}
}

// store stands for a write to the protected resource, which ends with ctx and is refused for a stale token.
func store(ctx context.Context, token int64, page int) error { return ctx.Err() }

// A client does not wait for work that another client is already doing.
func ExampleMutex_TryAcquire() {
	var mutex *recipes.Mutex // made as in the example of Mutex
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	hold, err := mutex.TryAcquire(ctx)
	switch {
	case errors.Is(err, recipes.ErrNotAcquired):
		return // another client is doing it
	case err != nil:
		log.Fatal(err)
	}
	defer hold.Release(ctx) // Release gives the service a second even if ctx has ended
	_ = store(hold.Context(), hold.Token(), 0)
}

// Code that needs the lock and whose caller already holds it is given the hold, and enters the lock again. That fails
// if the lock was lost.
func ExampleHold_Reenter() {
	step := func(ctx context.Context, hold *recipes.Hold) error {
		if err := hold.Reenter(); err != nil {
			return err
		}
		defer hold.Release(ctx) // undoes the entry; the caller still holds the lock
		return store(hold.Context(), hold.Token(), 1)
	}
	var hold *recipes.Hold // the hold of a mutex
	if err := step(hold.Context(), hold); err != nil {
		log.Print(err)
	}
}

// A service handles a request under a lock. The work ends when the request or the hold ends, whichever is first.
func ExampleHold_Within() {
	serve := func(request context.Context, mutex *recipes.Mutex) error {
		hold, err := mutex.Acquire(request)
		if err != nil {
			return err
		}
		defer hold.Release(request) // gives the service a second even if the request has ended
		inside, cancel := hold.Within(request)
		defer cancel()
		return store(inside, hold.Token(), 0)
	}
	_ = serve
}

// An operator asks all holders and waiters to leave, and forces out those that do not within ten seconds.
func ExampleSession_Evict() {
	var session *recipes.Session // both made as in the example of Mutex
	var mutex *recipes.Mutex
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	participants, err := mutex.Participants(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range participants {
		forced, err := session.Evict(ctx, p.Path, 10*time.Second)
		if err != nil {
			log.Fatal(err)
		}
		log.Printf("%s: forced=%t", p.Data, forced)
	}
}
