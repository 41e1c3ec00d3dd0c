package client

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/history"
	"locklab/workloads"
	"locklab/workloads/control"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

func valid() config {
	return config{control.ClientConfig{
		Host: "c1",
		Servers: []control.Server{{Name: "zk1", Address: "10.0.0.1:2181"}, {Name: "zk2", Address: "10.0.0.2:2181"},
			{Name: "zk3", Address: "10.0.0.3:2181"}},
		Resource:       "10.0.0.9:7100",
		Recipe:         "mutex",
		Workload:       workloads.Mutex,
		Locks:          []string{"/run1/lock0"},
		Clients:        2,
		Drain:          workloads.DrainFinish,
		SessionTimeout: time.Second,
	}}
}

func TestConfigValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*config)
		want   string // in the error; empty = none
	}{
		{"valid", func(*config) {}, ""},
		{"observer needs neither clients nor resource", func(c *config) { c.Observe, c.Clients, c.Resource = true, 0, "" },
			""},
		{"no host", func(c *config) { c.Host = "" }, "host"},
		{"no servers", func(c *config) { c.Servers = nil }, "servers"},
		{"no locks", func(c *config) { c.Locks = nil }, "locks"},
		{"no clients", func(c *config) { c.Clients = 0 }, "clients"},
		{"no resource", func(c *config) { c.Resource = "" }, "resource"},
		{"unknown drain", func(c *config) { c.Drain = "flush" }, `"flush"`},
		{"unknown recipe", func(c *config) { c.Recipe = "mutexx" }, `"mutexx"`},
		{"a command's recipe", func(c *config) { c.Recipe, c.Command = "exec:lock", []string{"lock"} }, ""},
		{"lease clock without a tick", func(c *config) { c.Guard = guard.LeaseClock }, "tick"},
		{"arrivals without clients", func(c *config) { c.Arrivals = "poisson" }, "of 0 in flight"},
		{"arrivals and iterations", func(c *config) {
			c.Arrivals, c.MaxInFlight, c.AllClients, c.Iterations = "poisson", 2,
				2, 5
		}, "5 iterations"},
		{"too many clients", func(c *config) { c.Arrivals, c.MaxInFlight, c.AllClients = "poisson", 2, 1 }, "0 to 2 of 1"},
		{"arrivals", func(c *config) { c.Arrivals, c.MaxInFlight, c.AllClients = "poisson", 2, 2 }, ""},
		{"unknown workload", func(c *config) { c.Workload = "spinlock" }, `"spinlock"`},
		{"more units than permits", func(c *config) { c.Workload, c.Units, c.Permits = workloads.Semaphore, 3, 2 },
			"3 of 2 permits"},
		{"more locks than there are", func(c *config) { c.Workload, c.LocksAtOnce = workloads.MultiLock, 2 },
			"2 of 1 locks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := valid()
			c.change(&cfg)
			switch err := cfg.validate(); {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want one about %s", err, c.want)
			}
		})
	}
	// A process with a bad configuration ends before it does anything.
	log := slog.New(slog.DiscardHandler)
	if err := Run(t.Context(), control.ClientConfig{}, t.TempDir(), strings.NewReader(""), log); err == nil {
		t.Error("a process without a configuration ran")
	}
}

// Clients are dealt to the servers in turn, and each can move to any other server.
func TestServersFor(t *testing.T) {
	cfg := valid()
	a, b, c := "10.0.0.1:2181", "10.0.0.2:2181", "10.0.0.3:2181"
	for client, want := range [][]string{{a, b, c}, {b, c, a}, {c, a, b}, {a, b, c}} {
		if d := cmp.Diff(want, cfg.serversFor(client)); d != "" {
			t.Errorf("client %d: %s", client, d)
		}
	}
	if got := cfg.serverName(b); got != "zk2" {
		t.Errorf("server at %s is %q", b, got)
	}
	if got := cfg.serverName("10.9.9.9:1"); got != "10.9.9.9:1" {
		t.Errorf("an unknown server is %q", got)
	}
}

