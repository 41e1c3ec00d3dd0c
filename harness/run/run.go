package run

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/fail"
	"locklab/harness/hiccups"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/reports/result"
	"locklab/workloads/guard"
)

// ErrInterrupted is the cause of a context by which a user ends a run early.
var ErrInterrupted = fail.Interrupted.New("interrupted")

// A run is one run on a stage, while it lasts.
type run struct {
	stage   *Stage
	sc      *scenario.Scenario
	plan    chaos.Plan
	dir     string   // the run directory
	id      string   // the run's, which no other run has
	client  string   // the program of the client processes, as in [agent.Spec]
	work    string   // the directory of the run's first processes on every host
	locks   []string // paths
	rec     *history.Recorder
	view    *watch.View
	service *serviceWatch
	collect *collector
	report  *watch.Reporter
	faults  *chaos.Run
	window  window
	// firstZxid is the last transaction before the run of the server that lagged most; 0 if no server answered.
	firstZxid int64
	// streams ends when the collector is to stop following histories.
	streams     context.Context
	stopStreams context.CancelFunc
	following   sync.WaitGroup // of hosts' clocks, until streams ends
	detours     map[link]detour

	mu        sync.Mutex
	processes map[*ensembles.Host]*hostProcess // those that were started, or may have been
	relays    map[link]netip.AddrPort
}

// Run carries out the scenario and leaves a run directory with all raw files. If ctx ends, it stops the clients, heals
// every fault and keeps what was recorded, marked as partial; the error is then the cause of ctx. If a run breaks off
// for another reason, what was recorded is in the directory too.
func (s *Stage) Run(ctx context.Context, sc *scenario.Scenario, dir string) error {
	return s.runFrom(ctx, sc, dir, ownBinary)
}

func (s *Stage) runFrom(ctx context.Context, sc *scenario.Scenario, dir, clients string) (err error) {
	for i := range sc.ClientProcesses {
		r := sc.RecipeOf(i)
		if lock := s.foreign.of(sc.Recipe, i); r.Foreign && (lock == nil || lock.recipe != r.Name) {
			return fmt.Errorf("%w: the lab's host c%d has no %s", rundir.ErrNoDir, i+1, r.Name)
		}
	}
	if s.runs > 0 && (sc.Upgrades() || s.madeFor.Upgrades()) {
		return fmt.Errorf("%w: an upgrade works only in the one run on an ensemble", rundir.ErrNoDir)
	}
	plan := sc.Plan(s.opts.Lacking)
	if err := rundir.CreateDir(dir, sc, plan, result.Begun(sc)); err != nil {
		return err
	}
	defer rundir.Occupy(dir)()
	r := s.newRun(sc, plan, dir, clients)
	if err := r.begin(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.rec.Close()) }()
	r.streams, r.stopStreams = context.WithCancel(context.WithoutCancel(ctx))
	defer r.stopStreams()

	bearable, stopPings := r.spare(ctx)
	runErr := r.carryOut(bearable)
	strain := stopPings()
	endErr := r.finish(context.WithoutCancel(ctx), errors.Is(runErr, errUnserved)) // however the run went
	how, why := history.EndComplete, ""
	switch {
	// Errors that follow from the end of a context say nothing new.
	case ctx.Err() != nil:
		how = history.EndInterrupt
		runErr = context.Cause(ctx)
	case strain != nil:
		how, why = history.EndSpared, strain.Error()
		runErr = strain
	case errors.Is(runErr, errUnserved):
		how, why, runErr = history.EndUnserved, errUnserved.Error(), nil // a finding, which the checks judge
	case runErr != nil:
		how, runErr = history.EndBroken, r.lastWords(runErr)
	}
	endErr = errors.Join(endErr, r.noteContents())
	if err := r.note(history.Ends(how, why)); err != nil {
		return errors.Join(runErr, endErr, err)
	}
	return errors.Join(runErr, endErr, r.rec.End())
}

// newRun returns the stage's next run, before anything of it has happened.
func (s *Stage) newRun(sc *scenario.Scenario, plan chaos.Plan, dir, clients string) *run {
	s.runs++
	r := &run{stage: s, sc: sc, plan: plan, dir: dir, client: clients, work: fmt.Sprintf("run%d", s.runs),
		id:        fmt.Sprintf("%s-%d", s.env.LabID, s.runs),
		processes: map[*ensembles.Host]*hostProcess{}, relays: map[link]netip.AddrPort{}}
	for i := range sc.Locks {
		r.locks = append(r.locks, s.root()+lockPath(s.runs, i))
	}
	r.view = watch.NewView(watch.Config{Clock: s.clock, KeptInZooKeeper: sc.Guard == guard.ZKMulti,
		Lists: sc.Section == scenario.SectionAppend, Standstill: evidence.Standstill(sc.Tick)})
	planned := watch.Progress{Scenario: sc.Name, Clients: sc.Clients, Locks: sc.Locks}
	if sc.Iterations == 0 {
		planned.Planned = sc.Warmup + sc.Duration + sc.LivenessPhase()
	}
	r.service = &serviceWatch{run: r, striking: map[string]bool{}}
	r.report = watch.NewReporter(watch.ReporterConfig{View: r.view, Report: s.opts.Progress,
		Every: s.opts.ProgressEvery, Plan: planned})
	r.collect = &collector{dir: dir, run: r.id, clock: s.clock, view: r.view}
	if !sc.HasFaults() { // nothing waits for what a client does, so the histories need not cost processor time
		r.collect.every = 100 * time.Millisecond
	}
	return r
}

