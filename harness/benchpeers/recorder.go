package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
	"locklab/reports/capacity"
	"locklab/reports/figures"
	"locklab/reports/sweep"
)

// roleFigures is the first argument of what measures the figures of the manuals.
const roleFigures = "figures"

// A recorder measures what figures lack and appends it to their records.
type recorder struct {
	root   string // of the repository
	binary string
	until  time.Time
	under  figures.Conditions
	bench  *bench
	// steady says whether the servers of the peers' lab became warm; nil = they were not warmed up yet.
	steady  *bool
	locklab string // the revision of the binary
	say     func(format string, args ...any)
	// These measure a round of a piece. They are fields so that tests can replace them.
	peers  func(context.Context, *figures.Piece, int) ([]figures.Record, error)
	sweeps func(context.Context, *figures.Piece, int) ([]figures.Record, error)
	// window measures how many acquisitions a second a load makes that is too high.
	window func(context.Context) (float64, error)
}

// recordFigures measures the figures that the arguments name, or all, until they are complete or the time is up.
func recordFigures(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("benchpeers figures", flag.ContinueOnError)
	length := flags.Duration("for", 2*time.Hour, "no round begins that might not end in this time")
	binary := flags.String("binary", "bin/locklab", "the locklab binary")
	names := flags.String("only", "", "names of figures, with commas; empty = all")
	machine := flags.String("machine", "", "what is special about this machine")
	kazoo := flags.String("kazoo", "", "an image with Python and kazoo; empty = kazoo's lock is not measured")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := figures.Named(*names)
	if err != nil {
		return err
	}
	r := &recorder{root: ".", until: time.Now().Add(*length),
		say: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
	r.peers, r.sweeps, r.window = r.measurePeers, r.measureSweep, r.tooHigh
	if r.binary, err = filepath.Abs(*binary); err != nil {
		return err
	}
	// The lab of the peers tells the conditions.
	r.bench, err = open(ctx, Config{Warmup: time.Second, Measure: 4 * time.Second, Binary: r.binary, Kazoo: *kazoo,
		JVM: ensembles.JVMProduction, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	closed := false
	shut := func() error {
		if closed {
			return nil
		}
		closed = true
		return r.bench.close(ctx)
	}
	defer func() { err = errors.Join(err, shut()) }()
	r.under = figures.Conditions{ZooKeeper: r.bench.zooKeeper, JVM: ensembles.JVMProduction, Lab: r.bench.lab.Kind,
		Processors: runtime.NumCPU(), Machine: *machine}
	if r.locklab, err = revisionOf(ctx, r.binary); err != nil {
		return err
	}
	for _, ofPeers := range []bool{true, false} {
		if !ofPeers { // an idle ensemble would take memory and some time from the sweeps
			if err := shut(); err != nil {
				return err
			}
		}
		for _, f := range chosen {
			if (f.Pieces[0].Sweep == nil) == ofPeers {
				if err := r.complete(ctx, f); err != nil {
					return fmt.Errorf("%s: %w", f.Name, err)
				}
			}
		}
	}
	return nil
}

// revisionOf returns the version of a locklab binary, as it says it, or the checkout's commit if it was built without.
func revisionOf(ctx context.Context, binary string) (string, error) {
	said, err := exec.CommandContext(ctx, binary, "--version").Output()
	if bytes.Contains(said, []byte("commit: unknown")) { // -buildvcs=false
		said, err = exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	}
	first, _, _ := strings.Cut(string(said), "\n")
	return strings.TrimSpace(first), err
}

// complete measures what a figure lacks. All pieces have their first round before one has its second, so that what the
// time does not suffice for is missing everywhere.
func (r *recorder) complete(ctx context.Context, f *figures.Figure) error {
	all, err := f.Read(r.root)
	if err != nil {
		return err
	}
	for again := true; again; {
		again = false
		for i := range f.Pieces {
			p := &f.Pieces[i]
			measure := r.sweeps
			if p.Sweep == nil {
				measure = r.peers
			}
			round, missing := f.Missing(p, r.under, all)
			if !missing {
				continue
			}
			begun := time.Now()
			if begun.Add(took(p, all)).After(r.until) {
				r.say("%s %s: no time is left for round %d", f.Name, p.Name, round)
				continue
			}
			if p.Sweep == nil {
				if err := r.warmUp(ctx); err != nil {
					return err
				}
			}
			measured, err := measure(ctx, p, round)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", p.Name, round, err)
			}
			shown := 0
			for k := range measured {
				m := &measured[k]
				m.SchemaVersion, m.Piece, m.Round, m.Begun = figures.SchemaVersion, p.Name, round, begun.UTC()
				m.TookS, m.Locklab, m.Conditions = time.Since(begun).Seconds(), r.locklab, r.under
				if p.Sweep == nil {
					m.Steady = r.steady
				}
				if m.Shown() {
					shown++
				}
			}
			if err := f.Append(r.root, measured); err != nil {
				return err
			}
			all = append(all, measured...)
			r.say("%s %s, round %d of %d: %d of %d cells undisturbed, %.0f s", f.Name, p.Name, round, f.Rounds, shown,
				len(measured), time.Since(begun).Seconds())
			again = true
		}
	}
	return nil
}

// warmUp loads the servers until their throughput no longer rises, by the test of a search for the highest rate. It
// does so once, because their JVMs stay warm.
func (r *recorder) warmUp(ctx context.Context) error {
	if r.steady != nil {
		return nil
	}
	var rates []float64
	for len(rates) < capacity.MostCold && !capacity.Steady(rates) {
		rate, err := r.window(ctx)
		if err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		rates = append(rates, rate)
	}
	r.steady = new(capacity.Steady(rates))
	r.say("warm-up: %.0f acquisitions a second, steady: %v", rates, *r.steady)
	return nil
}

// tooHigh measures 64 clients of one mutex, which use up the servers or the machine.
func (r *recorder) tooHigh(ctx context.Context) (float64, error) {
	r.bench.cfg.Locks = 1
	s, err := r.bench.measure(ctx, Mutex, 64)
	return s.PerSecond, err
}

// took is how long the longest round of a piece took; 0 if there is none.
func took(p *figures.Piece, all []figures.Record) (longest time.Duration) {
	for _, r := range all {
		if r.Piece == p.Name {
			longest = max(longest, time.Duration(r.TookS*float64(time.Second)))
		}
	}
	return longest
}

// measurePeers measures each peer of a lock once.
func (r *recorder) measurePeers(ctx context.Context, p *figures.Piece, round int) ([]figures.Record, error) {
	b, all := r.bench, r.bench.peers(p.Lock, p.Clients)
	b.cfg.Locks = p.Locks
	measured := make([]figures.Record, len(all))
	for _, i := range inTurn(round-1, len(all)) {
		measured[i].Cell = map[string]string{figures.KeyLock: p.Lock, figures.KeyLocks: strconv.Itoa(p.Locks),
			figures.KeyClients: strconv.Itoa(p.Clients), figures.KeyPeer: all[i]}
		s, err := b.measure(ctx, all[i], p.Clients)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil { // such as clients that did not all hold the lock in time
			measured[i].Failed = err.Error()
			if _, err := b.host(all[i]).Agent.Kill(ctx); err != nil { // a host has one process at a time
				r.say("%s: %v", all[i], err)
			}
			continue
		}
		measured[i].Values, measured[i].Others = s.values(), s.Others
	}
	return measured, nil
}

// values has the numbers of a sample by their names in the catalogue.
func (s *Sample) values() map[string]float64 {
	v := map[string]float64{"acquired_per_s": s.PerSecond, "server.requests_per_acquire": s.Requests}
	for name, ns := range map[string]*int64{"acquire.mean": s.AcquireMean, "acquire.p50": s.AcquireP50,
		"acquire.p99": s.AcquireP99, "handoff.p50": s.HandOffP50, "load_per_acquire": s.CPU,
		"server_per_acquire": s.ServerCPU} {
		if ns != nil {
			v[name] = float64(*ns)
		}
	}
	return v
}

// measureSweep makes one sweep, each of whose points is a cell.
func (r *recorder) measureSweep(ctx context.Context, p *figures.Piece, round int) (_ []figures.Record, err error) {
	dir, err := os.MkdirTemp("", "figures-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out := filepath.Join(dir, "sweep")
	args := append([]string{"sweep"}, p.Sweep...)
	cmd := exec.CommandContext(ctx, r.binary, append(args, "--seed", strconv.Itoa(round), "--out", out)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	before, err := others(ctx)
	if err != nil {
		return nil, err
	}
	// Whatever the verdicts are, the runs count if they were measured.
	said, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); ctx.Err() != nil || err != nil && !exited {
		return nil, errors.Join(err, ctx.Err())
	}
	text, rerr := os.ReadFile(filepath.Join(out, "sweep.json"))
	if rerr != nil {
		return nil, fmt.Errorf("locklab sweep: %w: %w\n%s", err, rerr, said)
	}
	var s sweep.Sweep
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	after, err := others(ctx)
	if err != nil {
		return nil, err
	}
	all := cells(&s)
	for i := range all {
		if all[i].Others == nil {
			all[i].Others = new(max(before, after))
		}
		if len(all[i].dirs) == 0 {
			continue
		}
		env, err := rundir.ReadEnv(filepath.Join(out, all[i].dirs[0]))
		if err != nil {
			return nil, err
		}
		if u := r.under; env.ZooKeeper != u.ZooKeeper || env.Lab != u.Lab || env.CPUs != u.Processors {
			return nil, fmt.Errorf("a run had ZooKeeper %s in a lab of kind %s on %d processors, and not %s, %s, %d",
				env.ZooKeeper, env.Lab, env.CPUs, u.ZooKeeper, u.Lab, u.Processors)
		}
		if env.WarmUp != nil {
			all[i].Steady = &env.WarmUp.Steady
		}
	}
	var measured []figures.Record
	for _, c := range all {
		measured = append(measured, c.Record)
	}
	return measured, nil
}

// others returns how many processors are used while nothing of ours runs. A run does not know that of itself if its
// processes were killed.
func others(ctx context.Context) (float64, error) {
	before, err := agent.MachineBusy()
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := pass(ctx, time.Second); err != nil {
		return 0, err
	}
	after, err := agent.MachineBusy()
	return (after - before).Seconds() / time.Since(begun).Seconds(), err
}

// A pointRecord is the record of a point of a sweep, whose runs have these directories.
type pointRecord struct {
	figures.Record
	dirs []string
}

// cells makes a record of each point of a sweep.
func cells(s *sweep.Sweep) (all []pointRecord) {
	for _, series := range s.Series {
		for _, p := range series.Points {
			r := pointRecord{Record: figures.Record{Cell: p.Values, Values: maps.Clone(p.Medians)}, dirs: p.Dirs}
			if p.Verdict != evidence.Pass {
				r.Failed = string(p.Verdict) + ": " + p.Why
			}
			if others, ok := p.Medians["other_processors"]; ok {
				r.Others = &others
			}
			all = append(all, r)
		}
	}
	return all
}

// usedBy is how much of the processors was used until a moment.
type usedBy struct {
	at                    time.Time
	machine, ours, server time.Duration
}

// used reads how much of the processors the machine has used, the hosts' processes, their agents and this process
// together, and the servers. The client's process must be the same in two readings that are compared.
func (b *bench) used(ctx context.Context) (u usedBy, err error) {
	for _, h := range b.lab.Hosts(ensembles.Client, ensembles.Server) {
		t, err := h.Agent.ProcessorTime(ctx)
		if err != nil {
			return u, err
		}
		u.ours += t.Used + t.Agent
		if h.Role == ensembles.Server {
			u.server += t.Used
		}
	}
	own, err := agent.OwnProcessorTime()
	if err != nil {
		return u, err
	}
	u.ours += own
	u.machine, err = agent.MachineBusy()
	u.at = time.Now()
	return u, err
}

// charge adds to a sample what was used between two readings: by others, in processors, and by the servers for each
// acquisition.
func (s *Sample) charge(before, after usedBy) {
	length := after.at.Sub(before.at)
	others := (after.machine - before.machine) - (after.ours - before.ours)
	s.Others = new(max(0, others.Seconds()/length.Seconds()))
	if n := s.PerSecond * length.Seconds(); n > 0 {
		s.ServerCPU = new(int64(float64(after.server-before.server) / n))
	}
}
