package harness

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/chaos"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// trials are the ways in which each kind of fault is tried: the keys of its entry in a scenario, but for its
// times.
var trials = map[string][]string{
	scenario.FaultPause:           {"target: c1", "target: zk1"},
	scenario.FaultKill:            {"target: c1", "target: zk1", "target: leader", "target: resource"},
	scenario.FaultStop:            {"target: c1", "target: zk1"},
	scenario.FaultRestart:         {"target: c1", "target: zk1", "target: leader"},
	scenario.FaultCrashLoop:       {"target: c1", "target: zk1"},
	scenario.FaultRollingRestart:  {"target: all"},
	scenario.FaultPartition:       {"target: c1, from: servers", "target: zk1, from: servers", "target: leader, from: servers, shape: halves", "target: zk1, from: clients, way: in, verdict: reject"},
	scenario.FaultLoss:            {"target: c1, from: servers, loss: 0.3", "target: zk1, from: servers, loss: 0.2"},
	scenario.FaultBandwidth:       {"target: c1, from: servers, bandwidth: 100KiB", "target: zk1, from: clients, bandwidth: 100KiB"},
	scenario.FaultLatency:         {"target: c1, from: servers, latency: 100ms, jitter: 30ms", "target: zk1, from: clients, latency: 100ms", "target: zk1, from: servers, latency: 50ms"},
	scenario.FaultReset:           {"target: c1, from: servers", "target: zk1, from: servers", "target: holder-server, from: clients"},
	scenario.FaultExpireSession:   {"target: c1"},
	scenario.FaultMoveClient:      {"target: c1"},
	scenario.FaultMute:            {"target: zk1"},
	scenario.FaultDeleteNode:      {"target: c1"},
	scenario.FaultDeleteParent:    {"target: all"},
	scenario.FaultForeignChildren: {"target: all"},
	scenario.FaultSlowDisk:        {"target: zk1"},
	scenario.FaultClockStep:       {"target: zk1, by: 1h"},
}

// A trial is one way of a kind.
type trial struct{ kind, keys string }

func (f trial) String() string { return f.kind + " " + strings.ReplaceAll(f.keys, ": ", "=") }

// entry is the trial's in a scenario's faults.
func (f trial) entry() string {
	lasts := ", for: 10s"
	if (scenario.Fault{Kind: f.kind}).Momentary() {
		lasts = ""
	}
	return fmt.Sprintf("\n- {kind: %s, %s, at: 1s%s}", f.kind, f.keys, lasts)
}

// fault is what the scenario's reader makes of it.
func (f trial) fault(t *testing.T) scenario.Fault {
	t.Helper()
	return load(t, proving+"faults:"+f.entry()).Faults[0]
}

// allTrials lists them in the order of the catalogue, so that a kind that nobody tries is a failure.
func allTrials(t *testing.T) []trial {
	t.Helper()
	var all []trial
	for _, k := range scenario.FaultKinds() {
		if len(trials[k.Name]) == 0 {
			t.Errorf("%s is in the catalogue, and nobody tries it", k.Name)
		}
		for _, keys := range trials[k.Name] {
			all = append(all, trial{k.Name, keys})
		}
	}
	return all
}

// proving is a scenario of which only the stage and the clients are made; each contends in a process of its own, and the lock
// is idle now and then.
const proving = `
clients: 3
client-processes: 3
hold: 20ms
think: 250ms
duration: 10m
session-timeout: 2s
tick: 200ms
storage: tmpfs
seed: 7
`

// A ground is where faults are tried: a lab whose clients use a lock all the time, and the run by which the engine
// makes faults.
type ground struct {
	*run
	lacks   agent.Capabilities
	refused error // of a stage whose servers' clocks can be set; nil = they can
	ids     int
}

