package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// rolePeer is the first argument of the processes that are measured. The second is a [Process].
const rolePeer = "peer"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := runPeer(ctx)
	switch {
	case !errors.Is(err, errNoPeer):
	case len(os.Args) > 1 && os.Args[1] == roleLoad:
		err = compareLoads(ctx, os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == roleFigures:
		err = recordFigures(ctx, os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == roleVersions:
		err = tryVersions(ctx, os.Args[2:])
	default:
		err = comparePeers(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchpeers:", err)
		os.Exit(1)
	}
}

// errNoPeer says that the arguments are not those of a peer's process.
var errNoPeer = errors.New("not a peer's process")

// runPeer runs one process of the comparison, in its working directory, if the arguments say so.
func runPeer(ctx context.Context) error {
	if len(os.Args) != 3 {
		return errNoPeer
	}
	var p interface {
		Run(ctx context.Context, dir string, in io.Reader) error
	}
	switch os.Args[1] {
	case rolePeer:
		p = &Process{}
	case roleThin:
		p = &Thin{}
	default:
		return errNoPeer
	}
	if err := json.Unmarshal([]byte(os.Args[2]), p); err != nil {
		return err
	}
	return p.Run(ctx, ".", os.Stdin)
}

// comparePeers makes the comparison that the flags ask for, and prints its table.
func comparePeers(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("benchpeers", flag.ContinueOnError)
	cfg := Config{Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Progress: func(what string) { fmt.Fprintln(os.Stderr, what) }}
	flags.StringVar(&cfg.Lock, "lock", "mutex", "which lock: mutex, rw, or semaphore")
	clients := flags.String("clients", "1,16,64,256,1000", "how many clients there are")
	flags.IntVar(&cfg.Locks, "locks", 1, "how many locks the clients share evenly")
	flags.IntVar(&cfg.Rounds, "rounds", 3, "how often each is measured; figures are medians, so odd numbers are better")
	flags.DurationVar(&cfg.Warmup, "warmup", time.Second,
		"time between the second hold of every client and the measurement")
	flags.DurationVar(&cfg.Measure, "measure", 4*time.Second, "length of the measurement")
	flags.StringVar(&cfg.Binary, "binary", "bin/locklab", "the locklab binary for the hosts")
	out := flags.String("out", "runs/bench-peers.json", "file for the figures")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for text := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of clients", text)
		}
		cfg.Clients = append(cfg.Clients, n)
	}
	if len(Peers[cfg.Lock]) == 0 || cfg.Rounds < 1 || cfg.Measure <= 0 || cfg.Locks < 1 {
		return errors.New("there is nothing to measure")
	}
	all, err := Run(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(all.Write(*out), all.Print(os.Stdout))
}
