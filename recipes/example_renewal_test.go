package recipes_test

import (
	"context"
	"errors"
	"log"
	"os/signal"
	"syscall"
	"time"

	"locklab/recipes"
)

// A service that runs for months outlives its sessions. The Renewer opens a new one when one has expired, and the lock
// is acquired in whatever session there is. A hold that was lost stays lost: Do says so, and the loop begins anew.
func ExampleRenewer() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	renewer, err := recipes.NewRenewer(ctx, recipes.RenewerConfig{
		SessionConfig: recipes.SessionConfig{Config: recipes.Config{Servers: []string{"zk1", "zk2", "zk3"}}},
		OnChange: func(c recipes.Renewal) {
			if c.Err != nil {
				log.Printf("ZooKeeper session: %v", c.Err)
			}
		},
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer renewer.Close(ctx) // frees the locks; Close gives the service a second even if ctx has ended
	mutex := renewer.Lock(func(s *recipes.Session) (recipes.Lock, error) {
		return recipes.NewMutex(recipes.MutexConfig{Session: s, Path: "/locks/report", Data: []byte("host1")})
	})
	for ctx.Err() == nil {
		err := recipes.Do(ctx, mutex, func(ctx context.Context, h *recipes.Hold) error {
			return store(ctx, h.Token(), 0)
		})
		switch {
		case errors.Is(err, recipes.ErrLockLost):
			log.Print(err) // another client may have held the lock before the work was over; the token protects the data
			continue
		case err != nil:
			log.Print(err)
		}
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
		}
	}
}

// A read/write lock in whatever session there is. The hold tells its own session's end; the next round gets the lock of
// the next session.
func ExamplePerSession() {
	var renewer *recipes.Renewer // made as in the example of Renewer
	caches := recipes.PerSession(renewer, func(s *recipes.Session) (*recipes.RW, error) {
		return recipes.NewRW(recipes.RWConfig{Session: s, Path: "/locks/cache"})
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cache, err := caches(ctx)
	if err != nil {
		log.Print(err)
		return
	}
	err = recipes.Do(ctx, cache.Write(), func(ctx context.Context, write *recipes.Hold) error {
		if err := store(ctx, write.Token(), 0); err != nil {
			return err
		}
		read, err := cache.ReadUnder(ctx, write) // stays when Do releases the write lock
		if err != nil {
			return err
		}
		go serve(read)
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}

// serve stands for work that lasts for as long as the lock, which it releases at its end.
func serve(hold *recipes.Hold) {
	<-hold.Context().Done()
	_ = hold.Release(context.Background())
}
