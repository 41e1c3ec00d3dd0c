package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// roleThin is the first argument of a thin load's process. The second is a [Thin].
const roleThin = "thin"

// thin measures one window of a thin load, in a process of its own.
func (c *LoadConfig) thin(ctx context.Context, to *targets, shape Shape) (s LoadSample, err error) {
	dir, err := os.MkdirTemp(c.dir, "thin-*")
	if err != nil {
		return s, err
	}
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	spec, err := json.Marshal(Thin{Shape: shape, Servers: to.addresses, Path: "/bench-load-" + filepath.Base(dir)})
	if err != nil {
		return s, err
	}
	cmd := exec.CommandContext(ctx, self, roleThin, string(spec))
	var said bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var before, after time.Duration
	var seen bool
	say := func(line string) func() error {
		return func() error { _, err := io.WriteString(in, line+"\n"); return err }
	}
	for _, step := range []func() error{
		func() error { return ready(ctx, filepath.Join(dir, readyFile), ended) },
		func() error { return pass(ctx, c.Warmup) },
		func() (err error) { before, seen, err = to.processorTime(ctx); return err },
		say(beginLine),
		func() error { return pass(ctx, c.Window) },
		say(endLine),
		func() (err error) { after, _, err = to.processorTime(ctx); return err },
		func() error { return <-ended },
	} {
		if err := step(); err != nil {
			in.Close() // the process ends without its lines
			return s, fmt.Errorf("the thin load: %w\n%s", err, strings.TrimSpace(said.String()))
		}
	}
	f, err := os.Open(filepath.Join(dir, recordFile))
	if err != nil {
		return s, err
	}
	defer f.Close()
	r, err := ReadRecord(bufio.NewReader(f))
	if err != nil {
		return s, err
	}
	s = sampleOf(r)
	load, servers := float64((r.End.Ticks-r.Begin.Ticks)*int64(ClockTick)), new(float64(after-before))
	if !seen {
		servers = nil
	}
	s.charge(&load, servers, r.seconds())
	return s, os.RemoveAll(dir)
}

// ready waits for a file of a process, or for its end.
func ready(ctx context.Context, file string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, setUpCap)
	defer cancel()
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("it ended before its clients were connected: %w", err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// scenario is what locklab runs. The keys that are left out have their defaults.
func (c *LoadConfig) scenario(to *targets, shape Shape) []byte {
	var b bytes.Buffer
	set := func(key string, value any) { fmt.Fprintf(&b, "%s: %v\n", key, value) }
	set("name", "bench-load")
	set("connect", strings.Join(to.addresses, ","))
	set("recipe", shape.Recipe)
	set("clients", shape.Clients)
	set("client-processes", c.Processes)
	set("locks", shape.Locks)
	set("lock-choice", map[bool]string{true: dealt, false: uniform}[shape.Dealt])
	if shape.Rate > 0 {
		set("arrivals", "poisson")
		set("rate", shape.Rate)
		set("queue", shape.Queue)
	}
	set("hold", shape.Hold)
	set("section", "none")
	set("session-timeout", loadSession)
	set("warmup", c.Warmup)
	set("duration", c.Window)
	set("max-latency", time.Minute)
	return b.Bytes()
}

// locklab measures one window of locklab's load, by its command and the record of its run.
func (c *LoadConfig) locklab(ctx context.Context, to *targets, shape Shape) (s LoadSample, err error) {
	dir, err := os.MkdirTemp(c.dir, "locklab-*")
	if err != nil {
		return s, err
	}
	file, out := filepath.Join(dir, "bench-load.yaml"), filepath.Join(dir, "run")
	if err := os.WriteFile(file, c.scenario(to, shape), 0o644); err != nil {
		return s, err
	}
	// Whatever its verdict is, the run counts if it was measured.
	said, err := c.command(ctx, "run", file, "--yes", "--out", out)
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return s, err
	}
	run, rerr := rundir.Read(out)
	var r result.Result
	if rerr == nil {
		rerr = rundir.ReadResult(out, &r)
	}
	if rerr != nil {
		return s, fmt.Errorf("locklab run: %w: %w\n%s", err, rerr, said)
	}
	w := measure.MeasuredWindow(run.Events)
	if !w.Measured {
		return s, fmt.Errorf("locklab run: %w, and no window was measured\n%s", err, said)
	}
	s = sampleOf(recordOf(run, w))
	length := w.Seconds()
	total := func(key string) *float64 { // processors over the window are processor time
		used := r.Quantities[key]
		if used == nil {
			return nil
		}
		return new(*used * length * 1e9)
	}
	s.charge(total("load_processors"), total("server_processors"), length)
	return s, os.RemoveAll(dir)
}

// recordOf writes a run's record as a thin load's.
func recordOf(run *rundir.Run, w measure.Interval) Record {
	r := Record{Begin: Usage{At: w.From}, End: Usage{At: w.Until}}
	for i := range run.Acquisitions {
		a := &run.Acquisitions[i]
		h := Hold{Asked: a.Asked(), Granted: never, Released: never}
		if a.Granted() && a.ReleaseInvoked != history.None {
			h.Granted, h.Released = a.Returned, a.ReleaseInvoked
		}
		r.Holds = append(r.Holds, h)
	}
	for _, e := range run.Events.Of(history.OpDropped) {
		r.Holds = append(r.Holds, Hold{Asked: e.At, Granted: never, Released: never})
	}
	return r
}

// command runs locklab and returns the end of what it said.
func (c *LoadConfig) command(ctx context.Context, args ...string) (said string, err error) {
	cmd := exec.CommandContext(ctx, c.Binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	all, err := cmd.CombinedOutput()
	const most = 2000
	return string(all[max(0, len(all)-most):]), err
}
