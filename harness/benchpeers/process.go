package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/harness/history"
	"locklab/recipes/zksession"
)

// A Process is the client process of a peer that is written in Go: clients that acquire and release a lock in a
// closed loop, without a pause and each with a session of its own.
type Process struct {
	Peer    string
	Path    string // the locks' directory
	Locks   int    // client i acquires lock i modulo their number
	Clients int
	// SessionTimeout is asked for by every client.
	SessionTimeout time.Duration
	// Servers are host:port. Client i has a session on server i modulo their number.
	Servers []string

	_ struct{}
}

// The files that a process leaves in its directory: one once every client has held the lock firstRounds times, and
// one at its end, which [ReadRecord] reads.
const (
	readyFile  = "ready"
	recordFile = "record"
)

// The lines on its standard input, at both ends of the time that counts.
const (
	beginLine = "begin"
	endLine   = "end"
)

// firstRounds is how often every client holds before the process is ready. In the first round all clients come at
// once, and in the second only some of them find a queue.
const firstRounds = 2

// settingUp is how many clients connect, or close, at a time.
const settingUp = 64

// Run is the whole life of the process, in the directory dir. An error of any client ends it, because a comparison
// that lacks a client is worthless.
func (p Process) Run(ctx context.Context, dir string, in io.Reader) error {
	connect, ok := contenders[p.Peer]
	if !ok || p.Clients < 1 || p.Locks < 1 || len(p.Servers) == 0 {
		return fmt.Errorf("%q is no peer in Go, or there are no clients, locks or servers", p.Peer)
	}
	clock := history.NewClock()
	clients := make([]contender, p.Clients)
	err := each(ctx, p.Clients, func(ctx context.Context, i int) (err error) {
		session := zksession.Config{Servers: []string{p.Servers[i%len(p.Servers)]}, Timeout: p.SessionTimeout}
		clients[i], err = connect(ctx, session, path.Join(p.Path, strconv.Itoa(i%p.Locks)), i)
		return err
	})
	if err != nil {
		return err
	}
	var ended atomic.Bool
	holds := make([][]Hold, p.Clients)
	loops, loopCtx := errgroup.WithContext(ctx)
	var served sync.WaitGroup
	served.Add(p.Clients)
	for i, c := range clients {
		loops.Go(func() error {
			once := sync.OnceFunc(served.Done)
			defer once()
			for !ended.Load() {
				h := Hold{Asked: clock.Now()}
				if err := c.acquire(loopCtx); err != nil {
					return err
				}
				h.Granted = clock.Now()
				if err := c.release(loopCtx); err != nil {
					return err
				}
				h.Released = clock.Now()
				if holds[i] = append(holds[i], h); len(holds[i]) == firstRounds {
					once()
				}
			}
			return nil
		})
	}
	served.Wait()
	if err := os.WriteFile(filepath.Join(dir, readyFile), nil, 0o644); err != nil {
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
	if err := each(ctx, p.Clients, func(ctx context.Context, i int) error { return clients[i].close(ctx) }); err != nil {
		return err
	}
	for _, h := range holds {
		r.Holds = append(r.Holds, h...)
	}
	return r.write(filepath.Join(dir, recordFile))
}

// each does something for every one of so many clients, some at a time.
func each(ctx context.Context, clients int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(settingUp)
	for i := range clients {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// window waits for both lines and returns the resources used by then.
func window(in io.Reader, now func() int64) (begin, end Usage, err error) {
	lines := bufio.NewScanner(in)
	for _, w := range []struct {
		line string
		at   *Usage
	}{{beginLine, &begin}, {endLine, &end}} {
		if !lines.Scan() || lines.Text() != w.line {
			return begin, end, fmt.Errorf("%q instead of %q, %v", lines.Text(), w.line, lines.Err())
		}
		if *w.at, err = usage(now()); err != nil {
			return begin, end, err
		}
	}
	return begin, end, nil
}
