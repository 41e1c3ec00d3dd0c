package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/reports/compare"
	"locklab/reports/gatecurve"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// The environment of TestSoakGateCurve.
const (
	envCurve        = "LOCKLAB_GATE_CURVE"         // the file of the comparisons, to which a call adds
	envCurveFor     = "LOCKLAB_GATE_CURVE_FOR"     // how long a call takes at most, after its builds
	envCurveWeather = "LOCKLAB_GATE_CURVE_WEATHER" // 1 = under a load that comes and goes
	envCurveMachine = "LOCKLAB_GATE_CURVE_MACHINE" // what the machine is called in the table, if not by its cores
)

// curveRest is how much longer than its budget a comparison may take: it removes its lab.
const curveRest = 30 * time.Second

// mostFailed is how many comparisons in turn may break off. After so many, the next would too.
const mostFailed = 3

// The test measures how often the gate is right on this machine. It makes comparisons while there is time, as the
// workflow of a repository would make them, and appends each to the file. One that breaks off is reported and made
// again. The last thing it prints is the table of all, also after an interrupt, which ends the comparison that is being
// made.
func TestSoakGateCurve(t *testing.T) {
	name := os.Getenv(envCurve)
	if name == "" {
		t.Skip("takes hours: make gate-curve")
	}
	labtest.Require(t)
	limit, err := time.ParseDuration(os.Getenv(envCurveFor))
	if err != nil {
		t.Fatalf("%s: %v", envCurveFor, err)
	}
	if least := gatecurve.Budget + curveRest; limit <= least {
		t.Fatalf("%s: no comparison ends for sure in %s; give more than %s", envCurveFor, limit, least)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the test
	cores := fmt.Sprintf("%d cores", runtime.NumCPU())
	machine := cmp.Or(os.Getenv(envCurveMachine), cores+", quiet")
	inWeather := os.Getenv(envCurveWeather) == "1"
	if inWeather {
		machine = cmp.Or(os.Getenv(envCurveMachine), cores) + ", weather"
		ctx, cancel := context.WithCancel(ctx)
		over := make(chan error, 1)
		go func() { over <- weather(ctx, 2*runtime.NumCPU()) }()
		defer func() {
			cancel()
			if err := <-over; err != nil {
				t.Error(err)
			}
		}()
	}
	c := curve{file: name, machine: machine, weather: inWeather, commit: commit(), binary: labtest.Binary(t),
		same: slowBinary(t, time.Second.String()), slow: map[time.Duration]string{}}
	end := time.Now().Add(limit)
	if err := c.first(ctx, t); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	for failed := 0; ctx.Err() == nil && failed < mostFailed && time.Until(end) > gatecurve.Budget+curveRest; {
		due, err := c.one(ctx, t)
		if !due {
			break
		}
		if failed++; err == nil {
			failed = 0
		} else {
			t.Error(err)
		}
	}
	rows, err := gatecurve.Rows(c.records(t))
	if err == nil {
		err = gatecurve.Table(os.Stdout, rows)
	}
	if err != nil {
		t.Error(err)
	}
}

// A curve is a file of comparisons while more are made.
type curve struct {
	file, machine string
	weather       bool
	commit        string
	binary, same  string                   // this program, and another build of it
	slow          map[time.Duration]string // builds with a delay
	// recent are the comparisons of this call.
	recent []gatecurve.Record
}

// first compares a few runs, only to know how long a hand-off takes on the machine as it is now.
func (c *curve) first(ctx context.Context, t *testing.T) error {
	config := c.sameCode(t)
	config.Count = 3
	r, err := c.compare(ctx, t, config)
	c.recent = append(c.recent, r)
	return err
}

// sameCode returns a comparison of the same code, without its length.
func (c *curve) sameCode(t *testing.T) Config {
	t.Helper()
	sc, err := scenario.Builtin(workloads.Builtin, "mutex-latency")
	if err != nil {
		t.Fatal(err)
	}
	sc.Seed = 1 + rand.Uint64N(1<<32)
	return Config{Base: sc, Head: sc.Clone(), HeadClients: c.same}
}

// compare makes a comparison and returns it without its cell.
func (c *curve) compare(ctx context.Context, t *testing.T, config Config) (r gatecurve.Record, err error) {
	dir := filepath.Join(t.TempDir(), "bench")
	r = gatecurve.Record{Machine: c.machine, Weather: c.weather, Begun: time.Now().UTC()}
	pairs := 0
	err = Run(ctx, config, dir, run.Options{Binary: c.binary, Log: labtest.Log(t)}, func(p Progress) {
		pairs = p.Done / 2
	})
	r.TookS = time.Since(r.Begun).Round(100 * time.Millisecond).Seconds()
	if err == nil {
		err = r.Condense(dir)
	}
	r.Locklab = c.commit
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return r, fmt.Errorf("after %d pairs: %w", pairs, err)
	}
	return r, nil
}

