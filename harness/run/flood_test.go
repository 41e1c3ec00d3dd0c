package run

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/agent/serve"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/watch"
)

// floodClients is how many clients record at once in a flood. Each acquisition has four events.
const (
	floodClients = 16
	floodEvents  = 4
)

// roleAgent serves a host whose data is below a directory, and prints where it listens.
func roleAgent(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return serve.Run(ctx, serve.Config{Host: "c1", Secret: "secret", Lease: time.Hour, Root: args[0],
		Listen: "127.0.0.1:0", Listening: func(a net.Addr) { fmt.Println(a) },
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
}

// roleFlood records acquisitions as fast as it can: so many of each client.
func roleFlood(args []string) error {
	each, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	rec, err := history.NewRecorder(agent.ProcessHistoryDir, "c1", history.NewClock())
	if err != nil {
		return err
	}
	errs := make([]error, floodClients)
	var g sync.WaitGroup
	for i := range floodClients {
		g.Go(func() { errs[i] = flood(rec, fmt.Sprintf("c1/%d", i), each) })
	}
	g.Wait()
	return errors.Join(append(errs, rec.Record(history.Done()), rec.End())...)
}

func flood(rec *history.Recorder, client string, acquisitions int) error {
	c := history.Claim{Client: client, Lock: "/run1/lock0", Session: 0x100000000000001}
	for range acquisitions {
		if err := rec.AwaitCollector(context.Background()); err != nil {
			return err
		}
		c.Acq++
		for _, e := range [floodEvents]history.Event{
			c.Acquire(), c.Granted(), c.Release(), c.Released(history.OK, ""),
		} {
			if err := rec.Record(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// A process that records faster than its record can be collected is slowed down. Its record arrives whole, and neither
// its host nor the agent keeps much of it.
func TestFloodArrivesWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("writes for long")
	}
	events := 1_500_000 // more than a host keeps
	if suite.All() {
		events = 10_000_000
	}
	each := events / floodClients / floodEvents
	h, root := agentProcess(t)
	c := newCollector(t)
	began := time.Now()
	_, err := h.Agent.Start(t.Context(), agent.Spec{Argv: []string{"locklab", "role-flood", strconv.Itoa(each)}, Dir: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.follow(t.Context(), processStream(h, "p", 1)); err != nil {
		t.Fatal(err)
	}
	most := 0
	ended := make(chan struct{})
	go func() { c.streams.Wait(); close(ended) }()
	for look := true; look; {
		select {
		case <-ended:
			look = false
		case <-time.After(time.Millisecond):
		}
		segments, err := filepath.Glob(filepath.Join(root, "p", agent.ProcessHistoryDir, "*"+history.SegmentSuffix))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, len(segments))
	}
	received, err := c.wait()
	if err != nil || len(received) != 1 || received[0].Kind != history.OK {
		t.Fatalf("%v, %v", received, err)
	}
	var slowed time.Duration
	acq := map[string]int64{}
	var counted, marked int64 // events, and those that the end mark counts
	readFrames(t, filepath.Join(rundir.HostDir(c.dir, "c1"), rundir.ProcessHistory(1)), func(e *history.Event) {
		switch e.Op {
		case history.OpAcquire, history.OpRelease:
			if e.Op == history.OpAcquire && e.Kind == history.Invoke {
				acq[e.Client]++
			}
			if e.Acq != acq[e.Client] {
				t.Fatalf("%s: %v comes in acquisition %d", e.Client, e, acq[e.Client])
			}
		case history.OpSlowed:
			slowed += e.Slowed()
		}
		switch e.Op {
		case history.OpHeading:
		case history.OpEndMark:
			marked = e.Value
		default:
			counted++
		}
	})
	for client, n := range acq {
		if n != int64(each) {
			t.Errorf("%s: %d acquisitions of %d", client, n, each)
		}
	}
	if marked != counted || counted < int64(each*floodClients*floodEvents) {
		t.Errorf("%d events arrived, and %d were recorded", counted, marked)
	}
	c.view.Look(func(now watch.State) {
		if now.Acquired() != each*floodClients || !now.Done("c1") {
			t.Errorf("%d grants seen live, of %d", now.Acquired(), each*floodClients)
		}
	})
	t.Logf("%d events, %d bytes, %.1f s; slowed for %v; at most %d segments on the host", counted,
		received[0].Received().Bytes, time.Since(began).Seconds(), slowed, most)
	if most > 20 || most < 2 {
		t.Errorf("the host kept up to %d segments", most)
	}
}

// agentProcess runs an agent in a process of its own, as host c1. It returns the host and the directory of its data.
func agentProcess(t *testing.T) (*ensembles.Host, string) {
	t.Helper()
	root := t.TempDir()
	cmd := exec.Command(os.Args[0], "role-agent", root)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("agent: %v", err)
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the agent printed no address: %v", err)
	}
	a := agent.NewClient("c1", strings.TrimSpace(address), "secret")
	t.Cleanup(a.Close)
	return &ensembles.Host{Name: "c1", Role: ensembles.Client, Agent: a}, root
}

// readFrames reads a raw history without keeping it.
func readFrames(t *testing.T, file string, f func(*history.Event)) {
	t.Helper()
	r, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rest []byte
	var events []history.Event
	intern := map[string]string{}
	for chunk := make([]byte, 1<<20); ; {
		n, err := r.Read(chunk)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		var torn error
		events, rest, torn = history.Decode(events[:0], append(bytes.Clone(rest), chunk[:n]...), intern)
		if torn != nil {
			t.Fatal(torn)
		}
		for i := range events {
			f(&events[i])
		}
		if err != nil {
			break
		}
	}
	if len(rest) > 0 {
		t.Fatalf("%d bytes at the end are no event", len(rest))
	}
}
