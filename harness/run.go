package harness

import (
	"context"
	"encoding/json"
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
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/workloads/client"
	"locklab/workloads/resource"
)

// ErrInterrupted is the cause of a context by which a user ends a run early.
var ErrInterrupted = errors.New("interrupted")

// run is one run on a stage, while it lasts.
type run struct {
	stage   *Stage
	sc      *scenario.Scenario
	dir     string // the run directory
	work    string // of this run's processes, on every host
	locks   []string
	rec     *history.Recorder
	live    *live
	collect *collector
	report  *reporter

	mu      sync.Mutex
	started map[*ensembles.Host]bool // hosts that run a process of this run

	stopAgents context.CancelFunc
}

// Run carries the scenario out and leaves a run directory with all raw files.
// Interrupting ctx stops the clients, heals every fault and keeps what there is,
// marked partial; the error then is ErrInterrupted. What went wrong otherwise is
// the error, and whatever was recorded up to then is in the directory too.
func (s *Stage) Run(ctx context.Context, sc *scenario.Scenario, dir string) (err error) {
	if sc.Foreign() && (s.foreign == nil || s.foreign.recipe != sc.Recipe) {
		return fmt.Errorf("%w: the lab's hosts have no %s", errNoDir, sc.Recipe)
	}
	if err := createDir(dir, sc); err != nil {
		return err
	}
	s.runs++
	r := &run{stage: s, sc: sc, dir: dir, work: fmt.Sprintf("run%d", s.runs), live: newLive(), started: map[*ensembles.Host]bool{}}
	for i := range sc.Locks {
		r.locks = append(r.locks, fmt.Sprintf("/run%d/lock%d", s.runs, i))
	}
	if err := r.begin(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.rec.Close()) }()
	agents, stopAgents := context.WithCancel(context.WithoutCancel(ctx))
	defer stopAgents()
	r.stopAgents = stopAgents
	r.report = newReporter(r.live, s.opts.Progress)
	r.collect = &collector{dir: filepath.Join(dir, hostsDir), live: r.live}

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

// begin writes what is known before anything happens.
func (r *run) begin() (err error) {
	base := r.stage.clock.Now()
	env := r.stage.env
	env.StartedUnixNs = time.Now().UnixNano()
	env.SessionTimeoutNs = int64(r.sc.Negotiated())
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

func (r *run) clientHosts() []*ensembles.Host {
	return r.hosts(func(name string) bool { return name != observerHost })
}

// workers are the hosts that run package client: clients and the observer.
func (r *run) workers() []*ensembles.Host { return r.hosts(func(string) bool { return true }) }

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
	readyCap = 60 * time.Second
	startIn  = 300 * time.Millisecond // from the go to the common start
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
	ready, cancel := context.WithTimeout(ctx, readyCap)
	defer cancel()
	if err := r.startProcesses(ready, agents); err != nil {
		return err
	}
	clock := r.stage.clock
	start := clock.Now() + int64(startIn)
	measure := start + int64(r.sc.Warmup)
	end := measure + int64(r.sc.Duration)
	if r.sc.Iterations > 0 {
		const never = int64(24 * time.Hour)
		end = start + never // clients end by themselves
	}
	for _, h := range r.clientHosts() {
		if _, err := h.Agent.Input(ctx, client.FormatGo(start, end)); err != nil {
			return err
		}
	}
	if err := r.phase(history.PhaseWarmup, start); err != nil {
		return err
	}
	var reporting sync.WaitGroup
	reporting.Go(func() { r.report.run(clock.Time(start)) })
	defer reporting.Wait()
	defer r.report.end()

	g, working := errgroup.WithContext(ctx)
	scheduled, stopSchedule := context.WithCancel(working)
	defer stopSchedule()
	g.Go(func() error {
		s := chaos.Schedule{Steps: r.steps(), Journal: r.rec, Clock: clock, InForce: r.report.setFaults}
		if err := s.Run(scheduled, clock.Time(measure)); err != nil && ctx.Err() == nil {
			// A fault that did not come off is in the history; the checks say what it means.
			r.stage.opts.Log.Warn("fault", "err", err)
		}
		return nil
	})
	g.Go(func() error { return r.phases(working, measure, end) })
	g.Go(func() error {
		// A fault that is still to come, or waits for clients to do something,
		// has nobody left to meet.
		defer stopSchedule()
		return r.awaitDone(working, end)
	})
	return g.Wait()
}

