package recipes_test

import (
	"context"
	"errors"
	"log"
	"time"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// This is a job that only one process may do at a time. The hold's context bounds the work, and every request to the
// resource carries the hold's token. The resource remembers the highest token that it has seen, and refuses lower
// ones. That, and not the lock, protects it from a client that was stopped while it held the lock and goes on later.
func ExampleMutex() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := recipes.Connect(
		ctx,
		recipes.SessionConfig{Config: zksession.Config{Servers: []string{"zk1", "zk2", "zk3"}}},
	)
	if err != nil {
		log.Fatal(err)
	}
	defer closed(session)
	mutex, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: "/locks/report", Data: []byte("host1")})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := mutex.Acquire(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer released(hold)
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

// released releases a hold. It has a time limit of its own, because the context of the work may have ended. If that
// time is not enough, the session finishes the release in the background for as long as it lives.
func released(hold *recipes.Hold) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := hold.Release(ctx); err != nil {
		log.Print(err)
	}
}

// closed ends a session, and with it every hold that the session still has.
func closed(session *recipes.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := session.Close(ctx); err != nil {
		log.Print(err)
	}
}

// store stands for a write to the protected resource, which ends with ctx and is refused for a stale token.
func store(ctx context.Context, token int64, page int) error { return ctx.Err() }

// A client does not wait for work that another client is already doing.
func ExampleMutex_TryAcquire() {
	var mutex *recipes.Mutex // as above
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	hold, err := mutex.TryAcquire(ctx)
	switch {
	case errors.Is(err, recipes.ErrNotAcquired):
		return // another client is doing it
	case err != nil:
		log.Fatal(err)
	}
	defer released(hold)
	_ = store(hold.Context(), hold.Token(), 0)
}

// Code that needs the lock and whose caller already holds it is given the hold, and enters the lock again. That fails
// if the lock was lost.
func ExampleHold_Reenter() {
	step := func(hold *recipes.Hold) error {
		if err := hold.Reenter(); err != nil {
			return err
		}
		defer released(hold) // undoes the entry; the caller still holds the lock
		return store(hold.Context(), hold.Token(), 1)
	}
	var hold *recipes.Hold // the hold of a mutex
	if err := step(hold); err != nil {
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
		defer released(hold)
		inside, cancel := hold.Within(request)
		defer cancel()
		return store(inside, hold.Token(), 0)
	}
	_ = serve
}

// An operator asks all holders and waiters to leave, and forces out those that do not within ten seconds.
func ExampleSession_Evict() {
	var session *recipes.Session // both as above
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
