package harness

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/hiccups"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// ErrInterrupted is the cause of a context by which a user ends a run early.
var ErrInterrupted = errors.New("interrupted")

// run is one run on a stage, while it lasts.
type run struct {
	stage   *Stage
	sc      *scenario.Scenario
	plan    scenario.Plan
	dir     string // the run directory
	client  string // the program of the client processes, as in [agent.Spec]
	work    string // of this run's processes, on every host
	locks   []string
	rec     *history.Recorder
	live    *live
	shares  chaos.Shares
	slots   chaos.Slots
	collect *collector
	report  *reporter
	// reconnects tells whether clients have come back after faults.
	reconnects chaos.Reconnects
	// firstZxid is the last transaction before the run, of the server that lagged most; 0 if none said.
	firstZxid int64

	mu      sync.Mutex
	started map[*ensembles.Host]bool // hosts that run a process of this run
	origins map[*ensembles.Host]*origin
	// relays are where client processes connect to instead of a server, by which their packets can be held back.
	relays map[hostLink]netip.AddrPort

	streams    context.Context // ends when no more is to be collected
	window     window
	stopAgents context.CancelFunc
}

// Run carries the scenario out and leaves a run directory with all raw files.
// Interrupting ctx stops the clients, heals every fault and keeps what there is,
// marked partial; the error then is ErrInterrupted. What went wrong otherwise is
// the error, and whatever was recorded up to then is in the directory too.
func (s *Stage) Run(ctx context.Context, sc *scenario.Scenario, dir string) error {
	return s.run(ctx, sc, dir, ownBinary)
}

func (s *Stage) run(ctx context.Context, sc *scenario.Scenario, dir, clients string) (err error) {
	for i := range sc.ClientProcesses {
		if r := sc.RecipeOf(i); r.Foreign && (i >= len(s.foreign) || s.foreign[i] == nil || s.foreign[i].recipe != r.Name) {
			return fmt.Errorf("%w: the lab's host c%d has no %s", errNoDir, i+1, r.Name)
		}
	}
	if sc.SequenceLeft > 0 && s.runs > 0 {
		return fmt.Errorf("%w: sequence-left is of the first run on an ensemble", errNoDir)
	}
	plan := sc.Plan(s.opts.Lacking)
	if err := createDir(dir, sc, plan); err != nil {
		return err
	}
	r := s.newRun(sc, plan, dir, clients)
	if err := r.begin(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.rec.Close()) }()
	agents, stopAgents := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAgents()
	r.streams, r.stopAgents = agents, stopAgents

	runErr := r.carryOut(ctx, agents)
	// What follows must happen however the run went.
	after := context.WithoutCancel(ctx)
	endErr := r.finish(after)
	how := history.EndComplete
	switch {
	case ctx.Err() != nil:
		how = history.EndInterrupt
		runErr = context.Cause(ctx) // what broke because of that is no news
	case runErr != nil:
		how = history.EndBroken
	}
	return errors.Join(runErr, endErr, r.note(history.Event{Op: history.OpEnd, Detail: how}))
}

// newRun is the stage's next run, before anything of it has happened.
func (s *Stage) newRun(sc *scenario.Scenario, plan scenario.Plan, dir, clients string) *run {
	s.runs++
	r := &run{stage: s, sc: sc, plan: plan, dir: dir, client: clients, work: fmt.Sprintf("run%d", s.runs), live: newLive(), started: map[*ensembles.Host]bool{}, origins: map[*ensembles.Host]*origin{}, relays: map[hostLink]netip.AddrPort{}}
	for i := range sc.Locks {
		r.locks = append(r.locks, lockPath(s.runs, i))
	}
	r.live.clock, r.live.kept = s.clock, sc.Guard == scenario.GuardZKMulti
	r.live.lists = sc.Section == scenario.SectionAppend
	r.shares.Clock = s.clock
	r.reconnects.Away = r.live.absent
	r.report = newReporter(r.live, s.opts.Progress)
	r.report.every = s.opts.ProgressEvery
	r.report.plan = Progress{Scenario: sc.Name, Clients: sc.Clients, Locks: sc.Locks}
	if sc.Iterations == 0 {
		r.report.plan.Planned = sc.Warmup + sc.Duration + sc.LivenessPhase()
	}
	r.collect = &collector{dir: filepath.Join(dir, hostsDir), live: r.live}
	return r
}

// lockPath is where the i-th lock of a stage's n-th run is.
func lockPath(n, i int) string { return fmt.Sprintf("/run%d/lock%d", n, i) }

// begin writes what is known before anything happens.
func (r *run) begin() (err error) {
	base := r.stage.clock.Now()
	env := r.stage.env
	env.StartedUnixNs = time.Now().UnixNano()
	env.SessionTimeoutNs = int64(r.sc.Negotiated())
	if r.client != ownBinary {
		env.ClientBinary = r.stage.other
	}
	if err := writeJSON(filepath.Join(r.dir, envFile), env); err != nil {
		return err
	}
	r.rec, err = history.NewRecorder(filepath.Join(r.dir, hostsDir, harnessHost), harnessHost, r.stage.clock)
	if err != nil {
		return err
	}
	r.live.base = base
	return errors.Join(r.note(history.Event{At: base, Op: history.OpBegin, Value: base, Detail: r.sc.Name}),
		r.note(history.Event{At: base, Op: history.OpPhase, Detail: history.PhaseEnsemble}))
}

func (r *run) note(e history.Event) error { return r.rec.Record(e) }

