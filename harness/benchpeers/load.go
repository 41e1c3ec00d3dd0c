package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"locklab/harness/rundir"
	"locklab/reports/capacity"
	"locklab/reports/measure"
)

// roleLoad is the first argument of the comparison of locklab with a thin load.
const roleLoad = "load"

// LoadConfig says how locklab is compared with a thin load.
type LoadConfig struct {
	Connect string // host:port, more with commas; empty = a lab of processes
	Recipes []string
	Choices []string // of the closed loop, and with the first the open one: uniform, dealt
	Shape   Shape    // clients, locks, hold and queue of all loads
	Rounds  int
	// Bound is that of the p99 by which the thin load's limit is found, and Rate that limit if it is known.
	Bound time.Duration
	Rate  float64
	// Searches is how often `sweep --saturate` is compared with the thin load's limit.
	Searches       int
	Warmup, Window time.Duration
	Processes      int // client processes of locklab
	Binary         string
	Log            *slog.Logger
	Progress       func(what string)

	dir string // for what the loads write

	_ struct{}
}

// The choices among locks, as a scenario has them.
const (
	uniform = "uniform"
	dealt   = "dealt"
)

// shares are the shares of the thin load's limit at which both are measured in an open loop.
var shares = []float64{0.5, 0.8}

// compareLoads makes the comparison that the flags ask for, and prints its table.
func compareLoads(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("benchpeers load", flag.ContinueOnError)
	cfg := LoadConfig{Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Progress: func(what string) { fmt.Fprintln(os.Stderr, what) }}
	flags.StringVar(&cfg.Connect, "connect", "", "servers, as host:port with commas; without it, three are started")
	recipes := flags.String("recipe", ZKLock, "recipes: zk-lock, mutex, or both with a comma")
	choices := flags.String("choice", uniform, "lock choices: uniform, dealt, or both with a comma")
	flags.IntVar(&cfg.Shape.Clients, "clients", 200, "clients, each with a session")
	flags.IntVar(&cfg.Shape.Locks, "locks", 50, "locks")
	flags.DurationVar(&cfg.Shape.Hold, "hold", 5*time.Millisecond, "how long each lock is held")
	flags.IntVar(&cfg.Shape.Queue, "queue", 1000, "acquisitions that are due and wait for a client, in the open loop")
	flags.IntVar(&cfg.Rounds, "rounds", 6, "how often each load is measured; fewer than six have no interval")
	flags.DurationVar(&cfg.Bound, "bound", 100*time.Millisecond, "the limit is where the thin load's p99 crosses it")
	flags.Float64Var(&cfg.Rate, "limit", 0, "the thin load's limit in acquisitions a second, if it is known")
	flags.IntVar(&cfg.Searches, "searches", 0, "how often `sweep --saturate` is compared with the thin load's limit")
	flags.DurationVar(&cfg.Warmup, "warmup", 3*time.Second, "time before each window")
	flags.DurationVar(&cfg.Window, "window", 6*time.Second, "length of each window")
	flags.IntVar(&cfg.Processes, "processes", 1, "client processes of locklab")
	flags.StringVar(&cfg.Binary, "binary", "bin/locklab", "the locklab binary")
	out := flags.String("out", "runs/bench-load.json", "file for all figures")
	err := flags.Parse(args)
	if err == nil {
		cfg.Binary, err = filepath.Abs(cfg.Binary) // servers are started in directories of their own
	}
	if err != nil {
		return err
	}
	cfg.Recipes, cfg.Choices = strings.Split(*recipes, ","), strings.Split(*choices, ",")
	for _, r := range cfg.Recipes {
		if holders[r] == nil {
			return fmt.Errorf("--recipe %s: use zk-lock or mutex", r)
		}
	}
	for _, c := range cfg.Choices {
		if c != uniform && c != dealt {
			return fmt.Errorf("--choice %s: use uniform or dealt", c)
		}
	}
	if cfg.Rounds < 1 || cfg.Shape.Clients < 1 || cfg.Shape.Locks < 1 || cfg.Window <= 0 {
		return errors.New("there is nothing to measure")
	}
	all, err := cfg.run(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*out), 0o755); err != nil {
		return err
	}
	return errors.Join(rundir.WriteJSON(*out, all), all.print(os.Stdout))
}

