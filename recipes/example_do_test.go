package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// Do acquires the lock, bounds the work by the hold, and releases the lock, whatever becomes of the work. The token
// still goes with each request to the resource, which refuses those of a client that has lost the lock.
func ExampleDo() {
	var mutex *recipes.Mutex // made as in the example of Mutex
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := recipes.Do(ctx, mutex, func(ctx context.Context, h *recipes.Hold) error {
		return store(ctx, h.Token(), 0)
	})
	if err != nil {
		log.Print(err) // if it wraps ErrLockLost, another client may have held the lock before the work was over
	}
}
