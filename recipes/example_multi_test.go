package recipes_test

import (
	"context"
	"log"
	"time"

	"locklab/recipes"
)

// Money moves from one account to another under the locks of both. All clients take the locks in the same order,
// whichever account pays. Each account gets the token of its own lock.
func ExampleMulti() {
	var session *recipes.Session // connected as in the example of Mutex
	var members []recipes.Member
	for _, account := range []string{"/accounts/bob", "/accounts/alice"} {
		mutex, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: account})
		if err != nil {
			log.Fatal(err)
		}
		members = append(members, recipes.Member{Key: account, Lock: mutex})
	}
	both, err := recipes.NewMulti(recipes.MultiConfig{Members: members, Canonical: true})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = recipes.Do(ctx, both, func(ctx context.Context, hold *recipes.MultiHold) error {
		for i, account := range hold.Holds() {
			// This context ends with the first lock that is lost: then the other account must not be touched either.
			if err := store(ctx, account.Token(), i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}