// snapshotLead is how long before the window the servers' counters are read: an
// answer of hundreds of lines holds a server up for tens of milliseconds, which the
// window is not to show. Costs are counted between the readings, not in the window.
const snapshotLead = 500 * time.Millisecond

// phases marks the window's opening and close, and reads the servers' counters
// before the one and after the other.
func (r *run) phases(ctx context.Context, measure, end int64) error {
	clock := r.stage.clock
	if !waitUntil(ctx, clock.Time(measure).Add(-min(snapshotLead, r.sc.Warmup/2))) {
		return nil // interrupted
	}
	if err := r.snapshot(ctx, metricsStart); err != nil {
		return err
	}
	if !waitUntil(ctx, clock.Time(measure)) {
		return nil
	}
	if err := r.phase(history.PhaseMeasure, measure); err != nil {
		return err
	}
	if r.sc.Iterations > 0 {
		if err := r.live.wait(ctx, r.allDone); err != nil {
			return nil // interrupted: the window stays open
		}
		end = clock.Now()
	} else if !waitUntil(ctx, clock.Time(end)) {
		return nil
	}
	return errors.Join(r.phase(history.PhaseDrain, end), r.snapshot(ctx, metricsEnd))
}

// snapshot saves the servers' counters.
func (r *run) snapshot(ctx context.Context, file string) error {
	metrics := r.stage.ensemble.Metrics(ctx)
	err := r.note(history.Event{Op: history.OpSnapshot, Detail: file})
	for name, m := range metrics {
		err = errors.Join(err, writeText(filepath.Join(r.dir, hostsDir, name, file), ensembles.FormatMetrics(m)))
	}
	return err
}

// allDone reports whether every client process has come to its end. r.live is locked.
func (r *run) allDone() bool {
	for _, h := range r.clientHosts() {
		if !r.live.done[h.Name] {
			return false
		}
	}
	return true
}

