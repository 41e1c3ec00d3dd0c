package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"locklab/harness/history"
	"locklab/recipes/zktest"
	"locklab/workloads"
	"locklab/workloads/control"
	"locklab/workloads/guard"
)

// What the ceiling is measured with.
const (
	ceilingClients = 64
	ceilingEach    = 25 // acquisitions of each client in a round
	ceilingRounds  = 4
)

// Ceiling returns how many acquisitions a second the clients of one process ask for at most on this machine: each has a
// lock to itself, which it never holds, and servers in this process answer at once. It is the best of a few rounds,
// since other work on the machine only makes rounds slower. The first round makes the locks' paths and does not count.
//
// The servers' part of the work is included, so a client process whose servers have a machine of their own does more.
func Ceiling(ctx context.Context, recipe string) (best float64, err error) {
	service := zktest.New(zktest.Config{Servers: 3})
	if err := service.Listen(); err != nil {
		return 0, err
	}
	defer service.Close()
	dir, err := os.MkdirTemp("", "locklab-ceiling-*")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	cfg := config{control.ClientConfig{Host: "c1", Recipe: recipe, Workload: workloads.Mutex, LockOnly: true,
		Clients: ceilingClients, AllClients: ceilingClients, Iterations: ceilingEach, SessionTimeout: time.Minute,
		Drain: workloads.DrainFinish, Resource: "none", Load: workloads.Load{LockChoice: workloads.Choice{Dealt: true}}}}
	for _, address := range service.Addrs() {
		cfg.Servers = append(cfg.Servers, control.Server{Name: address, Address: address})
	}
	for i := range ceilingClients {
		cfg.Locks = append(cfg.Locks, fmt.Sprintf("/ceiling/%d", i))
	}
	if err := cfg.validate(); err != nil {
		return 0, err
	}
	rec, err := history.NewRecorder(dir, cfg.Host, history.NewClock())
	if err != nil {
		return 0, err
	}
	p := &process{cfg: cfg, rec: rec, log: slog.New(slog.DiscardHandler), open: cfg.opener(), until: make(chan int64),
		stopped: make(chan struct{})}
	p.guard, _ = guard.Find(cfg.Guard)
	clients := make([]*client, cfg.Clients)
	err = p.connect(ctx, clients)
	for i := 0; err == nil && i < ceilingRounds; i++ {
		var perS float64
		if perS, err = p.round(ctx, clients); i > 0 {
			best = max(best, perS)
		}
	}
	for _, c := range clients {
		if c != nil {
			c.close()
		}
	}
	return best, errors.Join(err, rec.Close())
}

// round lets every client make its iterations, and returns how many there were a second.
func (p *process) round(ctx context.Context, clients []*client) (perS float64, err error) {
	begun := time.Now()
	start := p.rec.Clock().Now()
	l := p.limits(ctx, window{start: start, end: start + int64(time.Minute)})
	defer l.release()
	errs := make([]error, len(clients))
	var running sync.WaitGroup
	for i, c := range clients {
		running.Go(func() { errs[i] = c.run(start, l) })
	}
	running.Wait()
	n := float64(len(clients) * p.cfg.Iterations)
	return n / time.Since(begun).Seconds(), errors.Join(errors.Join(errs...), context.Cause(ctx))
}
