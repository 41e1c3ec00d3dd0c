package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/recipes/curator"
)

// A Sample is one measurement of one peer with one number of clients.
type Sample struct {
	Figures
	// Requests and Watches count the requests that the servers got and the watches that they fired, per acquisition.
	Requests float64 `json:"requests_per_acquisition"`
	Watches  float64 `json:"watches_per_acquisition"`
	// ServerCPU is the servers' CPU time, and Others is how many processors processes used that are no part of this.
	ServerCPU *int64   `json:"server_cpu_ns_per_acquisition"`
	Others    *float64 `json:"other_processors"`
}

// setUpCap bounds the time in which all clients connect and first hold the lock, and that of their last round and the
// end of the process.
const setUpCap = 2 * time.Minute

// measure runs one process, from its start to its end.
func (b *bench) measure(ctx context.Context, peer string, clients int) (Sample, error) {
	b.cells++
	name := fmt.Sprintf("peer%d", b.cells) // names both the lock and the process's directory
	host := b.host(peer).Agent
	say := func(line string) func() error {
		return func() error { _, err := host.Input(ctx, line); return err }
	}
	var before, after []count
	var usedBefore, usedAfter usedBy
	var r Record
	for _, step := range []func() error{
		func() error {
			loop, _ := loopOf(peer)
			spec := agent.Spec{Argv: b.argv(peer, "/bench/"+name, clients), ZooKeeper: loop != "", Dir: name}
			_, err := host.Start(ctx, spec)
			return err
		},
		func() error { return b.until(ctx, host, "every client's first holds", name, readyFile, false) },
		func() error { return pass(ctx, b.cfg.Warmup) },
		say(beginLine),
		func() (err error) { before, err = b.count(ctx); return err },
		func() (err error) { usedBefore, err = b.used(ctx); return err },
		func() error { return pass(ctx, b.cfg.Measure) },
		func() (err error) { usedAfter, err = b.used(ctx); return err },
		func() (err error) { after, err = b.count(ctx); return err },
		say(endLine),
		func() error { return b.until(ctx, host, "the record", name, recordFile, true) },
		func() error {
			text, err := textOf(ctx, host, name, recordFile)
			if err == nil {
				r, err = ReadRecord(strings.NewReader(text))
			}
			return err
		},
	} {
		if err := step(); err != nil {
			return Sample{}, err
		}
	}
	s := Sample{Figures: r.Figures()}
	if s.Acquisitions == 0 {
		return Sample{}, errors.New("no client acquired the lock in the measured time")
	}
	s.charge(usedBefore, usedAfter)
	// The counters and the process have different intervals, so rates are compared and not counts.
	for i, c := range after {
		seconds := c.at.Sub(before[i].at).Seconds()
		s.Requests += (c.requests - before[i].requests) / seconds / s.PerSecond
		s.Watches += (c.watches - before[i].watches) / seconds / s.PerSecond
	}
	return s, nil
}

// until waits for a file of the process, and for its end if ended is set. It gives up when the process has ended
// without writing the file.
func (b *bench) until(ctx context.Context, host *agent.Client, what, dir, file string, ended bool) error {
	ctx, cancel := context.WithTimeout(ctx, setUpCap)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	return ensembles.Poll(ctx, 5*time.Millisecond, what, func() error {
		// The status is asked for first, because a process that has ended writes no more.
		st, err := host.Status(ctx)
		if err != nil {
			return err
		}
		_, err = textOf(ctx, host, dir, file)
		switch {
		case err != nil && st.Exit != "":
			log, logErr := textOf(ctx, host, dir, agent.LogFile)
			giveUp(errors.Join(fmt.Errorf("the process ended: %s:\n%s", st.Exit, strings.TrimSpace(log)), logErr))
		case err == nil && ended && st.State != history.ProcessExited:
			return fmt.Errorf("the process is %s", st.State)
		}
		return err
	})
}

// host returns the host of a peer's process.
func (b *bench) host(peer string) *ensembles.Host {
	if peer == KazooLock {
		return b.lab.Host(kazooHost)
	}
	return b.lab.Host(clientHost)
}

// textOf reads a file of the process on a host.
func textOf(ctx context.Context, host *agent.Client, dir, file string) (string, error) {
	f, err := host.File(ctx, path.Join(dir, file))
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

// argv returns the command line of a peer's process.
func (b *bench) argv(peer, path string, clients int) []string {
	var servers []string
	for _, a := range b.ensemble.Addresses() {
		servers = append(servers, a.String())
	}
	timeout := sessionTimeout
	if loop, version := loopOf(peer); loop != "" {
		return append([]string{"java", "-cp", programs + "/" + version + "/*", curator.Loop, loop, path,
			fmt.Sprint(b.cfg.Locks), fmt.Sprint(clients), fmt.Sprint(timeout.Milliseconds())}, servers...)
	}
	if peer == KazooLock {
		return append([]string{"/usr/bin/python3", b.host(peer).Path(kazooProgram), path, fmt.Sprint(b.cfg.Locks),
			fmt.Sprint(clients), fmt.Sprint(timeout.Milliseconds())}, servers...)
	}
	p, err := json.Marshal(Process{Peer: peer, Path: path, Locks: b.cfg.Locks, Clients: clients, SessionTimeout: timeout,
		Servers: servers})
	if err != nil {
		panic(err)
	}
	return []string{b.lab.Host(clientHost).Path(peerProgram), rolePeer, string(p)}
}

// A count has the counters of one server and the time when it answered, since a busy server answers late.
type count struct {
	at                time.Time
	requests, watches float64
}

// The server's counters: of requests, and of watches that fired, one for each reason.
const packets = "zk_packets_received"

var fired = []string{"zk_sum_node_deleted_watch_count", "zk_sum_node_children_watch_count",
	"zk_sum_node_changed_watch_count", "zk_sum_node_created_watch_count"}

// count asks every server for its counters.
func (b *bench) count(ctx context.Context) ([]count, error) {
	ctx, cancel := context.WithTimeout(ctx, setUpCap)
	defer cancel()
	all := make([]count, len(b.ensemble.Servers))
	g, ctx := errgroup.WithContext(ctx)
	for i, server := range b.ensemble.Servers {
		g.Go(func() error {
			return ensembles.Poll(ctx, 5*time.Millisecond, "the counters of "+server.Name, func() error {
				text, err := server.Agent.Ask(ctx, "mntr")
				if err != nil {
					return err
				}
				all[i], err = read(ensembles.ParseMetrics(text))
				return err
			})
		})
	}
	return all, g.Wait()
}

func read(metrics map[string]float64) (count, error) {
	c := count{at: time.Now(), requests: metrics[packets]}
	for _, name := range slices.Concat(fired, []string{packets}) {
		if _, ok := metrics[name]; !ok {
			return c, fmt.Errorf("the server does not count %s", name)
		}
	}
	for _, name := range fired {
		c.watches += metrics[name]
	}
	return c, nil
}

// pass waits for d or for the end of ctx.
func pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