// A LoadComparison is everything that was measured.
type LoadComparison struct {
	Schema    int          `json:"schema_version"`
	Servers   []string     `json:"servers"`
	ZooKeeper string       `json:"zookeeper"`
	WindowNs  int64        `json:"window_ns"`
	WarmupNs  int64        `json:"warmup_ns"`
	BoundNs   int64        `json:"bound_ns"`
	Cells     []LoadCell   `json:"cells"`
	Limits    []LoadLimits `json:"limits"`
}

// A LoadCell has the windows of both loads of one shape, round by round.
type LoadCell struct {
	Shape   Shape        `json:"shape"`
	Share   float64      `json:"share_of_limit"` // 0 in a closed loop
	Thin    []LoadSample `json:"thin"`
	Locklab []LoadSample `json:"locklab"`
}

// LoadLimits are the limits of a recipe, in acquisitions a second: where the thin load's p99 crosses the bound, and
// what locklab's searches found, by the same rules. Nothing disturbs the thin load, so its limit is one as Undisturbed
// is; at the rates in Saturate, the bound also holds again after a disturbance. A search may find only one of the two,
// or neither. In AtLeast of them the load side was the limit.
type LoadLimits struct {
	Recipe      string    `json:"recipe"`
	Searches    int       `json:"searches"`
	Thin        []float64 `json:"thin"`
	Saturate    []float64 `json:"saturate"`
	Undisturbed []float64 `json:"undisturbed"`
	AtLeast     int       `json:"at_least"`
}

// add counts the answer of a search, and returns it as text.
func (l *LoadLimits) add(found *capacity.Limit) string {
	l.Searches++
	lower := found.Lower
	if found.Unknown != "" {
		lower = nil // it only says what was measured until the search ended
	}
	alone := cmp.Or(found.Undisturbed, lower)
	if found.AtLeast {
		l.AtLeast++
		return "at least " + perS(alone)
	}
	if lower != nil {
		l.Saturate = append(l.Saturate, *lower)
	}
	if alone != nil {
		l.Undisturbed = append(l.Undisturbed, *alone)
	}
	return fmt.Sprintf("%s, undisturbed %s", perS(lower), perS(alone))
}

// run measures everything.
func (c *LoadConfig) run(ctx context.Context) (_ *LoadComparison, err error) {
	if c.dir, err = os.MkdirTemp("", "bench-load-*"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	to, err := openTargets(ctx, c.Connect, c.Binary, c.Log)
	if err != nil {
		return nil, err
	}
	defer func() {
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, to.close(once))
	}()
	all := &LoadComparison{Schema: 1, Servers: to.addresses, ZooKeeper: to.zooKeeper, WindowNs: int64(c.Window),
		WarmupNs: int64(c.Warmup), BoundNs: int64(c.Bound)}
	for _, recipe := range c.Recipes {
		var closed []LoadCell
		for _, choice := range c.Choices {
			shape := c.Shape
			shape.Recipe, shape.Dealt = recipe, choice == dealt
			closed = append(closed, LoadCell{Shape: shape})
		}
		if err := c.alternate(ctx, to, closed); err != nil {
			return nil, err
		}
		all.Cells = append(all.Cells, closed...)
		limits, err := c.limits(ctx, to, closed[0])
		if err != nil {
			return nil, err
		}
		all.Limits = append(all.Limits, limits)
		var open []LoadCell
		for _, share := range shares {
			shape := closed[0].Shape
			shape.Rate = math.Round(share * measure.Median(limits.Thin))
			open = append(open, LoadCell{Shape: shape, Share: share})
		}
		if err := c.alternate(ctx, to, open); err != nil {
			return nil, err
		}
		all.Cells = append(all.Cells, open...)
	}
	return all, nil
}

// alternate measures the rounds of some cells. The loads take turns, and in every second round locklab is the first.
func (c *LoadConfig) alternate(ctx context.Context, to *targets, cells []LoadCell) error {
	loads := []struct {
		name    string
		measure func(context.Context, *targets, Shape) (LoadSample, error)
		samples func(*LoadCell) *[]LoadSample
	}{
		{"thin", c.thin, func(c *LoadCell) *[]LoadSample { return &c.Thin }},
		{"locklab", c.locklab, func(c *LoadCell) *[]LoadSample { return &c.Locklab }},
	}
	for round := range c.Rounds {
		for i := range cells {
			for _, k := range inTurn(round, len(loads)) {
				s, err := loads[k].measure(ctx, to, cells[i].Shape)
				if err != nil {
					return err
				}
				all := loads[k].samples(&cells[i])
				*all = append(*all, s)
				c.Progress(fmt.Sprintf("round %d of %d: %-40s %-8s %6.0f/s, p99 %s", round+1, c.Rounds, cells[i].name(),
					loads[k].name, s.PerS, duration(s.P99)))
			}
		}
	}
	return nil
}