// awaitDone waits until all clients are done. A process that died is an error, as
// no scenario kills clients.
func (r *run) awaitDone(ctx context.Context, end int64) error {
	ctx, cancel := context.WithDeadline(ctx, r.stage.clock.Time(end).Add(lateCap))
	defer cancel()
	var died error
	err := r.live.wait(ctx, func() bool {
		for _, h := range r.workers() {
			if how, exited := r.live.exited[h.Name]; exited {
				died = fmt.Errorf("client process %s ended by itself: %s (its log is in %s)", h.Name, how, path.Join(hostsDir, h.Name, processLog))
			}
		}
		return died != nil || r.allDone()
	})
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

// startProcesses starts the resource, then the clients and the observer, and waits
// until all are connected.
func (r *run) startProcesses(ctx, streams context.Context) error {
	res := r.stage.lab.Host(resourceHost)
	if err := r.start(ctx, streams, res, "resource", resource.Config{Host: res.Name, Guard: r.sc.Guard}); err != nil {
		return err
	}
	if err := r.awaitReady(ctx, res); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	first := 0
	for i, h := range r.clientHosts() {
		cfg := r.clientConfig(h)
		cfg.Clients, cfg.First = r.sc.ClientsPerProcess()[i], first
		first += cfg.Clients
		g.Go(func() error { return r.start(gctx, streams, h, "client", cfg) })
	}
	if h := r.stage.lab.Host(observerHost); h != nil {
		cfg := r.clientConfig(h)
		cfg.Observe = true
		g.Go(func() error { return r.start(gctx, streams, h, "client", cfg) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return r.awaitReady(ctx, r.workers()...)
}

// configFile is the name of a process's configuration in its directory.
const configFile = "config.json"

func (r *run) start(ctx, streams context.Context, h *ensembles.Host, command string, config any) error {
	b, err := json.Marshal(config)
	if err != nil {
		return err
	}
	spec := agent.Spec{Argv: []string{"locklab", command, configFile}, Dir: r.work, Files: map[string]string{configFile: string(b)}}
	r.mu.Lock()
	r.started[h] = true // whether or not the answer comes
	r.mu.Unlock()
	if _, err := h.Agent.Start(ctx, spec); err != nil {
		return err
	}
	return r.collect.follow(streams, processStream(h, r.work))
}

func (r *run) clientConfig(h *ensembles.Host) client.Config {
	cfg := client.Config{Host: h.Name, Resource: r.resourceAddress().String(), Recipe: r.sc.Recipe, Locks: r.locks,
		SessionTimeout: r.sc.SessionTimeout, Hold: r.sc.Hold, Think: r.sc.Think, Iterations: r.sc.Iterations, Drain: r.sc.Drain, Seed: r.sc.Seed}
	if r.sc.Foreign() {
		cfg.Command, cfg.Classes = r.stage.foreign.argv, r.stage.foreign.classes
	}
	for _, s := range r.stage.ensemble.Servers {
		cfg.Servers = append(cfg.Servers, client.Server{Name: s.Name, Address: netip.AddrPortFrom(s.Address, agent.ClientPort).String()})
	}
	return cfg
}

// awaitReady waits until processes have said that they are ready.
func (r *run) awaitReady(ctx context.Context, hosts ...*ensembles.Host) error {
	for _, h := range hosts {
		var died error
		err := r.live.wait(ctx, func() bool {
			if how, exited := r.live.exited[h.Name]; exited {
				died = fmt.Errorf("process of %s ended: %s (its log is in %s)", h.Name, how, path.Join(hostsDir, h.Name, processLog))
			}
			return died != nil || r.live.ready[h.Name]
		})
		if err != nil {
			err = fmt.Errorf("wait for %s, of which %d clients are connected: %w", h.Name, r.live.connected(h.Name), err)
		}
		if err = errors.Join(err, died); err != nil {
			return err
		}
	}
	return nil
}

// finish stops all processes of the run and collects what they left. It is done
// for a run that broke off too.
func (r *run) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lateCap)
	defer cancel()
	errs := []error{r.restore(ctx)}
	for h := range r.started {
		if h.Role == ensembles.Client {
			_, _ = h.Agent.Input(ctx, client.CommandStop) // one that is not there needs no telling
		}
	}
	// Clients that are stopped early say goodbye; those of a whole run have.
	soft, cancelSoft := context.WithTimeout(ctx, stopCap)
	_ = r.live.wait(soft, func() bool {
		for _, h := range r.workers() {
			_, exited := r.live.exited[h.Name]
			if !r.live.done[h.Name] && !exited && r.live.ready[h.Name] {
				return false
			}
		}
		return true
	})
	cancelSoft()
	errs = append(errs, r.phase(history.PhaseCollect, 0))
	var g errgroup.Group
	for h := range r.started {
		g.Go(func() error { return r.stop(ctx, h) })
	}
	for _, h := range r.stage.ensemble.Servers {
		g.Go(func() error { return r.collect.fetch(ctx, h, ensembles.ServerLog, processLog) })
	}
	errs = append(errs, g.Wait())
	r.stopAgents()
	errs = append(errs, r.collect.wait())
	return errors.Join(errs...)
}

// restore undoes what is left of faults. A schedule heals all that it knows to
// have injected; an injection that was interrupted may have taken hold all the same.
func (r *run) restore(ctx context.Context) error {
	var g errgroup.Group
	for _, h := range r.stage.lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource) {
		g.Go(func() error {
			st, err := h.Agent.Status(ctx)
			if err != nil {
				return err
			}
			if st.State == history.ProcessStopped {
				_, err = h.Agent.Resume(ctx)
			}
			if len(st.Rules) > 0 {
				_, clearErr := h.Agent.Clear(ctx, "")
				err = errors.Join(err, clearErr)
			}
			return err
		})
	}
	return g.Wait()
}

// stop ends a process of the run and fetches its log.
func (r *run) stop(ctx context.Context, h *ensembles.Host) error {
	st, err := h.Agent.Status(ctx)
	if err != nil || st.State == "none" {
		return err
	}
	if st.State != history.ProcessExited {
		_, err = h.Agent.Stop(ctx)
	}
	return errors.Join(err, r.collect.fetch(ctx, h, path.Join(r.work, agent.LogFile), processLog))
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
