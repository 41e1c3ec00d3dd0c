package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// A connection string such as other clients take it names the servers, and the path below which this program has its
// znodes. All other paths are relative to that one: the lock is at /app/locks/report.
func ExampleConnect() {
	servers, chroot, err := recipes.ParseServers("zk1:2181,zk2:2181,zk3:2181/app")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := recipes.Connect(
		ctx,
		recipes.SessionConfig{Config: recipes.Config{Servers: servers, Chroot: chroot}},
	)
	if err != nil {
		log.Fatal(err) // it says for each server why it could not be reached
	}
	defer session.Close(ctx) // frees the locks; Close gives the service a second even if ctx has ended
	if _, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: "/locks/report"}); err != nil {
		log.Fatal(err)
	}
}