// limits finds the thin load's limit, and lets locklab search for it as often as was asked, in turn.
func (c *LoadConfig) limits(ctx context.Context, to *targets, closed LoadCell) (l LoadLimits, err error) {
	l.Recipe = closed.Shape.Recipe
	shape := closed.Shape
	if c.Rate > 0 && c.Searches == 0 {
		l.Thin = []float64{c.Rate}
		return l, nil
	}
	var rates []float64
	for _, s := range closed.Thin {
		rates = append(rates, s.PerS)
	}
	for i := range max(c.Searches, 1) {
		limit, err := crossing(measure.Median(rates)/2, func(rate float64) (float64, bool, error) {
			shape.Rate = rate
			s, err := c.thin(ctx, to, shape)
			c.Progress(fmt.Sprintf("the limit of the thin load with %s: at %.0f/s p99 is %s", l.Recipe, shape.Rate,
				duration(s.P99)))
			return s.PerS, s.P99 != nil && *s.P99 < int64(c.Bound), err
		})
		if err != nil {
			return l, err
		}
		shape.Rate = math.Round(limit)
		l.Thin = append(l.Thin, limit)
		if c.Searches > 0 {
			found, said, err := c.saturate(ctx, to, shape, i)
			if err != nil {
				return l, err
			}
			if found.Lower == nil || found.AtLeast || found.Unknown != "" {
				c.Progress(said)
			}
			c.Progress(fmt.Sprintf("search %d of %d: thin %.0f/s, locklab %s", i+1, c.Searches, limit, l.add(found)))
		}
	}
	return l, nil
}

// crossing finds the highest rate that keeps the bound, by the rules by which locklab finds its own, without a
// disturbance. A single window of each rate says little where windows near the limit differ by a factor of ten.
func crossing(start float64, measure func(rate float64) (perS float64, keeps bool, err error)) (float64, error) {
	search := capacity.Search{Start: start}
	var trials []capacity.Trial
	for {
		ask, more := search.Next(trials)
		if !more {
			break
		}
		perS, keeps, err := measure(ask.Level)
		if err != nil {
			return 0, err
		}
		t := capacity.Trial{Level: ask.Level, Kind: ask.Kind, Reason: capacity.Missed, PerS: &perS}
		if keeps {
			t.Reason = capacity.Holds
		}
		trials = append(trials, t)
	}
	l := search.Limit(trials)
	if l.Lower == nil {
		return 0, fmt.Errorf("the thin load has no limit: %s", cmp.Or(l.Unknown, l.Irregular))
	}
	return *l.Lower, nil
}

// perS is a rate, or n/a.
func perS(rate *float64) string {
	if rate == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.0f/s", *rate)
}

// saturate lets locklab search for its limit, and returns what the command printed too.
func (c *LoadConfig) saturate(
	ctx context.Context,
	to *targets,
	shape Shape,
	n int,
) (found *capacity.Limit, said string, err error) {
	dir, err := os.MkdirTemp(c.dir, "saturate-*")
	if err != nil {
		return nil, "", err
	}
	file, out := filepath.Join(dir, "bench-load.yaml"), filepath.Join(dir, "sweep")
	if err := os.WriteFile(file, c.scenario(to, shape), 0o644); err != nil {
		return nil, "", err
	}
	said, err = c.command(ctx, "sweep", file, "--saturate", fmt.Sprintf("acquire.p99 < %s", c.Bound), "--yes",
		"--seed", fmt.Sprint(n+1), "--out", out)
	var s struct {
		Series []struct {
			Points []struct{ Limit *capacity.Limit }
		}
	}
	b, rerr := os.ReadFile(filepath.Join(out, "sweep.json"))
	if rerr == nil {
		rerr = json.Unmarshal(b, &s)
	}
	if rerr != nil || len(s.Series) == 0 || s.Series[0].Points[0].Limit == nil {
		return nil, said, fmt.Errorf("locklab sweep did not search: %w\n%s", errors.Join(err, rerr), said)
	}
	return s.Series[0].Points[0].Limit, said, os.RemoveAll(dir)
}
