package client

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/recipes"
	"locklab/reports/result"
	"locklab/workloads"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// timing is how long each step of the stand-in takes, every time.
type timing struct {
	create  time.Duration // acquire called → in the queue
	notify  time.Duration // first in the queue → acquire returns
	free    time.Duration // release called → the next is first
	confirm time.Duration // the next is first → release returns
	// The stall begins at stallAt, counted from the start of the run. While it lasts nothing takes effect; what would
	// have is late.
	stallAt, stall time.Duration
}

// effect returns when a request that is due at a time takes effect. Requests that a stall holds up take effect after
// it, in the order in which they were due, a thousand times as fast.
func (tm timing) effect(at time.Duration) time.Duration {
	if into := at - tm.stallAt; tm.stall > 0 && into >= 0 && into < tm.stall {
		return tm.stallAt + tm.stall + into/1000
	}
	return at
}

// A standIn is a fair mutex on virtual time whose timing is known exactly.
type standIn struct {
	timing
	start time.Time

	mu     sync.Mutex
	busy   bool
	queue  []chan struct{}
	grants int64
}

// takes waits until a request that takes d has taken effect.
func (s *standIn) takes(d time.Duration) {
	now := time.Since(s.start)
	time.Sleep(s.effect(now+d) - now)
}

// standInSource is a client's session with the stand-in.
type standInSource struct {
	fakeSource
	*standIn
	c lock.Client
}

func (s standInSource) Acquire(_ context.Context, w lock.Want) (*lock.Grant, error) {
	s.takes(s.create)
	s.mu.Lock()
	var turn chan struct{}
	if s.busy {
		turn = make(chan struct{})
		s.queue = append(s.queue, turn)
	}
	s.busy = true
	s.c.Queued(w.Paths[0], len(s.queue))
	s.mu.Unlock()
	if turn != nil {
		<-turn
	}
	time.Sleep(s.notify)
	s.mu.Lock()
	s.grants++
	token := s.grants
	s.mu.Unlock()
	h, _ := recipes.NewHold(
		recipes.HoldConfig{Parent: context.Background(), Session: 1, Token: token, Release: s.release},
	)
	return lock.Single(w.Paths[0], w.Mode, h), nil
}

func (s *standIn) release(context.Context) error {
	s.takes(s.free)
	s.mu.Lock()
	if len(s.queue) > 0 {
		close(s.queue[0])
		s.queue = s.queue[1:]
	} else {
		s.busy = false
	}
	s.mu.Unlock()
	time.Sleep(s.confirm)
	return nil
}

// A simulation is a run against the stand-in, on virtual time.
type simulation struct {
	timing
	cfg            config
	warmup, window time.Duration
	// held makes the dispatcher wait for its client, as if the whole process were stopped.
	held bool
}

// run carries out the simulation: the client process's own loop, recorder and limits, the history as it is on disk,
// and the report. It must be called in a synctest bubble.
func (sim simulation) run(t *testing.T) result.Result {
	t.Helper()
	dir := t.TempDir()
	clock := history.NewClock()
	recorder := func(name string) *history.Recorder {
		rec, err := history.NewRecorder(dir+"/"+name, name, clock)
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	rec, others := recorder(sim.cfg.Host), recorder("r1")
	res := resource.New(true, others)
	start := clock.Now() + int64(time.Second)
	s := &standIn{timing: sim.timing, start: clock.Time(start)}
	p := &process{
		cfg:      sim.cfg,
		rec:      rec,
		resource: direct{res},
		window:   make(chan window, 1),
		stopped:  make(chan struct{}),
		open: func(_ context.Context, c lock.Client) (lock.Source, error) {
			return standInSource{standIn: s, c: c}, nil
		},
	}
	measure := start + int64(sim.warmup)
	end := measure + int64(sim.window)
	for _, e := range []history.Event{
		{At: start, Op: history.OpBegin, Value: start},
		{At: start, Op: history.OpPhase, Detail: string(history.PhaseWarmup)},
		{At: measure, Op: history.OpPhase, Detail: string(history.PhaseMeasure)},
		{At: end, Op: history.OpPhase, Detail: string(history.PhaseDrain)},
	} {
		if err := others.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if sim.held {
		sim.contendHeld(t, p, window{start, end})
	} else {
		p.window <- window{start, end}
		if err := p.contend(t.Context(), make([]*client, sim.cfg.Clients)); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []*history.Recorder{rec, others} {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	events, records, err := history.ReadRaw(dir, nil)
	if err != nil || slices.ContainsFunc(records, func(r history.Record) bool { return r.Torn > 0 }) {
		t.Fatal(err, records)
	}
	run := rundir.Run{Scenario: &scenario.Scenario{Load: workloads.Load{Arrivals: workloads.Closed}}, Events: events,
		Acquisitions: history.Acquisitions(events)}
	if sim.cfg.open() {
		run.Scenario.Arrivals = sim.cfg.Arrivals
	}
	return result.NewInput(&run, check.Report{}).Result
}

// contendHeld lets one client contend, and makes the dispatcher wait for it.
func (sim simulation) contendHeld(t *testing.T, p *process, w window) {
	t.Helper()
	l := p.limits(t.Context(), w)
	defer l.release()
	q := &queue{due: make(chan int64), slots: make(chan struct{}, 1<<20),
		busy: make(chan struct{}, 1)}
	c := newClient(p, 0)
	if err := c.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	both.Go(func() { p.dispatch(l.begin, w, q) })
	both.Go(func() {
		if err := c.serve(l, q); err != nil {
			t.Error(err)
		}
	})
	both.Wait()
}

// simulated returns the configuration of clients that share one lock.
func simulated(clients int) config {
	cfg := valid()
	cfg.Clients, cfg.AllClients, cfg.Locks, cfg.Seed = clients, clients, []string{"/l"}, 42
	return cfg
}

// openLoop turns a configuration into an open loop.
func openLoop(cfg config, kind string, inFlight int, warmup, window time.Duration, rates ...float64) config {
	cfg.Arrivals, cfg.MaxInFlight = kind, inFlight
	cfg.Rates = workloads.RatePlan{Rates: rates}.Pacer(warmup, window)
	return cfg
}

func arrivalsOf(cfg config) *workloads.Arrivals {
	return workloads.NewArrivals(cfg.Arrivals, cfg.Rates, cfg.Seed, cfg.First, cfg.Clients, cfg.AllClients)
}

func clientRand(cfg config, n int) *rand.Rand { return rand.New(rand.NewPCG(cfg.Seed, uint64(n))) }
