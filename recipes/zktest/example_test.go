package zktest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/recipes"
	"locklab/recipes/zktest"
)

// work is an adopter's function, which is to be tested. It does one step of work after another while it holds a lock,
// and returns how many it has done when the last is done or the hold is lost.
func work(ctx context.Context, l recipes.Lock, steps int, step func(context.Context)) (done int, err error) {
	err = recipes.Do(ctx, l, func(ctx context.Context, _ *recipes.Hold) error {
		for ; done < steps && ctx.Err() == nil; done++ {
			step(ctx)
		}
		return context.Cause(ctx)
	})
	return done, err
}

// connect returns a session, and a lock in it, as the adopter's program makes them.
func connect(ctx context.Context, servers []string) (*recipes.Session, *recipes.Mutex, error) {
	s, err := recipes.Connect(ctx, recipes.SessionConfig{Config: recipes.Config{Servers: servers}})
	if err != nil {
		return nil, nil, err
	}
	l, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: "/jobs/nightly"})
	return s, l, err
}

// A function that uses a Mutex is tested against a lost connection, a slow reply and an expiry. In a test, Start takes
// the place of New, Listen and Close.
func Example() {
	srv := zktest.New(zktest.Config{})
	if err := srv.Listen(); err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, lock, err := connect(ctx, srv.Addrs())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close(ctx)

	// The first acquisition creates the lock's directory, after a create2 that is refused. So the next fault meets the
	// create2 that queues.
	done, err := work(ctx, lock, 3, func(context.Context) {})
	fmt.Println("no fault:", done, err)

	// The connection breaks before the answer to the request that queues: the work is done none the less.
	srv.LoseReply(zktest.OpCreate2)
	done, err = work(ctx, lock, 3, func(context.Context) {})
	fmt.Println("lost connection:", done, err)

	// Answers take long, and the caller has less time.
	srv.Delay(zktest.OpCreate2, time.Second)
	soon, cancelSoon := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancelSoon()
	done, err = work(soon, lock, 3, func(context.Context) {})
	fmt.Println("slow answers:", done, errors.Is(err, context.DeadlineExceeded))
	srv.Delay(zktest.OpCreate2, 0)

	// The session expires during the second of three steps: the work ends there, and the caller hears why.
	steps := 0
	done, err = work(ctx, lock, 3, func(ctx context.Context) {
		if steps++; steps == 2 {
			srv.Expire(s.ID())
			<-ctx.Done()
		}
	})
	fmt.Println("expired:", done, errors.Is(err, recipes.ErrLockLost), srv.Ephemerals())

	// Output:
	// no fault: 3 <nil>
	// lost connection: 3 <nil>
	// slow answers: 0 true
	// expired: 2 true []
}
