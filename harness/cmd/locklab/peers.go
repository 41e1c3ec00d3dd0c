package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"locklab/harness/benchpeers"
)

type benchPeersCmd struct {
	Lock    string        `default:"mutex" enum:"mutex,rw,semaphore" help:"Which lock: ${enum}."`
	Clients []int         `default:"1,16,64,256,1000" help:"How many clients there are. Repeatable."`
	Locks   int           `default:"1" help:"How many locks the clients share evenly."`
	Rounds  int           `default:"3" help:"How often each is measured. Figures are medians, so odd numbers are better."`
	Warmup  time.Duration `default:"1s" help:"Time between the second hold of every client and the measurement."`
	Measure time.Duration `default:"4s" help:"Length of the measurement."`
	Out     string        `default:"runs/bench-peers.json" help:"File for the figures."`
}

// Run compares our lock with the others and prints the table.
func (c benchPeersCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	if c.Rounds < 1 || c.Measure <= 0 || len(c.Clients) == 0 || c.Locks < 1 {
		return errors.New("there is nothing to measure")
	}
	all, err := benchpeers.Run(
		ctx,
		benchpeers.Config{Lock: c.Lock, Clients: c.Clients, Locks: c.Locks, Rounds: c.Rounds,
			Warmup: c.Warmup, Measure: c.Measure, Log: log, Progress: func(what string) { fmt.Fprintln(std.Err, what) }},
	)
	if err != nil {
		return err
	}
	if err := all.Write(c.Out); err != nil {
		return err
	}
	return all.Print(std.Out)
}

type benchPeerCmd struct {
	Peer           string        `arg:"" help:"Which lock."`
	Path           string        `required:"" help:"The directory of the locks."`
	Locks          int           `required:"" help:"How many locks there are."`
	Clients        int           `required:"" help:"How many contend."`
	SessionTimeout time.Duration `required:"" help:"Session timeout of every client."`
	Servers        []string      `required:"" help:"The servers of the ensemble."`
}

// Run runs one process of the comparison, in its working directory.
func (c benchPeerCmd) Run(ctx context.Context, std streams) error {
	p := benchpeers.Process{Peer: c.Peer, Path: c.Path, Locks: c.Locks, Clients: c.Clients,
		SessionTimeout: c.SessionTimeout, Servers: c.Servers}
	return p.Run(ctx, ".", std.In)
}