// newProcess returns a process that has not begun.
func newProcess(t *testing.T) *process {
	t.Helper()
	rec, err := history.NewRecorder(t.TempDir(), "c1", history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rec.Close() })
	p := &process{
		cfg:     valid(),
		rec:     rec,
		window:  make(chan window, 1),
		until:   make(chan int64, 1),
		stopped: make(chan struct{}),
	}
	stops := 0
	p.stop = func() {
		if stops++; stops == 1 {
			close(p.stopped)
		}
	}
	return p
}

func TestCommands(t *testing.T) {
	const point = control.BetweenReadAndWrite
	for _, c := range []struct {
		name, in, err string
		window        *window
		until         int64
		stopped       bool
		armed         string
	}{
		{name: "nothing"},
		{name: "empty lines", in: "\n  \n"},
		{name: "go", in: control.FormatGo(-5, 17) + "\n", window: &window{-5, 17}},
		{name: "without a newline", in: control.FormatGo(1, 2), window: &window{1, 2}},
		{name: "stop, twice", in: "stop\nstop\n", stopped: true},
		{name: "arm", in: control.FormatArm("f1", point), armed: "f1"},
		{name: "arm again", in: control.FormatArm("f1", point) + "\n" + control.FormatArm("f2", point), armed: "f2"},
		{name: "disarm", in: control.FormatArm("f1", point) + "\n" + control.FormatDisarm("f1")},
		{name: "disarm another", in: control.FormatArm("f1", point) + "\n" + control.FormatDisarm("f2"), armed: "f1"},
		{name: "all", armed: "f1",
			in:     strings.Join([]string{control.FormatArm("f1", point), control.FormatGo(1, 2), control.CommandStop}, "\n"),
			window: &window{1, 2}, stopped: true},
		{name: "go without times", in: "go\n", err: `"go"`},
		{name: "go with words", in: "go now then\n", err: `"go now then"`},
		{name: "go twice", in: "go 1 2\ngo 3 4\n", err: "before", window: &window{1, 2}},
		{name: "until", in: control.FormatUntil(17) + "\n", until: 17},
		{name: "until without a time", in: "until\n", err: `"until"`},
		{name: "until a word", in: "until then\n", err: `"until then"`},
		{name: "until twice", in: "until 3\nuntil 4\n", err: "before", until: 3},
		{name: "arm for an expiry", in: control.FormatArmTo("f1", point, control.StrikeExpire), armed: "f1"},
		{name: "settled before it moved",
			in: control.FormatArmTo("f1", point, control.StrikeMove) + "\n" + control.FormatSettle("f1")},
		{name: "arm for an unknown action", in: control.FormatArmTo("f1", point, "flee"), err: `"flee"`},
		{name: "strike with an unknown action", in: control.FormatStrike("f1", "flee", "c1/0"), err: `"flee"`},
		{name: "unknown", in: "flee\n" + control.FormatGo(1, 2), err: `"flee"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProcess(t)
			err := p.commands(strings.NewReader(c.in))
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %q", err, c.err)
			}
			var got *window
			select {
			case w := <-p.window:
				got = &w
			default:
			}
			if (got == nil) != (c.window == nil) || got != nil && *got != *c.window {
				t.Errorf("window %v, want %v", got, c.window)
			}
			var until int64
			select {
			case until = <-p.until:
			default:
			}
			if until != c.until {
				t.Errorf("until %d, want %d", until, c.until)
			}
			select {
			case <-p.stopped:
				if !c.stopped {
					t.Error("stopped")
				}
			default:
				if c.stopped {
					t.Error("not stopped")
				}
			}
			if armed, _ := p.triggers.take(point); armed.fault != c.armed {
				t.Errorf("armed for %q, want %q", armed.fault, c.armed)
			}
		})
	}
}

// A trigger fires once, and only at its point.
func TestTriggersFireOnce(t *testing.T) {
	var tr triggers
	if _, ok := tr.take(control.BetweenReadAndWrite); ok {
		t.Error("fired although no trigger was armed")
	}
	if err := tr.arm("f1", control.BetweenReadAndWrite, control.StrikeStop); err != nil {
		t.Fatal(err)
	}
	if tr.arm("f2", control.BetweenReadAndWrite, "flee") == nil {
		t.Error("armed for an unknown action")
	}
	if _, ok := tr.take("elsewhere"); ok {
		t.Error("fired at another point")
	}
	if f, ok := tr.take(control.BetweenReadAndWrite); !ok || f != (trigger{"f1", control.StrikeStop}) {
		t.Errorf("took %v, %v", f, ok)
	}
	if _, ok := tr.take(control.BetweenReadAndWrite); ok {
		t.Error("fired twice")
	}
}

// When the end is moved forward, all limits move with it.
func TestLimitsEndEarlier(t *testing.T) {
	for _, drain := range []string{workloads.DrainFinish, workloads.DrainCancel} {
		t.Run(drain, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProcess(t)
				p.cfg.Drain = drain
				clock := p.rec.Clock()
				begun := time.Now()
				at := func(ctx context.Context) time.Duration {
					<-ctx.Done() // or the test hangs
					return time.Since(begun)
				}
				l := p.limits(t.Context(), window{0, clock.Now() + int64(24*time.Hour)})
				defer l.release()
				p.until <- clock.Now() + int64(3*time.Second)
				waits := 3 * time.Second
				if drain == workloads.DrainFinish {
					waits += workloads.DrainCap
				}
				if begin, wait := at(l.begin), at(l.wait); begin != 3*time.Second || wait != waits {
					t.Errorf("begin ended after %v, wait after %v, want 3s and %v", begin, wait, waits)
				}
				if l.use.Err() != nil {
					t.Error("critical sections are cut short")
				}
			})
		})
	}
}

// The limits end one after another: new acquisitions at the end of the window, waiting after the drain, and
// everything when the process has to end.
func TestLimits(t *testing.T) {
	now := func(p *process) int64 { return p.rec.Clock().Now() }
	ended := func(l limits) [3]bool { return [3]bool{l.begin.Err() != nil, l.wait.Err() != nil, l.use.Err() != nil} }
	for _, c := range []struct {
		name, drain string
		end         time.Duration // from now
		stop        bool
		want        [3]bool // begin, wait, use have ended
	}{
		{"open", workloads.DrainFinish, time.Hour, false, [3]bool{}},
		{"closed, waiters finish", workloads.DrainFinish, -time.Second, false, [3]bool{true, false, false}},
		{"closed, waiters are cancelled", workloads.DrainCancel, -time.Second, false, [3]bool{true, true, false}},
		{"closed for very long", workloads.DrainFinish, -time.Hour, false, [3]bool{true, true, false}},
		{"stopped", workloads.DrainFinish, time.Hour, true, [3]bool{true, true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProcess(t)
			p.cfg.Drain = c.drain
			l := p.limits(t.Context(), window{0, now(p) + int64(c.end)})
			defer l.release()
			if c.stop {
				p.stop()
				<-l.wait.Done() // or the test hangs
			}
			if got := ended(l); got != c.want {
				t.Errorf("begin, wait, use have ended: %v, want %v", got, c.want)
			}
		})
	}
}

// A client begins nothing while the record of its process is far behind its collection.
func TestClientAwaitsTheCollector(t *testing.T) {
	c, _ := contender(t, simulated(1), nil)
	c.p.open = func(context.Context, lock.Client) (lock.Source, error) { return nil, nil }
	dir := t.TempDir()
	rec, err := history.NewRecorder(dir, "c1", history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	c.p.rec = rec
	segment := func(n int) string { return filepath.Join(dir, fmt.Sprintf("%06d%s", n, history.SegmentSuffix)) }
	const many = 18
	for detail := strings.Repeat("x", 60_000); ; {
		if err := rec.Record(history.Event{Op: history.OpLost, Detail: detail}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(segment(many)); err == nil {
			break
		}
	}
	if err := os.Remove(segment(0)); err != nil { // somebody collects it
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if ready, err := c.ready(over); ready || err != nil {
		t.Errorf("the window closes while the record is behind: ready %v, %v", ready, err)
	}
	for n := 1; n < many; n++ {
		if err := os.Remove(segment(n)); err != nil {
			t.Fatal(err)
		}
	}
	if ready, err := c.ready(t.Context()); !ready || err != nil {
		t.Errorf("the record is collected: ready %v, %v", ready, err)
	}
}
