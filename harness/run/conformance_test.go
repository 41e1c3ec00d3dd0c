package run

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
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/watch"
	"locklab/reports/result"
)

// A trial is a kind of fault with its keys.
type trial struct{ kind, keys string }

func (f trial) String() string { return f.kind + " " + strings.ReplaceAll(f.keys, ": ", "=") }

// entry returns the trial as an entry of a scenario's faults.
func (f trial) entry() string {
	lasts := ", for: 10s"
	if (chaos.Fault{Kind: f.kind}).Momentary() {
		lasts = ""
	}
	return fmt.Sprintf("\n- {kind: %s, %s, at: 1s%s}", f.kind, f.keys, lasts)
}

// fault returns the fault that a scenario with the trial has.
func (f trial) fault(t *testing.T) chaos.Fault {
	t.Helper()
	return load(t, proving+"faults:"+f.entry()).Faults[0]
}

// allTrials lists the trials in the order of the catalogue. A kind without a trial is a failure. A kind that leaves
// another lab behind has a test of its own.
func allTrials(t *testing.T) []trial {
	t.Helper()
	var all []trial
	for _, k := range chaos.Kinds() {
		if len(k.Examples) == 0 {
			t.Errorf("%s has no examples to try", k.Name)
		}
		if k.Stays {
			continue
		}
		for _, keys := range k.Examples {
			all = append(all, trial{k.Name, keys})
		}
	}
	return all
}

// proving is a scenario of which only the stage and the clients are used. Each client contends in a process of its
// own, and the lock is free now and then.
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

// A testbed is a lab whose clients use a lock all the time, with a run into which faults are injected.
type testbed struct {
	*run
	lacks   agent.Capabilities
	refused error // of a stage whose servers' clocks can be set; nil = they can
	ids     int
}