func openGround(t *testing.T) *ground {
	t.Helper()
	labtest.Require(t)
	opts := Options{Binary: labtest.Binary(t), Log: labtest.Log(t)}
	g := &ground{}
	// Servers are started with clocks that can be set, and clients with relays that can delay, only where a fault is to.
	delays := trial{scenario.FaultLatency, trials[scenario.FaultLatency][0]}.entry()
	clocks := trial{scenario.FaultClockStep, "target: zk2, by: 1h"}.entry()
	sc := load(t, proving+"faults:"+delays+clocks)
	stage, err := OpenStage(t.Context(), sc, opts)
	if errors.Is(err, chaos.ErrUnsupported) {
		g.refused = err
		sc = load(t, proving+"faults:"+delays)
		stage, err = OpenStage(t.Context(), sc, opts)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := filepath.Join(t.ArtifactDir(), "run")
	plan := sc.Plan(nil)
	if err := createDir(dir, sc, plan); err != nil {
		t.Fatal(err)
	}
	showLogs(t, dir)
	g.run = stage.newRun(sc, plan, dir, ownBinary)
	if g.lacks, err = stage.ensemble.Servers[0].Agent.Capabilities(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.work(t)
	return g
}

// work begins the run, whose clients work until the test is over.
func (g *ground) work(t *testing.T) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(g.begin())
	agents, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	g.streams, g.stopAgents = agents, stop
	t.Cleanup(func() {
		if err := errors.Join(g.finish(context.WithoutCancel(t.Context())), g.rec.Close()); err != nil {
			t.Error(err)
		}
	})
	must(g.followAgents(t.Context(), agents))
	must(g.startProcesses(within(t, readyCap), agents))
	now := g.stage.clock.Now()
	g.window = window{now, now + int64(10*time.Hour)}
	for _, h := range g.clientHosts() {
		must(g.tellGo(t.Context(), h))
	}
}

// within bounds a wait.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// What a schedule allows each part of a fault.
const (
	trialInject = 30 * time.Second
	trialVerify = 10 * time.Second
	trialHealed = 60 * time.Second
	// A look for what is not expected.
	trialLook = 300 * time.Millisecond
)

// lacking is what a fault needs that there is not here; empty = it can be done.
func (g *ground) lacking(f scenario.Fault) string {
	for _, k := range scenario.FaultKinds() {
		if k.Name != f.Kind {
			continue
		}
		needs := []string{k.Capability}
		if k.CapabilityFor != nil {
			needs = append(needs, k.CapabilityFor(f))
		}
		for _, c := range needs {
			if g.lacks[c] != "" {
				return c
			}
		}
	}
	return ""
}

// A done fault is one that was injected.
type done struct {
	id   string
	of   trial
	harm *chaos.Harm
}

// verified looks for the effect.
func (d done) verified(t *testing.T, when string) {
	t.Helper()
	if err := d.harm.Verify(within(t, trialVerify)); err != nil {
		t.Errorf("%s: %s is not in force: %v", when, d.of, err)
	}
}

// make has the engine make the fault, and injects it.
func (g *ground) make(t *testing.T, f trial) (done, error) {
	t.Helper()
	g.ids++
	d := done{id: fmt.Sprintf("f%d", g.ids), of: f}
	ctx := within(t, trialInject)
	fault, err := g.fault(ctx, d.id, f.fault(t))
	if err == nil {
		d.harm, err = fault.Inject(ctx)
	}
	return d, err
}

// inject does harm, which must be there.
func (g *ground) inject(t *testing.T, f trial) done {
	t.Helper()
	before := g.stage.clock.Now()
	d, err := g.make(t, f)
	if err != nil {
		if d.harm != nil && d.harm.Heal != nil {
			_, _ = d.harm.Heal(within(t, trialHealed))
		}
		t.Fatalf("%s: %v", f, err)
	}
	const slack = int64(time.Microsecond) // two calibrations of one clock
	if now := g.stage.clock.Now(); d.harm.At < before-slack || d.harm.At > now+slack {
		t.Errorf("%s was injected at %d, between %d and %d", f, d.harm.At, before, now)
	}
	d.verified(t, "injected")
	return d
}

// heal ends harm. What takes its own time, or is over at once, ends by itself.
func (g *ground) heal(t *testing.T, d done, limit time.Duration) error {
	t.Helper()
	if d.harm.Over != nil {
		if err := d.harm.Over(within(t, limit)); err != nil {
			return err
		}
	}
	if d.harm.Heal == nil {
		return nil
	}
	at, err := d.harm.Heal(within(t, limit))
	if err == nil && at <= d.harm.At {
		err = fmt.Errorf("healed at %d, harmed at %d", at, d.harm.At)
	}
	return err
}

// over holds that harm has passed, and that looking for it says so: what is only undone, and not done, by healing is
// not found any more, and what has been ended stays so.
func (g *ground) over(t *testing.T, d done) {
	t.Helper()
	if err := d.harm.VerifyHealed(within(t, trialHealed)); err != nil {
		t.Errorf("%s is not over: %v", d.of, err)
	}
	if d.of.fault(t).Momentary() {
		d.verified(t, "afterwards")
	} else if d.harm.Verify(within(t, trialLook)) == nil {
		t.Errorf("%s is still there, or its verification cannot fail", d.of)
	}
}

// nothingLeft holds that no rule, stall, offset or stopped process is left, the ensemble is whole, and all clients
// contend.
func (g *ground) nothingLeft(t *testing.T) {
	t.Helper()
	ctx := within(t, trialHealed)
	left, err := g.restore(ctx)
	if err == nil {
		err = g.stage.ensemble.AwaitReady(ctx)
	}
	if err != nil || left != nil {
		t.Errorf("left over: %q, %v", left, err)
	}
	g.exorcise(t)
	for _, path := range g.locks {
		answer, err := g.stage.ensemble.Servers[0].Agent.Nodes(ctx, agent.NodeRequest{Op: agent.NodesList, Path: path})
		if err != nil {
			t.Error(err)
		}
		for _, n := range answer.Node.Children {
			if n.Session == 0 {
				t.Errorf("left over: %s", n.Path)
			}
		}
	}
	waits := map[string]bool{}
	for _, h := range g.clientHosts() {
		waits[h.Name] = true
		if st, err := h.Agent.Status(ctx); err != nil || st.State == history.ProcessExited {
			t.Errorf("%s is %s, %v", h.Name, st.State, err)
		}
	}
	now := g.stage.clock.Now()
	err = g.live.wait(ctx, func() bool {
		for _, h := range g.live.holds[g.locks[0]] {
			if h.from > now {
				delete(waits, hostOf(h.client))
			}
		}
		return len(waits) == 0
	})
	if err != nil {
		t.Errorf("not granted any more to %v: %v", waits, err)
	}
}

// Every kind of fault that a scenario can name, made as the engine makes it, on a real lab whose clients use a lock: it
// takes effect, control connections answer all the while, it is healed, and nothing is left of it. What
// this machine cannot do is said to be that, with what it lacks.
func TestFaultsConform(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	all := allTrials(t)
	for kind := range trials {
		if !slices.ContainsFunc(scenario.FaultKinds(), func(k scenario.FaultKind) bool { return k.Name == kind }) {
			t.Errorf("%s is tried, and not in the catalogue", kind)
		}
	}
	g := openGround(t)
	for _, f := range all {
		ok := t.Run(f.String(), func(t *testing.T) {
			if lacks := g.lacking(f.fault(t)); lacks != "" {
				g.unsupported(t, f, lacks)
				return
			}
			g.alone(t, f)
		})
		if !ok && t.Context().Err() != nil {
			return
		}
	}
	g.pairs(t, 6)
}

// alone tries one fault by itself.
func (g *ground) alone(t *testing.T, f trial) {
	stop := labtest.WatchControl(t, g.stage.lab)
	defer stop()
	d := g.inject(t, f)
	injected := time.Now()
	if !f.fault(t).Momentary() && d.harm.VerifyHealed(within(t, trialLook)) == nil {
		t.Error("it is over before it was healed")
	}
	if err := g.heal(t, d, trialHealed); err != nil {
		t.Error(err)
	}
	healed := time.Now()
	g.over(t, d)
	if d.harm.Heal != nil { // once more changes nothing
		if _, err := d.harm.Heal(within(t, trialHealed)); err != nil {
			t.Errorf("healed again: %v", err)
		}
	}
	over := time.Now()
	g.nothingLeft(t)
	t.Logf("healed %v after injection, over %v later, all at work again %v later", healed.Sub(injected), over.Sub(healed), time.Since(over))
}

// unsupported holds that a fault that cannot be done says so, and does nothing.
func (g *ground) unsupported(t *testing.T, f trial, lacks string) {
	if lacks == agent.CapFaketime {
		// The stage is refused already.
		if !errors.Is(g.refused, chaos.ErrUnsupported) || !strings.Contains(g.refused.Error(), lacks) {
			t.Errorf("a stage with clocks that can be set: %v", g.refused)
		}
		return
	}
	d, err := g.make(t, f)
	if d.harm != nil || !errors.Is(err, chaos.ErrUnsupported) || !strings.Contains(err.Error(), lacks) {
		t.Errorf("harm %v, error %v", d.harm, err)
	}
	t.Log(err)
	g.nothingLeft(t)
}