func (r *run) phase(name string, at int64) error {
	r.report.setPhase(name)
	return r.note(history.Event{At: at, Op: history.OpPhase, Detail: name})
}

// clientHosts are the first of the lab's, as many as the scenario has client processes: a lab
// that runs share may have more.
func (r *run) clientHosts() []*ensembles.Host {
	all := r.hosts(func(name string) bool { return name != observerHost })
	return all[:min(len(all), r.sc.ClientProcesses)]
}

// workers are the hosts that run package client: clients and the observer.
func (r *run) workers() []*ensembles.Host {
	return append(r.clientHosts(), r.hosts(func(name string) bool { return name == observerHost })...)
}

func (r *run) hosts(want func(name string) bool) []*ensembles.Host {
	var hs []*ensembles.Host
	for _, h := range r.stage.lab.Hosts(ensembles.Client) {
		if want(h.Name) {
			hs = append(hs, h)
		}
	}
	return hs
}

// Caps on what takes milliseconds or seconds when all is well.
const (
	// readyCap is what processes may take to be ready, and readyPerClient what each of all
	// clients adds: a session costs the servers a write, and the machine its handshake.
	readyCap       = 60 * time.Second
	readyPerClient = 20 * time.Millisecond
	startIn        = 300 * time.Millisecond // from the go to the common start
	// lateCap is how long after its window and drain a client may take to end.
	lateCap = 60 * time.Second
	stopCap = 20 * time.Second
)

// carryOut starts the processes, lets the clients work while the schedule runs,
// and waits until they are done.
func (r *run) carryOut(ctx, agents context.Context) error {
	if err := r.followAgents(ctx, agents); err != nil {
		return err
	}
	if err := r.phase(history.PhaseConnect, 0); err != nil {
		return err
	}
	if err := r.noteServers(ctx); err != nil {
		return err
	}
	var reporting sync.WaitGroup
	reporting.Go(r.report.run)
	defer reporting.Wait()
	defer r.report.end()
	ready, cancel := context.WithTimeout(ctx, readyCap+time.Duration(r.sc.Clients)*readyPerClient)
	defer cancel()
	if err := r.startProcesses(ready, agents); err != nil {
		return err
	}
	clock := r.stage.clock
	start := clock.Now() + int64(startIn)
	measure := start + int64(r.sc.Warmup)
	end := measure + int64(r.sc.Duration)
	if r.sc.Iterations > 0 {
		end = start + int64(never) // clients end by themselves
	}
	r.window = window{start, r.toldEnd(end)}
	for _, h := range r.clientHosts() {
		if err := r.tellGo(ctx, h); err != nil {
			return err
		}
	}
	if err := r.phase(history.PhaseWarmup, start); err != nil {
		return err
	}
	r.report.setStart(clock.Time(start))

	clocks, stopClocks := context.WithCancel(ctx)
	defer stopClocks()
	g, working := errgroup.WithContext(ctx)
	g.Go(func() error { return r.compareClocks(clocks) })
	healed := make(chan calm, 1)
	scheduled, stopSchedule := context.WithCancel(working)
	defer stopSchedule()
	g.Go(func() error {
		defer r.live.settle()
		return r.harm(scheduled, measure, end, healed)
	})
	g.Go(func() error {
		// Ours are measured too, and told apart: what reads the servers' counters and draws the display is here.
		metered, stopMeter := context.WithCancel(working)
		var metering error
		var meter sync.WaitGroup
		meter.Go(func() { metering = hiccups.Meter(metered, r.rec, measure) })
		err := r.phases(working, measure, end, healed)
		stopMeter()
		meter.Wait()
		return errors.Join(err, metering)
	})
	g.Go(func() error {
		// A fault that is still to come, or waits for clients to do something,
		// has nobody left to meet.
		defer stopSchedule()
		defer stopClocks()
		return r.awaitDone(working)
	})
	return g.Wait()
}

// allDone reports whether every client process has come to its end. r.live is locked.
func (r *run) allDone() bool {
	for _, h := range r.clientHosts() {
		if !r.live.atEnd(h.Name) {
			return false
		}
	}
	return true
}

// awaitDone waits until all clients are done. A process that died is an error, unless a fault
// saw to it: it is to be started again until the schedule is over, and not waited for then.
func (r *run) awaitDone(ctx context.Context) error {
	var died error
	over := func() bool {
		for _, h := range r.workers() {
			if how, exited := r.live.exited[h.Name]; exited && !r.live.expected[h.Name] {
				died = fmt.Errorf("client process %s ended by itself: %s (its log is in %s)", h.Name, how, path.Join(hostsDir, h.Name, processLog))
			}
		}
		return died != nil || r.allDone()
	}
	var closes int64 // which is known late
	if err := r.live.wait(ctx, func() bool { closes = r.live.closes; return closes != 0 || over() }); err != nil {
		return err
	}
	if closes == 0 {
		return died
	}
	ctx, cancel := context.WithDeadline(ctx, r.stage.clock.Time(closes).Add(lateCap))
	defer cancel()
	err := r.live.wait(ctx, over)
	if err == nil {
		return died
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("clients are not done %v after the window closed", lateCap)
	}
	return err
}

// followAgents streams what the agents record from now on.
func (r *run) followAgents(ctx, agents context.Context) error {
	for _, h := range r.stage.lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource) {
		s, err := agentStream(ctx, h)
		if err != nil {
			return err
		}
		if err := r.collect.follow(agents, s); err != nil {
			return err
		}
	}
	return nil
}

// waitUntil waits for a time and reports whether ctx still goes on.
func waitUntil(ctx context.Context, at time.Time) bool {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