// lockPath returns the path of the i-th lock of a stage's n-th run, below the stage's root.
func lockPath(n, i int) string { return fmt.Sprintf("/run%d/lock%d", n, i) }

// begin writes the environment of the run and opens the harness's own history.
func (r *run) begin(ctx context.Context) (err error) {
	if err := r.findDetours(ctx); err != nil {
		return err
	}
	base := r.stage.clock.Now()
	env := r.stage.env
	env.Format, env.Run = rundir.Format, r.id
	env.Lock = foreignVersion(r.stage.foreign[r.sc.Recipe])
	env.StartedUnixNs = time.Now().UnixNano()
	env.SessionTimeoutNs = int64(r.sc.Negotiated())
	env.Relayed = r.relayed()
	if r.client != ownBinary {
		env.ClientBinary = r.stage.other
	}
	if err := rundir.WriteEnv(r.dir, env); err != nil {
		return err
	}
	r.rec, err = rundir.NewRecorder(r.dir, r.stage.clock)
	if err != nil {
		return err
	}
	r.faults = r.faultRun()
	return errors.Join(r.note(history.Begins(base, r.sc.Name, r.id)),
		r.note(history.PhaseBegins(base, history.PhaseEnsemble)))
}

// noteContents records what the raw files contain, all of which are complete by now.
func (r *run) noteContents() error {
	contents, err := rundir.Contents(r.dir)
	for _, c := range contents {
		err = errors.Join(err, r.note(c.Event()))
	}
	return err
}

func (r *run) note(e history.Event) error { return r.rec.Record(e) }

// phase records that a phase of the run began, and shows it.
func (r *run) phase(name history.Phase, at int64) error {
	r.report.SetPhase(name)
	return r.note(history.PhaseBegins(at, name))
}

// clientHosts returns the hosts of the scenario's client processes. A lab that runs share may have more.
func (r *run) clientHosts() []*ensembles.Host {
	all := slices.DeleteFunc(r.stage.lab.Hosts(ensembles.Client),
		func(h *ensembles.Host) bool { return h.Name == rundir.ObserverHost })
	return all[:min(len(all), r.sc.ClientProcesses)]
}

func (r *run) workers() []*ensembles.Host {
	all := r.clientHosts()
	if h := r.stage.lab.Host(rundir.ObserverHost); h != nil {
		all = append(all, h)
	}
	return all
}

// Caps on steps that take milliseconds or seconds as a rule.
const (
	// readyCap is how long processes may take to be ready. Each client adds readyPerClient, because a session costs the
	// servers a write and the machine a handshake.
	readyCap       = 60 * time.Second
	readyPerClient = 20 * time.Millisecond
	// startIn is how long before their common start the first client process is told of it. Each of the others, which
	// are told one after the other, adds startPerProcess. A process that is told too late starts late.
	startIn         = 100 * time.Millisecond
	startPerProcess = 10 * time.Millisecond
	// lateCap is how long after its window and drain a client may take to end.
	lateCap = 60 * time.Second
	stopCap = 20 * time.Second
)

