package lock

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
	"locklab/workloads"
)

// Every recipe that a scenario may try does not wait for a lock that another client holds. A command is told so by the
// lock protocol, and clients with a connection of their own are refused; see package scenario.
func TestTriesDoNotWait(t *testing.T) {
	srv := zktest.Start(t)
	within := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		return ctx
	}
	for _, r := range All() {
		if r.Foreign || r.OwnConnection {
			continue
		}
		for _, workload := range r.Workloads {
			t.Run(r.Name+" "+workload, func(t *testing.T) {
				w := Want{Mode: history.ModeExclusive, Paths: []string{"/" + r.Name + "-" + workload}}
				switch workload {
				case workloads.ReadWrite:
					w.Mode = history.ModeWrite
				case workloads.Semaphore:
					w.Mode, w.Units = history.ModePermit, 1
				case workloads.MultiLock:
					w.Paths = append(w.Paths, w.Paths[0]+"2")
				}
				open := func() Source {
					s, err := r.Open(within(), Client{
						Config: zksession.Config{Servers: srv.Addrs(), Timeout: 10 * time.Second},
						Locks:  w.Paths, Permits: 1, Units: 1, Try: true, Queued: func(string, int) {}, Sharing: &Sharing{},
					})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
					return s
				}
				a, b := open(), open()
				g, err := a.Acquire(within(), w)
				if err != nil {
					t.Fatalf("a try of a free lock: %v", err)
				}
				if _, err := b.Acquire(within(), w); r.Exclusive && !r.Control && !errors.Is(err, recipes.ErrNotAcquired) {
					t.Errorf("a try of a lock that is held: %v", err)
				}
				if err := g.Release(within()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
