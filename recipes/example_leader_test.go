package recipes_test

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"locklab/recipes"
)

// One of several processes assigns work to the others. It leads until it is told to stop, and again after each loss,
// in a new session if the old one has expired. Each assignment carries the term's token, by which the workers refuse
// those of a leader that was stopped and does not know yet that another one leads.
func ExampleLeader_Run() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var renewer *recipes.Renewer // made as in the example of Renewer
	host, _ := os.Hostname()
	leader, err := recipes.NewLeader(recipes.LeaderConfig{Renewer: renewer, Path: "/scheduler/leader", ID: host + ":8080"})
	if err != nil {
		log.Print(err)
		return
	}
	err = leader.Run(ctx, func(ctx context.Context, term *recipes.Hold) error {
		log.Printf("leading, with token %d", term.Token())
		defer func() { log.Printf("not leading any more: %v", context.Cause(ctx)) }()
		for task := 0; ; task++ {
			if err := store(ctx, term.Token(), task); err != nil {
				return err // if the term was lost, Run campaigns again; else it resigns, and returns this
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil
			}
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		log.Print(err)
	}
}

// Campaign is for programs that are not one function while they lead. A leader that resigns hands over at once.
func ExampleLeader_Campaign() {
	var leader *recipes.Leader // made as in the example of Leader.Run
	ctx := context.Background()
	term, err := leader.Campaign(ctx)
	if err != nil {
		log.Print(err)
		return
	}
	go func() {
		<-term.Context().Done() // stop what only the leader may do, or end the process
		if cause := context.Cause(term.Context()); !errors.Is(cause, recipes.ErrReleased) {
			log.Fatal(cause)
		}
	}()
	http.HandleFunc("/step-down", func(http.ResponseWriter, *http.Request) {
		if err := leader.Resign(ctx); err != nil {
			log.Print(err)
		}
	})
}

// A process that does not lead, or is no candidate at all, finds the leader. It sends the token with its requests, so
// that a process which was the leader, or does not know yet that it is, can refuse them.
func ExampleLeader_Observe() {
	var leader *recipes.Leader // made as in the example of Leader.Run; an ID is not needed
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for now := range leader.Observe(ctx) {
		switch {
		case now.Err != nil:
			log.Print(now.Err)
		case now.Token == 0:
			log.Print("no process leads")
		case now.ID == "":
			log.Print("the leader does not say where it is") // it has no ID, or was asked to leave
		default:
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+now.ID+"/tasks", nil)
			if err != nil {
				log.Print(err)
				continue
			}
			request.Header.Set("Leader-Token", strconv.FormatInt(now.Token, 10))
		}
	}
}
