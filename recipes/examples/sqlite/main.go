// Command sqlite shows what keeps a database sound when a client outlives its lock: each write carries the fencing
// token of the writer's hold, and the database refuses a token that is older than the one it has.
//
//	go run .
//
// The ZooKeeper is one in memory, of package zktest, so that the program can end a session when it likes. Against an
// ensemble, everything but that and the addresses stays the same.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"time"

	_ "modernc.org/sqlite" // pure Go

	"locklab/recipes"
	"locklab/recipes/zktest"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

// An account is a row that a lock protects.
type account struct {
	db      *sql.DB
	refused int // writes that came too late
}

// errOutdated says that the lock has been granted to somebody else since.
var errOutdated = errors.New("outdated")

// add adds to the balance, unless a holder with a higher token has written before. It is one statement: between a
// separate look and a write, the other holder could come.
func (a *account) add(ctx context.Context, amount int, token int64) error {
	r, err := a.db.ExecContext(ctx,
		`UPDATE account SET balance = balance + ?, token = ? WHERE id = 1 AND token <= ?`, amount, token, token)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n > 0 {
		return err
	}
	a.refused++
	return errOutdated
}

func run(ctx context.Context) error {
	service := zktest.New(zktest.Config{})
	if err := service.Listen(); err != nil {
		return err
	}
	defer service.Close()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	if _, err := db.ExecContext(ctx, `CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, token INTEGER);
		INSERT INTO account VALUES (1, 0, 0)`); err != nil {
		return err
	}
	a := &account{db: db}

	var holds [2]*recipes.Hold
	for i, name := range []string{"first", "second"} {
		s, err := recipes.Connect(ctx,
			recipes.SessionConfig{Config: recipes.Config{Servers: service.Addrs(), Timeout: 5 * time.Second}})
		if err != nil {
			return err
		}
		defer s.Close(context.WithoutCancel(ctx))
		lock, err := recipes.NewMutex(recipes.MutexConfig{Session: s, Path: "/accounts/1"})
		if err != nil {
			return err
		}
		if holds[i], err = lock.Acquire(ctx); err != nil {
			return err
		}
		fmt.Printf("the %s client has the lock, with token %d\n", name, holds[i].Token())
		if i == 0 { // and stands still, so the servers end its session
			service.Expire(s.ID())
		}
	}
	if err := a.add(ctx, 10, holds[1].Token()); err != nil {
		return err
	}
	fmt.Println("the second client has written")
	switch err := a.add(ctx, 1000, holds[0].Token()); {
	case errors.Is(err, errOutdated):
		fmt.Println("the first client goes on, and its write is refused")
	case err != nil:
		return err
	}
	var balance int
	if err := db.QueryRowContext(ctx, `SELECT balance FROM account`).Scan(&balance); err != nil {
		return err
	}
	fmt.Printf("balance %d, refused writes %d\n", balance, a.refused)
	return nil
}