// records reads the comparisons so far.
func (c *curve) records(t *testing.T) []gatecurve.Record {
	t.Helper()
	f, err := os.Open(c.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := gatecurve.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// one makes the comparison that is due, and reports whether there was one and time for it before ctx ended.
func (c *curve) one(ctx context.Context, t *testing.T) (due bool, err error) {
	records := c.records(t)
	cell, due := gatecurve.Next(records, c.machine, c.weather)
	if !due {
		return false, nil
	}
	config := c.sameCode(t)
	config.Count, config.Budget = 999, gatecurve.Budget
	if cell.Control != "" {
		config.Head.Recipe = lock.ControlPrefix + cell.Control
	}
	delay := time.Duration(0)
	if cell.Slower > 0 {
		delay = gatecurve.Delay(records, c.recent, c.machine, cell)
		if c.slow[delay] == "" {
			c.slow[delay] = slowBinary(t, delay.String())
		}
		config.HeadClients = c.slow[delay]
	}
	r, err := c.compare(ctx, t, config)
	if ctx.Err() != nil {
		return false, nil
	}
	r.Cell, r.DelayNs = cell.Name, int64(delay)
	if err == nil {
		err = r.Append(c.file)
	}
	if err != nil {
		return true, fmt.Errorf("%s: %w", cell.Name, err)
	}
	c.recent = append(c.recent, r)
	fmt.Printf("%s: %s after %d pairs, %.0f s: %.160s\n", cell.Name, r.Verdict, r.Pairs, r.TookS, r.Reason)
	return true, nil
}

// commit returns the commit that is checked out, which a test's binary does not know; "" if there is none.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// weather keeps a number of processes busy, each now and then, until ctx ends: for 2 to 20 seconds, and then not for 5
// to 40.
func weather(ctx context.Context, processes int) error {
	errs := make(chan error, processes)
	for range processes {
		go func() {
			for {
				if !pause(ctx, 5*time.Second, 40*time.Second) {
					errs <- nil
					return
				}
				// It ends by itself, so that none outlives a test that was killed.
				seconds := fmt.Sprint(2 + rand.IntN(19))
				busy := exec.CommandContext(ctx, "timeout", seconds, "sh", "-c", "while :; do :; done")
				busy.Cancel = func() error { return busy.Process.Signal(syscall.SIGTERM) }
				err := busy.Run()
				if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended && ctx.Err() == nil {
					errs <- err
					return
				}
			}
		}()
	}
	var all error
	for range processes {
		all = errors.Join(all, <-errs)
	}
	return all
}

// pause waits for a time drawn from a range, and reports whether it has passed before ctx ended.
func pause(ctx context.Context, least, most time.Duration) bool {
	timer := time.NewTimer(least + rand.N(most-least))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// A comparison whose pairs are too few to have an answer is none, because it would use up errors.
func TestLookWaitsForPairs(t *testing.T) {
	b := benchmark{config: Config{Budget: time.Hour}, dir: t.TempDir(), begun: time.Now().Add(-30 * time.Minute)}
	few := compare.Options{}.LeastPairs() - 1
	if r, enough, err := b.look(few, time.Second, false); r != nil || enough || err != nil || len(b.looks) > 0 {
		t.Errorf("%v, %t, %v, looks %v", r, enough, err, b.looks)
	}
}
