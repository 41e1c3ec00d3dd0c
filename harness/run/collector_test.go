package run

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/harness/history/historytest"
	"locklab/harness/rundir"
	"locklab/harness/watch"
)

// An unsteadyAgent serves a history over connections that break anywhere.
type unsteadyAgent struct {
	whole []byte
	// grown is how much of it has been written so far.
	grown atomic.Int64
	// ended says that no more will be written.
	ended atomic.Bool
	// most is how many bytes a connection carries; 0 = it does not break.
	most int
	rng  *rand.Rand // used by one request at a time
}

func (a *unsteadyAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, err := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	if err != nil {
		http.Error(w, "bad offset", http.StatusBadRequest)
		return
	}
	budget := int64(len(a.whole))
	if a.most > 0 {
		budget = a.rng.Int64N(int64(a.most))
	}
	for {
		ended := a.ended.Load()
		n := min(a.grown.Load()-at, budget)
		if _, err := w.Write(a.whole[at : at+n]); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		at, budget = at+n, budget-n
		switch {
		case budget == 0 && a.most > 0:
			panic(http.ErrAbortHandler) // the connection breaks
		case ended && at == int64(len(a.whole)), r.FormValue("follow") == "false":
			return
		}
		select {
		case <-r.Context().Done():
			return
		default:
		}
	}
}

// host returns host c1 with this agent.
func (a *unsteadyAgent) host(t *testing.T) *ensembles.Host {
	t.Helper()
	srv := httptest.NewServer(a)
	c := agent.NewClient("c1", strings.TrimPrefix(srv.URL, "http://"), "secret")
	t.Cleanup(func() {
		c.Close()
		srv.Close()
	})
	return &ensembles.Host{Name: "c1", Role: ensembles.Client, Agent: c}
}

func grants(n int) []history.Event {
	var events []history.Event
	for i := range n {
		at := int64(10*i + 1)
		events = append(
			events,
			history.Event{
				At:      at,
				Process: "c1",
				Client:  "c1/0",
				Lock:    "/l",
				Acq:     int64(i + 1),
				Op:      history.OpAcquire,
				Kind:    history.Invoke,
			},
			history.Event{
				At:      at + 5,
				Process: "c1",
				Client:  "c1/0",
				Lock:    "/l",
				Acq:     int64(i + 1),
				Op:      history.OpAcquire,
				Kind:    history.OK,
			},
		)
	}
	return events
}

// A history arrives complete and once, however often the connection breaks and wherever in a frame.
func TestCollectorMendsConnections(t *testing.T) {
	const n = 300
	a := &unsteadyAgent{whole: historytest.Raw(t, t.TempDir(), grants(n)), most: 3000, rng: rand.New(rand.NewPCG(3, 0))}
	a.grown.Store(int64(len(a.whole)))
	a.ended.Store(true)
	c := newCollector(t)
	if err := c.follow(t.Context(), processStream(a.host(t), "run1", 1)); err != nil {
		t.Fatal(err)
	}
	wantWhole(t, c, a.whole)
	c.view.Look(func(now watch.State) {
		if now.Acquired() != n {
			t.Errorf("%d grants seen live, of %d", now.Acquired(), n)
		}
	})
	if err := c.follow(t.Context(), processStream(a.host(t), "run1", 1)); err == nil {
		t.Error("a raw file was written twice")
	}
}

// When a run ends, the history that had been written by then is fetched, whatever the state of the stream.
func TestCollectorTakesTheRest(t *testing.T) {
	a := &unsteadyAgent{whole: historytest.Raw(t, t.TempDir(), grants(100))}
	half := int64(len(a.whole) / 2)
	a.grown.Store(half)
	c := newCollector(t)
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.follow(ctx, processStream(a.host(t), "run1", 1)); err != nil {
		t.Fatal(err)
	}
	if err := c.view.Wait(t.Context(), func(now watch.State) bool { return now.Acquired() > 40 }); err != nil {
		t.Fatal(err)
	}
	a.grown.Store(int64(len(a.whole)))
	cancel()
	wantWhole(t, c, a.whole)
}

// A history that cannot be read to its end is noted as received in part, with the reason.
func TestCollectorSaysWhatIsMissing(t *testing.T) {
	a := &unsteadyAgent{whole: historytest.Raw(t, t.TempDir(), grants(100)), most: 1, rng: rand.New(rand.NewPCG(3, 0))}
	a.grown.Store(int64(len(a.whole)))
	c := newCollector(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.follow(ctx, processStream(a.host(t), "run1", 1)); err != nil {
		t.Fatal(err)
	}
	received, err := c.wait()
	if err == nil || len(received) != 1 {
		t.Fatalf("%v, %v", received, err)
	}
	if e := received[0]; e.Kind != history.Fail || e.Received().File != "c1/process.hist" || e.Received().Detail == "" {
		t.Errorf("noted %v", e)
	}
}

func newCollector(t *testing.T) *collector {
	return &collector{dir: t.TempDir(), run: "a-1", clock: history.NewClock(), view: watch.NewView(watch.Config{})}
}

// wantWhole waits for the one stream to end. The file has a heading and what was sent, and its length is noted.
func wantWhole(t *testing.T, c *collector, want []byte) {
	t.Helper()
	received, err := c.wait()
	if err != nil || len(received) != 1 {
		t.Fatalf("%v, %v", received, err)
	}
	got, err := os.ReadFile(filepath.Join(rundir.HostDir(c.dir, "c1"), rundir.ProcessHistory(1)))
	if err != nil || !bytes.HasSuffix(got, want) {
		t.Fatalf("%d bytes arrived (%v), %d were sent", len(got), err, len(want))
	}
	events, rest, err := history.Decode(nil, got[:len(got)-len(want)], map[string]string{})
	if err != nil || len(rest) > 0 || len(events) != 1 ||
		events[0].Heading() != (history.Heading{Run: "a-1", File: "c1/process.hist"}) {
		t.Errorf("heading %v, %d bytes more, %v", events, len(rest), err)
	}
	if e := received[0]; e.Kind != history.OK ||
		e.Received() != (history.Received{File: "c1/process.hist", Bytes: int64(len(got))}) {
		t.Errorf("noted %v of %d bytes", e, len(got))
	}
}
