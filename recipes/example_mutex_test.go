package recipes_test

import (
	"context"
	"errors"
	"log"
	"time"

	"locklab/recipes"
)

// A job that only one process may do at a time. What it does is bounded by the hold's context, and every request
// to the resource carries the hold's token: the resource remembers the highest that it has seen, and refuses
// what is lower. That, and not the lock, protects it from a client that was stopped while it held and goes on later.
func ExampleMutex() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := recipes.Connect(ctx, recipes.SessionConfig{Servers: []string{"zk1", "zk2", "zk3"}})
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
			return // somebody asks for the lock, and a page boundary is a good place to stop
		default:
		}
		if err := store(hold.Context(), hold.Token(), page); err != nil {
			if cause := context.Cause(hold.Context()); errors.Is(cause, recipes.ErrLockLost) {
				log.Print(cause) // somebody else may hold by now: touch nothing any more
			}
			return
		}
	}
}

// released gives a hold back. It has a time limit of its own, since the context of the work may have ended; if that
// is not enough the rest is done in the background for as long as the session lives.
func released(hold *recipes.Hold) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := hold.Release(ctx); err != nil {
		log.Print(err)
	}
}

// closed ends a session, and with it whatever it still holds.
func closed(session *recipes.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := session.Close(ctx); err != nil {
		log.Print(err)
	}
}

// store stands for a write to the protected resource, which ends with ctx and is refused for a stale token.
func store(ctx context.Context, token int64, page int) error { return ctx.Err() }

// What another does already need not be waited for.
func ExampleMutex_TryAcquire() {
	var mutex *recipes.Mutex // as above
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	hold, err := mutex.TryAcquire(ctx)
	switch {
	case errors.Is(err, recipes.ErrNotAcquired):
		return // it is being done
	case err != nil:
		log.Fatal(err)
	}
	defer released(hold)
	_ = store(hold.Context(), hold.Token(), 0)
}

// Code that needs the lock on its way is given the hold, and enters it once more. It fails where the lock was lost.
func ExampleHold_Reenter() {
	step := func(hold *recipes.Hold) error {
		if err := hold.Reenter(); err != nil {
			return err
		}
		defer released(hold) // undoes the entry; the caller holds on
		return store(hold.Context(), hold.Token(), 1)
	}
	var hold *recipes.Hold // of a mutex
	if err := step(hold); err != nil {
		log.Print(err)
	}
}

// A request of a service is served under a lock: the work ends with whichever ends first, the request or the hold.
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

// An operator makes room: all who hold or wait are asked to leave, and made to if they do not within ten seconds.
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
