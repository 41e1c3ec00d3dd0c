package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/labs"
	"locklab/recipes/curator"
)

// Config says what is measured.
type Config struct {
	Lock    string // one of the keys of [Peers]
	Clients []int  // numbers of clients
	// Locks is how many locks the clients share: client i acquires lock i modulo Locks.
	Locks  int
	Rounds int // an odd number has a true median
	// Warmup precedes the measurement. It begins once all clients have held the lock twice.
	Warmup, Measure time.Duration
	// Binary is the static locklab binary for the hosts.
	Binary string
	JVM    string // how the servers' JVMs are set up; empty = as in a lab
	// Kazoo is an image with Python and kazoo; empty = there is none.
	Kazoo string
	Log   *slog.Logger
	// Progress is called for each measurement.
	Progress func(what string)

	_ struct{}
}

// Sessions have a long timeout, so that pings hardly count among the requests that the servers count.
const (
	tick           = time.Second
	sessionTimeout = 60 * time.Second
)

// The hosts.
const (
	servers    = 3
	clientHost = "c1"
	kazooHost  = "c2"
	// On the client's host.
	programs    = "/lock" // with a directory for each version of Curator
	peerProgram = programs + "/benchpeers"
	// On kazoo's host.
	kazooProgram = programs + "/kazoo_loop.py"
)

// A bench is a lab with its ensemble.
type bench struct {
	cfg       Config
	lab       *ensembles.Lab
	ensemble  *ensembles.Ensemble
	cells     int
	zooKeeper string // its version
}

// Run makes the lab, measures everything and removes the lab.
func Run(ctx context.Context, cfg Config) (_ *Comparison, err error) {
	b, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	c := &Comparison{
		Schema: 1, Lock: cfg.Lock, Locks: cfg.Locks, Servers: servers, Image: b.lab.Image, ZooKeeper: b.zooKeeper,
		Rounds: cfg.Rounds, WarmupNs: int64(cfg.Warmup), MeasureNs: int64(cfg.Measure),
	}
	for _, n := range cfg.Clients {
		for _, peer := range Peers[cfg.Lock] {
			c.Cells = append(c.Cells, Result{Peer: peer, Clients: n})
		}
	}
	for round := range cfg.Rounds {
		for row := range slices.Chunk(c.Cells, len(Peers[cfg.Lock])) {
			for _, i := range inTurn(round, len(row)) {
				r := &row[i]
				s, err := b.measure(ctx, r.Peer, r.Clients)
				if err != nil {
					return nil, fmt.Errorf("%s with %d clients: %w", r.Peer, r.Clients, err)
				}
				r.Rounds = append(r.Rounds, s)
				cfg.Progress(fmt.Sprintf("round %d of %d: %-17s %5d clients %8.0f/s", round+1, cfg.Rounds, r.Peer, r.Clients,
					s.PerSecond))
			}
		}
	}
	c.summarize()
	return c, nil
}

// inTurn returns the order of the peers in a round. Each round begins with the next peer, so that an ensemble that
// becomes faster or slower with time does not favour one peer.
func inTurn(round, peers int) (order []int) {
	for i := range peers {
		order = append(order, (round+i)%peers)
	}
	return order
}

// open makes the lab and starts its ensemble.
func open(ctx context.Context, cfg Config) (_ *bench, err error) {
	b := &bench{cfg: cfg}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	client := ensembles.HostSpec{Name: clientHost, Role: ensembles.Client, Base: true,
		Files: []ensembles.File{{Source: self, Target: peerProgram, Executable: true}}}
	for _, version := range curator.Versions {
		jars, err := curator.Compiled(ctx, version, filepath.Dir(b.cfg.Binary))
		if err != nil {
			return nil, err
		}
		for _, jar := range jars {
			client.Files = append(client.Files,
				ensembles.File{Source: jar, Target: path.Join(programs, version, filepath.Base(jar))})
		}
	}
	hosts := []ensembles.HostSpec{client}
	if cfg.Kazoo != "" {
		hosts = append(hosts, ensembles.HostSpec{Name: kazooHost, Role: ensembles.Client, Image: cfg.Kazoo,
			Files: []ensembles.File{{Source: "harness/benchpeers/kazoo_loop.py", Target: kazooProgram}}})
	}
	for i := range servers {
		hosts = append(hosts, ensembles.HostSpec{Name: fmt.Sprintf("zk%d", i+1), Role: ensembles.Server})
	}
	b.lab, err = labs.Start(ctx, ensembles.LabAuto,
		ensembles.LabConfig{Hosts: hosts, Binary: b.cfg.Binary, Log: b.cfg.Log})
	if err != nil {
		return nil, err
	}
	b.ensemble, err = ensembles.StartEnsemble(ctx, b.lab, ensembles.ServerConfig{
		Tick: tick, SyncLimit: 5, MinSessionTimeout: 2 * tick, MaxSessionTimeout: sessionTimeout,
		JVM: cfg.JVM, HeapBytes: 512 << 20,
	})
	if err == nil {
		b.zooKeeper, err = b.ensemble.Version(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.close(ctx))
	}
	return b, nil
}

// close removes the lab, even if ctx has ended.
func (b *bench) close(ctx context.Context) error {
	once, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return b.lab.Close(once)
}

// A Comparison is everything that was measured.
type Comparison struct {
	Schema    int      `json:"schema_version"`
	Lock      string   `json:"lock"`
	Locks     int      `json:"locks"`
	ZooKeeper string   `json:"zookeeper"`
	Image     string   `json:"image"`
	Servers   int      `json:"servers"`
	Rounds    int      `json:"rounds"`
	WarmupNs  int64    `json:"warmup_ns"`
	MeasureNs int64    `json:"measure_ns"`
	Cells     []Result `json:"cells"`
}
