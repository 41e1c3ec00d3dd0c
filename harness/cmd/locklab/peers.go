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
	Clients []int         `default:"1,16,64,256,1000" help:"How many clients contend for one lock. Repeatable."`
	Rounds  int           `default:"3" help:"How often each is measured. Figures are medians, so odd numbers are better."`
	Warmup  time.Duration `default:"1s" help:"Time between the second hold of every client and the measurement."`
	Measure time.Duration `default:"4s" help:"Length of the measurement."`
	Out     string        `default:"runs/bench-peers.json" help:"File for the figures."`
}

// Run compares our mutex with the others and prints the table.
func (c benchPeersCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	if c.Rounds < 1 || c.Measure <= 0 || len(c.Clients) == 0 {
		return errors.New("there is nothing to measure")
	}
	all, err := benchpeers.Run(
		ctx,
		benchpeers.Config{Clients: c.Clients, Rounds: c.Rounds, Warmup: c.Warmup, Measure: c.Measure,
			Log: log, Progress: func(what string) { fmt.Fprintln(std.Err, what) }},
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
	Path           string        `required:"" help:"The lock's path."`
	Clients        int           `required:"" help:"How many contend."`
	SessionTimeout time.Duration `required:"" help:"Session timeout of every client."`
	Servers        []string      `required:"" help:"The servers of the ensemble."`
}

// Run runs one process of the comparison, in its working directory.
func (c benchPeerCmd) Run(ctx context.Context, std streams) error {
	p := benchpeers.Process{Peer: c.Peer, Path: c.Path, Clients: c.Clients, SessionTimeout: c.SessionTimeout,
		Servers: c.Servers}
	return p.Run(ctx, ".", std.In)
}
