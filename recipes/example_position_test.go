package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// A client that waits shows how many are ahead of it in the queue. Each look costs one request.
func ExampleWithPosition() {
	var mutex *recipes.Mutex // made as in the example of Mutex
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	waiting, stop := context.WithCancel(ctx)
	acquiring, position := recipes.WithPosition(ctx)
	go func() {
		for {
			select {
			case <-time.After(5 * time.Second):
			case <-waiting.Done():
				return
			}
			if ahead, queued, err := position.Ahead(waiting); err == nil && queued {
				log.Printf("%d ahead", ahead)
			}
		}
	}()
	hold, err := mutex.Acquire(acquiring)
	stop()
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx) // Release gives the service a second even if ctx has ended
	_ = store(hold.Context(), hold.Token(), 0)
}

// An operator looks at how many clients hold the lock or wait for it.
func ExampleMutex_Length() {
	var mutex *recipes.Mutex // made as in the example of Mutex
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	length, err := mutex.Length(ctx)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("%d clients hold the lock or wait for it", length)
}