func openTestbed(t *testing.T) *testbed {
	t.Helper()
	labtest.Require(t)
	opts := Options{Binary: labtest.Binary(t), Log: labtest.Log(t)}
	g := &testbed{}
	// Only a scenario with such faults starts servers whose clocks can be set and clients with relays that can delay.
	var delays strings.Builder
	for _, example := range chaos.KindOf("latency").Examples[:2] { // the third is between servers
		delays.WriteString(trial{"latency", example}.entry())
	}
	clocks := trial{"clock-step", "target: zk2, by: 1h"}.entry()
	sc := load(t, proving+"faults:"+delays.String()+clocks)
	stage, err := OpenStage(t.Context(), sc, opts)
	if errors.Is(err, chaos.ErrUnsupported) {
		g.refused = err
		sc = load(t, proving+"faults:"+delays.String())
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
	if err := rundir.CreateDir(dir, sc, plan, result.Begun(sc)); err != nil {
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
func (g *testbed) work(t *testing.T) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(g.begin(t.Context()))
	streams, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	g.streams, g.stopStreams = streams, stop
	t.Cleanup(func() {
		if err := errors.Join(g.finish(context.WithoutCancel(t.Context()), false), g.rec.Close()); err != nil {
			t.Error(err)
		}
	})
	must(g.readClocks(t.Context()))
	must(g.followAgents(t.Context()))
	must(g.startProcesses(within(t, readyCap)))
	now := g.stage.clock.Now()
	g.window = window{now, now + int64(10*time.Hour)}
	for _, h := range g.clientHosts() {
		must(g.beginWork(t.Context(), h))
	}
}

// within returns a context that bounds a wait.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// The time that a schedule allows for each part of a fault.
const (
	trialInject = 30 * time.Second
	trialVerify = 10 * time.Second
	trialHealed = 60 * time.Second
	// trialLook is how long to look for an effect that is not expected.
	trialLook = 300 * time.Millisecond
)

// lacking returns a capability that the fault needs and this machine lacks; empty if there is none.
func (g *testbed) lacking(f chaos.Fault) string {
	for _, c := range f.Capabilities() {
		if g.lacks[c] != "" {
			return c
		}
	}
	return ""
}

// An injectedFault is a trial that was injected.
type injectedFault struct {
	id   string
	of   trial
	harm *chaos.Harm
}

// verified checks that the fault has its effect.
func (d injectedFault) verified(t *testing.T, when string) {
	t.Helper()
	if err := d.harm.Verify(within(t, trialVerify)); err != nil {
		t.Errorf("%s: %s is not in force: %v", when, d.of, err)
	}
}

// tryInject makes the fault and injects it.
func (g *testbed) tryInject(t *testing.T, f trial) (injectedFault, error) {
	t.Helper()
	g.ids++
	d := injectedFault{id: fmt.Sprintf("f%d", g.ids), of: f}
	ctx := within(t, trialInject)
	fault, err := g.faults.Injector(ctx, d.id, f.fault(t))
	if err == nil {
		d.harm, err = fault.Inject(ctx)
	}
	return d, err
}

// inject injects a fault, which must take effect.
func (g *testbed) inject(t *testing.T, f trial) injectedFault {
	t.Helper()
	before := g.stage.clock.Now()
	d, err := g.tryInject(t, f)
	if err != nil {
		if d.harm != nil && d.harm.Heal != nil {
			_, _ = d.harm.Heal(within(t, trialHealed))
		}
		t.Fatalf("%s: %v", f, err)
	}
	slack := int64(time.Microsecond) // two calibrations of one clock
	if g.severalClocks() {
		slack = int64(100 * time.Millisecond) // a run is unknown if a clock is known no better
	}
	if now := g.stage.clock.Now(); d.harm.At < before-slack || d.harm.At > now+slack {
		t.Errorf("%s was injected at %d, between %d and %d", f, d.harm.At, before, now)
	}
	d.verified(t, "injected")
	return d
}

// severalClocks reports whether a host of the lab has another clock than this process.
func (g *testbed) severalClocks() bool {
	return slices.ContainsFunc(g.stage.lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource),
		func(h *ensembles.Host) bool { return h.Agent.ToRun(0) != 0 })
}

// heal heals a fault. A fault that takes its own time, or is over at once, ends by itself.
func (g *testbed) heal(t *testing.T, d injectedFault, limit time.Duration) error {
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

// over checks that a fault is over and that its verification says so. A momentary fault has ended something for good,
// so it is still verified; another fault is not.
func (g *testbed) over(t *testing.T, d injectedFault) {
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

// nothingLeft checks that no rule, stall, clock offset or stopped process is left, that the ensemble is complete, and
// that all clients contend.
func (g *testbed) nothingLeft(t *testing.T) {
	t.Helper()
	ctx := within(t, trialHealed)
	left, err := g.undoFaults(ctx)
	if err == nil {
		err = g.stage.ensemble.AwaitReady(ctx)
	}
	if err != nil || left != nil {
		t.Errorf("left over: %q, %v", left, err)
	}
	g.endRevivedSessions(t)
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
	for _, h := range g.clientHosts() {
		if st, err := h.Agent.Status(ctx); err != nil || st.State == history.ProcessExited {
			t.Errorf("%s is %s, %v", h.Name, st.State, err)
		}
	}
	g.view.Owe(g.sc.ClientNames())
	var waiting int
	err = g.view.Wait(ctx, func(state watch.State) bool {
		waiting = state.Owed()
		return waiting == 0
	})
	if err != nil {
		t.Errorf("not granted any more to %d clients: %v", waiting, err)
	}
}

// Every kind of fault that a scenario can name takes effect in a real lab whose clients use a lock. Control
// connections answer all the time, the fault is healed, and nothing of it is left. A fault that this machine cannot
// do is refused with what it lacks.
func TestFaultsConform(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	all := allTrials(t)
	g := openTestbed(t)
	tried := map[string]bool{} // the kinds of which an example was tried
	for _, f := range all {
		ok := t.Run(f.String(), func(t *testing.T) {
			if tried[f.kind] {
				suite.Nightly(t, "another example of its kind is tried every time")
			}
			tried[f.kind] = true
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
	t.Run("pairs", func(t *testing.T) {
		suite.Nightly(t, "each kind is tried alone every time")
		g.pairs(t, 6)
	})
}

// alone tries one fault by itself.
func (g *testbed) alone(t *testing.T, f trial) {
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
	t.Logf(
		"healed %v after injection, over %v later, all at work again %v later",
		healed.Sub(injected),
		over.Sub(healed),
		time.Since(over),
	)
}

// unsupported checks that a fault that this machine cannot do says so and has no effect.
func (g *testbed) unsupported(t *testing.T, f trial, lacks string) {
	if lacks == agent.CapFaketime {
		// The stage itself is refused.
		if !errors.Is(g.refused, chaos.ErrUnsupported) || !strings.Contains(g.refused.Error(), lacks) {
			t.Errorf("a stage with clocks that can be set: %v", g.refused)
		}
		return
	}
	d, err := g.tryInject(t, f)
	if d.harm != nil || !errors.Is(err, chaos.ErrUnsupported) ||
		!strings.Contains(err.Error(), lacks) && !strings.Contains(err.Error(), g.lacks[lacks]) {
		t.Errorf("harm %v, error %v", d.harm, err)
	}
	t.Log(err)
	g.nothingLeft(t)
}
