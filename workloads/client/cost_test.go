package client

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/ensembles/labtest"
	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads"
	"locklab/workloads/control"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// silent answers without a network.
type silent struct{}

func (silent) Do(context.Context, resource.Access) (resource.Answer, error) {
	return resource.Answer{Accepted: true}, nil
}

// eventsOf returns a client and all events that it records of one acquisition, which arrives in an open loop, queues,
// is used and is released.
func eventsOf(tb testing.TB) (*client, []history.Event) {
	tb.Helper()
	dir := tb.TempDir()
	rec, err := history.NewRecorder(dir, "c1", history.NewClock())
	if err != nil {
		tb.Fatal(err)
	}
	p := &process{cfg: simulated(1), rec: rec, resource: silent{}}
	c := newClient(p, 0)
	c.source = fakeSource{grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) {
		c.Queued(w.Paths[0], 3)
		h, _ := recipes.NewHold(recipes.HoldConfig{Parent: context.Background(), Session: 1 << 60, Token: 1 << 33,
			Release: func(context.Context) error { return nil }})
		return lock.Single(w.Paths[0], w.Mode, h), nil
	}}
	c.due = rec.Clock().Now()
	if err := c.once(always()); err != nil {
		tb.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		tb.Fatal(err)
	}
	events := recorded(tb, dir)
	for i := range events {
		if events[i].Op != history.OpArrive {
			events[i].At = 0 // so that the recorder stamps it again
		}
		events[i].Process = ""
	}
	if p.rec, err = history.NewRecorder(tb.TempDir(), "c1", history.NewClock()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.rec.Close() })
	return c, events
}

func TestRecordingAllocatesNothing(t *testing.T) {
	c, events := eventsOf(t)
	if len(events) < 11 { // arrive, acquire twice, queued, enter, read, write twice, exit, release twice
		t.Fatalf("only %d events of an acquisition", len(events))
	}
	allocations := testing.AllocsPerRun(1000, func() {
		for _, e := range events {
			c.record(e)
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations for %d events", allocations, len(events))
	}
}

// BenchmarkRecord measures one event of a client in a hot loop: code, event and buffer are in the processor's caches,
// and no other goroutine needs the recorder. In a run, where each event follows a wait, an event costs more.
func BenchmarkRecord(b *testing.B) {
	c, events := eventsOf(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.record(events[i%len(events)])
	}
}

// cpu returns the time that this process has used on CPUs, in user space and in the kernel.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAcquisition measures the CPU time that an uncontended acquisition of a mutex without its critical section
// costs a client, and how much of that goes into recording all events of one with a critical section. That makes
// recording look dearer than it is. It also looks cheaper, because it is timed in a hot loop on warm caches (see
// BenchmarkRecord), while the acquisition waits for the network in between.
func BenchmarkAcquisition(b *testing.B) {
	if testing.Short() {
		b.Skip("needs ZooKeeper")
	}
	shared := labtest.StartShared(b)
	b.Cleanup(func() {
		if err := shared.Close(); err != nil {
			b.Error(err)
		}
	})
	c, events := eventsOf(b)
	cfg := &c.p.cfg
	cfg.Servers, cfg.SessionTimeout, cfg.Recipe, cfg.Locks = nil, 4*time.Second, "mutex", []string{"/cost"}
	for _, s := range shared.Servers() {
		cfg.Servers = append(cfg.Servers, control.Server{Name: s, Address: s})
	}
	c.p.log, c.p.open, c.p.chooser = slog.New(slog.DiscardHandler), cfg.opener(), workloads.Choice{}.Of(1)
	if err := c.connect(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer c.close()
	w := c.choose()
	before := cpu(b)
	for b.Loop() {
		g, err := c.source.Acquire(b.Context(), w)
		if err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(g.Release(b.Context())); err != nil {
			b.Fatal(err)
		}
	}
	acquisition := float64(cpu(b)-before) / float64(b.N)

	const rounds = 20_000
	before = cpu(b)
	for range rounds {
		for _, e := range events {
			c.record(e)
		}
	}
	recording := float64(cpu(b)-before) / rounds
	b.ReportMetric(acquisition, "cpu-ns/acquisition")
	b.ReportMetric(recording, "cpu-ns/its-events")
	b.ReportMetric(100*recording/acquisition, "%recording")
}
