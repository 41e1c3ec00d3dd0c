package simulate

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/txnlog"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
	"locklab/recipes/zktest/sim"
	"locklab/reports/result"
	"locklab/workloads"
	"locklab/workloads/resource"
)

// Scenario carries out a scenario on a simulated ensemble and leaves a run directory with the raw files that a run on
// real servers leaves, apart from those that only real machines have. [Refuse] says which scenarios cannot be carried
// out. If ctx ends, the run ends early, and the error is the cause.
//
// Everything follows from the scenario with its seed, but for the directory's environment.
func Scenario(ctx context.Context, sc *scenario.Scenario, dir string) (err error) {
	schedule := sc.Plan(nil)
	if err := rundir.CreateDir(dir, sc, schedule, result.Begun(sc)); err != nil {
		return err
	}
	defer rundir.Occupy(dir)()
	p := planOf(sc)
	sim.Run(p.draws, func(w *sim.World) {
		s := &simulation{plan: p, w: w, stood: map[string]time.Duration{}}
		clock := history.ClockAt(time.Now(), int64(time.Second)) // no event has the time 0
		view := watch.NewView(watch.Config{Clock: clock, Standstill: evidence.Standstill(sc.Tick)})
		s.scene = &scene{Scenario: sc, schedule: schedule, clock: clock, view: view, w: w,
			chooser: sc.LockChoice.Of(sc.Locks), armed: map[[2]string]string{}, harness: w.Host(rundir.HarnessHost)}
		for i := range sc.Locks {
			s.scene.locks = append(s.scene.locks, fmt.Sprintf("/locks/l%d", i+1))
		}
		s.scene.out = s.scene.harness.Outlet(s.scene.collect)
		s.rec = &record{w: w, base: clock.Now(), view: view}
		err = s.carryOut(ctx, dir)
	})
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// carryOut goes through the phases of a run.
func (s *simulation) carryOut(ctx context.Context, dir string) error {
	sc, w := s.scene, s.w
	s.rec.harness(history.Begins(s.rec.base, sc.Name, s.id()))
	s.rec.harness(history.PhaseBegins(0, history.PhaseEnsemble))
	s.readClock()
	s.servers = zktest.NewEnsemble(w, zktest.EnsembleConfig{Servers: sc.Servers, Tick: s.tick, SyncLimit: sc.SyncLimit,
		Delay: s.delay, Disk: s.disk, Reap: s.reap})
	s.resource = resource.New(s.guard.Fences, s.rec)
	s.rec.harness(history.PhaseBegins(0, history.PhaseConnect))
	sc.start = 2*time.Second + time.Duration(sc.Clients)*20*time.Millisecond
	measure := sc.start + sc.Warmup
	end := measure + sc.Duration
	sc.closes.Store(int64(end + 24*time.Hour))
	for i, name := range sc.ClientNames() {
		c := s.newClient(i, name)
		s.clients = append(s.clients, c)
		s.running.Add(1)
		go c.run(500*time.Millisecond + time.Duration(i)*20*time.Millisecond)
	}
	s.until(ctx, sc.start)
	for i, n := range sc.ClientsPerProcess() {
		s.rec.at(w.Now(), fmt.Sprintf("c%d", i+1), history.Ready(n))
	}
	s.rec.harness(history.PhaseBegins(0, history.PhaseWarmup))
	var over atomic.Bool
	go func() {
		defer over.Store(true)
		s.inject(measure, end)
	}()
	s.until(ctx, measure)
	s.rec.harness(history.PhaseBegins(0, history.PhaseMeasure))
	s.until(ctx, end)
	s.recover(ctx, &over)
	s.rec.harness(history.PhaseBegins(0, history.PhaseDrain))
	sc.closes.Store(int64(w.Now()))
	s.finish(ctx)
	return s.write(ctx, dir)
}

// id is the run's.
func (s *simulation) id() string { return fmt.Sprintf("sim-%d", s.seed) }

// until carries out what happens until an instant, or until ctx ends.
func (s *simulation) until(ctx context.Context, at time.Duration) {
	for s.w.Now() < at && ctx.Err() == nil {
		s.w.Until(min(at, s.w.Now()+100*time.Millisecond))
		if s.w.Now()/time.Second != (s.w.Now()-100*time.Millisecond)/time.Second {
			s.readClock()
		}
	}
}

// await carries out what happens until a condition is met, for so long at most, or until ctx ends.
func (s *simulation) await(ctx context.Context, most time.Duration, met func() bool) {
	for until := s.w.Now() + most; !met() && s.w.Now() < until && ctx.Err() == nil; {
		s.until(ctx, s.w.Now()+10*time.Millisecond)
	}
}

// readClock records the servers' wall clock beside the run's clock.
func (s *simulation) readClock() {
	s.rec.harness(history.WallClock{Wall: epoch*1e6 + int64(s.w.Now())}.Event(0))
}

// inject carries out the schedule of faults within the measured window.
func (s *simulation) inject(measure, end time.Duration) {
	sc := s.scene
	if len(sc.schedule.Steps) == 0 {
		return
	}
	var hosts, clients []*ensembles.Host
	for _, h := range s.servers.Servers() {
		hosts = append(hosts, &ensembles.Host{Name: h.Name, Role: ensembles.Server})
	}
	for i := range sc.ClientProcesses {
		clients = append(clients, &ensembles.Host{Name: fmt.Sprintf("c%d", i+1), Role: ensembles.Client})
	}
	run := &chaos.Run{Setting: sc.FaultSetting(), Seed: s.seed, Lab: ensembles.Unstarted(append(clients, hosts...)...),
		Ensemble: &ensembles.Ensemble{Servers: hosts}, Clients: clients, Lock: lockPath, Clock: sc.clock, Journal: journal{s},
		Witness: sc.view, Roles: sc.view, Sessions: sc.view, Superseded: sc.view.Superseded, Away: sc.view.Absent,
		Simulated: s.injector,
		Leads:     func(context.Context) (*ensembles.Host, error) { return s.leads(hosts) }}
	at := func(d time.Duration) time.Time { return sc.clock.Time(s.rec.base + int64(d)) }
	window, cancel := context.WithDeadline(context.Background(), at(end))
	defer cancel()
	schedule := chaos.Schedule{Steps: run.Steps(sc.schedule), Journal: journal{s}, Clock: sc.clock}
	_ = schedule.Run(window, at(measure)) // the history has the faults that failed
}

// recover lets clients go on after the measured window until all faults are over and each client has had its lock, as
// far as the scenario wants that.
func (s *simulation) recover(ctx context.Context, over *atomic.Bool) {
	sc := s.scene
	faulty := len(sc.schedule.Steps) > 0
	longest := sc.LivenessPhase()
	if faulty {
		if longest > 0 {
			s.rec.harness(history.PhaseBegins(0, history.PhaseHeal))
		}
		for !over.Load() && ctx.Err() == nil {
			s.until(ctx, s.w.Now()+10*time.Millisecond)
		}
		s.rec.harness(history.FinalHealed(sc.view.Owe(sc.ClientNames()), history.OK, ""))
	}
	if longest == 0 {
		return
	}
	s.rec.harness(history.PhaseBegins(0, history.PhaseLiveness))
	from := s.w.Now()
	if !faulty || sc.Liveness != scenario.LivenessAuto || !sc.DemandsProgress(sc.schedule) {
		s.until(ctx, from+longest)
		return
	}
	s.until(ctx, from+min(longest, evidence.StallBound(s.timeout, s.tick)+time.Second))
	s.await(ctx, from+longest-s.w.Now(), func() (all bool) {
		sc.view.Look(func(now watch.State) { all = now.Owed() == 0 })
		return all
	})
}

// finish waits until all clients have ended, and has the servers commit a last write, which follows all of theirs.
func (s *simulation) finish(ctx context.Context) {
	ended := func() bool { return s.running.Load() == 0 }
	if s.scene.Drain == workloads.DrainFinish {
		s.await(ctx, workloads.DrainCap, ended)
	}
	ctx = context.WithoutCancel(ctx)
	for i, c := range s.clients {
		s.w.After(time.Duration(i+1)*time.Millisecond, c.Host, c.cancel)
	}
	s.await(ctx, 10*time.Minute, ended) // what a lock or a session has left to do may take some timeouts
	for i := range s.scene.ClientProcesses {
		s.rec.at(s.w.Now(), fmt.Sprintf("c%d", i+1), history.Done())
	}
	s.rec.harness(history.PhaseBegins(0, history.PhaseCollect))
	var written atomic.Bool
	go func() {
		defer written.Store(true)
		s.lastWrite()
	}()
	s.await(ctx, time.Minute, written.Load)
	s.until(ctx, s.w.Now()+5*s.tick)
}

// lastWrite creates the znode that servers have before their logs are copied.
func (s *simulation) lastWrite() {
	cfg := s.servers.Config(s.scene.harness)
	cfg.Timeout = s.timeout
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := zksession.Connect(ctx, cfg)
	if err != nil {
		return // the logs are doubtful then, and the checks say so
	}
	_, _ = session.Create(ctx, rundir.Barrier+"sim", nil, zksession.Ephemeral)
	_ = session.Close(ctx)
}

// write writes the raw files of the run.
func (s *simulation) write(ctx context.Context, dir string) error {
	s.readClock()
	env := rundir.NewEnv()
	env.Format, env.Run, env.Lab = rundir.Format, s.id(), ensembles.LabSim
	env.ZooKeeper = fmt.Sprintf("simulated, model %d", Model)
	env.StartedUnixNs, env.SessionTimeoutNs = epoch*1e6, int64(s.scene.Negotiated())
	if err := rundir.WriteEnv(dir, env); err != nil {
		return err
	}
	byHost := map[string]map[string][]history.Event{}
	for _, h := range rundir.Hosts(s.scene.Scenario) {
		byHost[h] = map[string][]history.Event{rundir.AgentHistory: nil}
		if s.serverNamed(h) == nil {
			byHost[h][rundir.ProcessHistory(1)] = nil
		}
	}
	rec, err := rundir.NewRecorder(dir, s.scene.clock)
	if err != nil {
		return err
	}
	defer rec.Close()
	for _, e := range s.rec.close() {
		switch {
		case e.Process == rundir.HarnessHost:
			if err := rec.Record(e); err != nil {
				return err
			}
		case e.Op == history.OpProcess:
			byHost[e.Process][rundir.AgentHistory] = append(byHost[e.Process][rundir.AgentHistory], e)
		default:
			byHost[e.Process][rundir.ProcessHistory(1)] = append(byHost[e.Process][rundir.ProcessHistory(1)], e)
		}
	}
	for _, h := range rundir.Hosts(s.scene.Scenario) {
		for _, file := range slices.Sorted(maps.Keys(byHost[h])) {
			if err := s.writeHost(rec, dir, h, file, byHost[h][file]); err != nil {
				return err
			}
		}
	}
	for _, h := range s.servers.Servers() {
		if err := s.writeLog(rec, dir, h); err != nil {
			return err
		}
	}
	contents, err := rundir.Contents(dir)
	if err != nil {
		return err
	}
	for _, c := range contents {
		if err := rec.Record(c.Event()); err != nil {
			return err
		}
	}
	how := history.EndComplete
	if ctx.Err() != nil {
		how = history.EndInterrupt
	}
	if err := rec.Record(history.Ends(how, "")); err != nil {
		return err
	}
	return rec.End()
}

// writeHost writes the history of a host's agent, or of its process.
func (s *simulation) writeHost(rec *history.Recorder, dir, host, file string, events []history.Event) error {
	f, err := rundir.CreateHostFile(dir, host, file)
	if err != nil {
		return err
	}
	defer f.Close()
	name := path.Join(host, file)
	if err := history.WriteRecord(f, history.Heading{Run: s.id(), File: name}, events); err != nil {
		return err
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return rec.Record(history.Received{File: name, Bytes: st.Size()}.Event(history.OK))
}

// writeLog writes the transaction log of a server.
func (s *simulation) writeLog(rec *history.Recorder, dir string, server *sim.Host) error {
	var txns []txnlog.Txn
	for _, t := range s.servers.Logged(server) {
		txns = append(txns, logged(&t))
	}
	if len(txns) == 0 {
		return nil
	}
	logs := rundir.TxnLogDir(dir, server.Name)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	b := txnlog.Encode(txns)
	if err := os.WriteFile(filepath.Join(logs, fmt.Sprintf("log.%x", txns[0].Zxid)), b, 0o644); err != nil {
		return err
	}
	last := slices.MaxFunc(txns, func(a, b txnlog.Txn) int { return int(a.Zxid - b.Zxid) }).Zxid
	return rec.Record(history.ServerLog{Server: server.Name, LastZxid: last, Bytes: int64(len(b))}.Event(history.OK))
}