// carryOut starts the processes, lets the clients work while the schedule runs, and waits until they are done.
func (r *run) carryOut(ctx context.Context) error {
	if err := r.readClocks(ctx); err != nil {
		return err
	}
	if err := r.followAgents(ctx); err != nil {
		return err
	}
	if err := r.phase(history.PhaseConnect, 0); err != nil {
		return err
	}
	if err := r.noteLastZxids(ctx); err != nil {
		return err
	}
	var reporting sync.WaitGroup
	reporting.Go(r.report.Run)
	defer reporting.Wait()
	defer r.report.End()
	ready, cancel := context.WithTimeout(ctx, readyCap+time.Duration(r.sc.Clients)*readyPerClient)
	defer cancel()
	if err := r.startProcesses(ready); err != nil {
		return err
	}
	clock := r.stage.clock
	start := clock.Now() + int64(startIn+time.Duration(len(r.clientHosts()))*startPerProcess)
	measure := start + int64(r.sc.Warmup)
	end := measure + int64(r.sc.Duration)
	if r.sc.Iterations > 0 {
		end = start + int64(never) // clients end by themselves
	}
	r.window = window{start, r.firstEnd(end)}
	for _, h := range r.clientHosts() {
		if err := r.beginWork(ctx, h); err != nil {
			return err
		}
	}
	if err := r.phase(history.PhaseWarmup, start); err != nil {
		return err
	}
	r.report.SetStart(clock.Time(start))

	clocks, stopClocks := context.WithCancel(ctx)
	defer stopClocks()
	g, working := errgroup.WithContext(ctx)
	g.Go(func() error { return r.compareClocks(clocks) })
	healed := make(chan recovery, 1)
	scheduled, stopSchedule := context.WithCancel(working)
	defer stopSchedule()
	served, stopWatch := context.WithCancel(working)
	defer stopWatch()
	var needed sync.WaitGroup // by those that wait for the servers
	needed.Add(2)
	go func() { needed.Wait(); stopWatch() }()
	g.Go(func() error { return r.service.watch(served) })
	g.Go(func() error {
		defer needed.Done()
		defer r.view.Settle()
		return r.injectFaults(scheduled, working.Done(), measure, end, healed)
	})
	g.Go(func() error {
		// The hiccups of the harness are measured too, because it reads the servers' counters and draws the display.
		metered, stopMeter := context.WithCancel(working)
		var metering error
		var meter sync.WaitGroup
		meter.Go(func() { metering = hiccups.Meter(metered, heardRecorder{r.rec, r.view}, measure, end) })
		err := r.phases(working, measure, end, healed)
		stopMeter()
		meter.Wait()
		return errors.Join(err, metering)
	})
	g.Go(func() error {
		// Once all clients are done, faults that are still to come or wait for a client have no target left.
		defer needed.Done()
		defer stopSchedule()
		defer stopClocks()
		return r.awaitDone(working)
	})
	return g.Wait()
}

// allFinished reports whether every client process has nothing more to do.
func (r *run) allFinished(now watch.State) bool {
	for _, h := range r.clientHosts() {
		if !now.Finished(h.Name) {
			return false
		}
	}
	return true
}

// awaitDone waits until all clients are done. A process that ended by itself is an error. A process that a fault ended
// may be started again until the schedule is over; after that it is not waited for.
func (r *run) awaitDone(ctx context.Context) error {
	var died error
	done := func(now watch.State) bool {
		for _, h := range r.workers() {
			if how, exited := now.Exited(h.Name); exited && !now.MayExit(h.Name) {
				died = r.ended(h, how)
			}
		}
		return died != nil || r.allFinished(now)
	}
	var closes int64 // is known only once the window closes or is about to
	err := r.view.Wait(ctx, func(now watch.State) bool {
		closes = now.Closes()
		return closes != 0 || done(now)
	})
	if err != nil {
		return err
	}
	if closes == 0 {
		return died
	}
	var names []string
	for _, h := range r.clientHosts() {
		names = append(names, h.Name)
	}
	if err := awaitRecorded(ctx, r.view, r.stage.clock, closes+int64(lateCap), names, done); err != nil {
		return err
	}
	return died
}

// awaitRecorded waits for a condition until a time, in ns of CLOCK_MONOTONIC. It goes on while the record of an
// unfinished client process has not reached that time but keeps arriving, because what it waits for may be in the rest.
func awaitRecorded(
	ctx context.Context, view *watch.View, clock history.Clock, until int64, names []string, done func(watch.State) bool,
) error {
	for at := until; ; at = clock.Now() + int64(time.Second) {
		limited, cancel := context.WithDeadline(ctx, clock.Time(at))
		err := view.Wait(limited, done)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		since := clock.Now() - int64(silenceCap)
		var unfinished []string
		arriving, met := false, false
		view.Look(func(now watch.State) {
			met = done(now) // it may have come true at the very end of the time
			for _, name := range names {
				if !now.Finished(name) {
					unfinished = append(unfinished, name)
					arriving = arriving || now.Behind(name, until, since)
				}
			}
		})
		if met {
			return nil
		}
		if !arriving {
			return fmt.Errorf("%w: clients of %s are not done %v after the window closed: a call of their lock does not "+
				"return, or their processes stand still", ErrBrokeOff, strings.Join(unfinished, ", "), lateCap)
		}
	}
}

// followAgents collects what the agents record from now on.
func (r *run) followAgents(ctx context.Context) error {
	for _, h := range r.stage.lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource) {
		s, err := agentStream(ctx, h)
		if err != nil {
			return err
		}
		if err := r.collect.follow(r.streams, s); err != nil {
			return err
		}
	}
	return nil
}

// waitUntil waits for a time and reports whether it came before ctx ended.
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
