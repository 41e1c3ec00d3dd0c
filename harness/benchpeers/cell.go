package benchpeers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/workloads/peers"
)

// A Sample is one measurement of one peer with one number of clients.
type Sample struct {
	peers.Figures
	// Requests and Watches count the requests that the servers got and the watches that they fired, per acquisition.
	Requests float64 `json:"requests_per_acquisition"`
	Watches  float64 `json:"watches_per_acquisition"`
}

// setUpCap bounds the time in which all clients connect and hold the lock once, and that of their last round and exit.
const setUpCap = 2 * time.Minute

// measure runs one process, from its start to its end.
func (b *bench) measure(ctx context.Context, peer string, clients int) (Sample, error) {
	b.cells++
	name := fmt.Sprintf("peer%d", b.cells) // names both the lock and the process's directory
	host := b.host().Agent
	argv := b.argv(peer, "/bench/"+name, clients, b.addresses())
	spec := agent.Spec{Argv: argv, ZooKeeper: peer == peers.CuratorMutex, Dir: name}
	if _, err := host.Start(ctx, spec); err != nil {
		return Sample{}, err
	}
	setUp, cancel := context.WithTimeout(ctx, setUpCap)
	defer cancel()
	if err := b.until(setUp, "all clients to have held the lock", name, peers.ReadyFile); err != nil {
		return Sample{}, err
	}
	if err := pass(ctx, b.cfg.Warmup); err != nil {
		return Sample{}, err
	}
	if _, err := host.Input(ctx, peers.Begin); err != nil {
		return Sample{}, err
	}
	before, err := b.count(ctx)
	if err != nil {
		return Sample{}, err
	}
	if err := pass(ctx, b.cfg.Measure); err != nil {
		return Sample{}, err
	}
	after, err := b.count(ctx)
	if err != nil {
		return Sample{}, err
	}
	if _, err := host.Input(ctx, peers.End); err != nil {
		return Sample{}, err
	}
	tearDown, cancel := context.WithTimeout(ctx, setUpCap)
	defer cancel()
	if err := b.until(tearDown, "the record", name, peers.RecordFile); err != nil {
		return Sample{}, err
	}
	if err := b.gone(tearDown); err != nil {
		return Sample{}, err
	}
	r, err := b.record(ctx, path.Join(name, peers.RecordFile))
	if err != nil {
		return Sample{}, err
	}
	s := Sample{Figures: r.Figures()}
	if s.Acquisitions == 0 {
		return Sample{}, errors.New("nobody acquired in the time that counts")
	}
	// The counters and the process have different intervals, so rates are compared and not counts.
	for i, c := range after {
		seconds := c.at.Sub(before[i].at).Seconds()
		s.Requests += (c.requests - before[i].requests) / seconds / s.PerSecond
		s.Watches += (c.watches - before[i].watches) / seconds / s.PerSecond
	}
	return s, nil
}

// until waits for a file of the process. It gives up when the process has ended without writing it.
func (b *bench) until(ctx context.Context, what, dir, file string) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	host := b.host().Agent
	return ensembles.Poll(ctx, 5*time.Millisecond, what, func() error {
		st, err := host.Status(ctx) // asked first, because a process that has ended writes no more
		if err != nil {
			return err
		}
		f, err := host.File(ctx, path.Join(dir, file))
		if err == nil {
			return f.Close()
		}
		if st.Exit != "" {
			giveUp(fmt.Errorf("the process ended: %s:\n%s", st.Exit, b.log(ctx, dir)))
		}
		return err
	})
}

// gone waits until the process has ended.
func (b *bench) gone(ctx context.Context) error {
	return ensembles.Poll(ctx, 5*time.Millisecond, "the process's end", func() error {
		st, err := b.host().Agent.Status(ctx)
		if err == nil && st.State != history.ProcessExited {
			err = fmt.Errorf("it is %s", st.State)
		}
		return err
	})
}

func (b *bench) log(ctx context.Context, dir string) string {
	f, err := b.host().Agent.File(ctx, path.Join(dir, agent.LogFile))
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

func (b *bench) record(ctx context.Context, name string) (peers.Record, error) {
	f, err := b.host().Agent.File(ctx, name)
	if err != nil {
		return peers.Record{}, err
	}
	defer f.Close()
	return peers.ReadRecord(f)
}

// A count has the counters of one server and the time when it answered, since a busy server answers late.
type count struct {
	at                time.Time
	requests, watches float64
}

// fired lists the server's counters of watches that fired, one for each reason.
var fired = []string{
	"zk_sum_node_deleted_watch_count", "zk_sum_node_children_watch_count", "zk_sum_node_changed_watch_count",
	"zk_sum_node_created_watch_count",
}

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
	c := count{at: time.Now()}
	for _, name := range append([]string{"zk_packets_received"}, fired...) {
		if _, ok := metrics[name]; !ok {
			return c, fmt.Errorf("the server does not count %s", name)
		}
	}
	c.requests = metrics["zk_packets_received"]
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
