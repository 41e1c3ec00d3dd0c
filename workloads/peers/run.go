package peers

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness/history"
)

// Config describes a client process of the comparison.
type Config struct {
	Peer    string // one of Names
	Path    string // the lock's
	Clients int
	// SessionTimeout is asked for by every client.
	SessionTimeout time.Duration
	// Servers are host:port. Client i has a session on server i modulo their number.
	Servers []string

	_ struct{}
}

// The files that a process leaves in its directory.
const (
	ReadyFile  = "ready"
	RecordFile = "record"
)

// The words on its standard input.
const (
	Begin = "begin"
	End   = "end"
)

// firstRounds is how often every client holds before the process is ready: in the first round all clients come at
// once, and in the second some know the queue already.
const firstRounds = 2

// settingUp is how many clients connect, or close, at a time.
const settingUp = 64

// Run is the whole life of a client process, in the directory dir. An error of any client ends it, because a
// comparison that lacks one of its clients is worthless.
func Run(ctx context.Context, cfg Config, dir string, in io.Reader) error {
	connect, ok := contenders[cfg.Peer]
	if !ok || cfg.Clients < 1 || len(cfg.Servers) == 0 {
		return fmt.Errorf("peers: not a peer of %v, or no clients, or no servers: %+v", Names(), cfg)
	}
	clock := history.NewClock()
	clients := make([]contender, cfg.Clients)
	err := each(ctx, clients, func(ctx context.Context, i int) (err error) {
		clients[i], err = connect(ctx, cfg.Servers[i%len(cfg.Servers)], cfg.Path, cfg.SessionTimeout)
		return err
	})
	if err != nil {
		return err
	}
	var ended atomic.Bool
	holds := make([][]Hold, cfg.Clients)
	loops, loopCtx := errgroup.WithContext(ctx)
	var served sync.WaitGroup
	served.Add(cfg.Clients)
	for i, c := range clients {
		loops.Go(func() error {
			once := sync.OnceFunc(served.Done)
			defer once()
			return contend(loopCtx, c, &holds[i], clock.Now, once, &ended)
		})
	}
	served.Wait()
	if err := os.WriteFile(filepath.Join(dir, ReadyFile), nil, 0o644); err != nil {
		return err
	}
	var r Record
	if r.Begin, r.End, err = window(in, clock.Now); err != nil {
		return err
	}
	ended.Store(true)
	if err := loops.Wait(); err != nil {
		return err
	}
	if err := each(ctx, clients, func(ctx context.Context, i int) error { return clients[i].close(ctx) }); err != nil {
		return err
	}
	for _, h := range holds {
		r.Holds = append(r.Holds, h...)
	}
	return r.write(filepath.Join(dir, RecordFile))
}

// each does something for every client, some at a time.
func each(ctx context.Context, clients []contender, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(settingUp)
	for i := range clients {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// contend is one client's loop, which calls served once it has held as often as comes before all that counts.
func contend(
	ctx context.Context,
	c contender,
	holds *[]Hold,
	now func() int64,
	served func(),
	ended *atomic.Bool,
) error {
	for !ended.Load() {
		h := Hold{Asked: now()}
		if err := c.acquire(ctx); err != nil {
			return err
		}
		h.Granted = now()
		if err := c.release(ctx); err != nil {
			return err
		}
		h.Released = now()
		*holds = append(*holds, h)
		if len(*holds) == firstRounds {
			served()
		}
	}
	return nil
}

// window waits for both words and returns the resources used by then.
func window(in io.Reader, now func() int64) (begin, end Usage, err error) {
	words := bufio.NewScanner(in)
	for _, w := range []struct {
		word string
		at   *Usage
	}{{Begin, &begin}, {End, &end}} {
		if !words.Scan() || words.Text() != w.word {
			return begin, end, fmt.Errorf("peers: %q instead of %q, %v", words.Text(), w.word, words.Err())
		}
		if *w.at, err = usage(now()); err != nil {
			return begin, end, err
		}
	}
	return begin, end, nil
}
