package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/fail"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/capacity"
)

const (
	// warmWindow is how long a window is by which servers are warmed up. The clients' own warm-up precedes it.
	warmWindow = 4 * time.Second
	// warmClients of one mutex use up the servers, or the machine, so that throughput shows what servers can do.
	warmClients = 64
)

var errWarmUp = fail.Violation.New("a violation while the servers were warmed up")

// warmUp loads fresh servers until their throughput no longer rises, by the test of a search for a limit. The
// optimising compiler of a JVM as in production takes many seconds of load, in which each figure would be the
// compiler's. The load is the same whatever the run's is, because one that leaves servers idle warms nothing. Only the
// record of a window that saw a violation is kept.
func (l *Labs) warmUp(ctx context.Context, stage *run.Stage, sc *scenario.Scenario) error {
	if sc.JVM != ensembles.JVMProduction || sc.Connect != "" || sc.Upgrades() || stage.WarmUp() != nil {
		return nil
	}
	var rates []float64
	for len(rates) < capacity.MostCold && !capacity.Steady(rates) {
		rate, err := warmWindowOn(ctx, stage, warmScenario(sc, cmp.Or(l.window, warmWindow)))
		if err != nil {
			return fmt.Errorf("warm up the servers: %w", err)
		}
		rates = append(rates, rate)
	}
	w := rundir.WarmUp{Windows: len(rates), Steady: capacity.Steady(rates)}
	l.Options.Log.Info("warmed up the servers", "windows", w.Windows, "steady", w.Steady)
	stage.SetWarmUp(w)
	return nil
}

// warmWindowOn carries out one window, and returns how many locks were acquired a second.
func warmWindowOn(ctx context.Context, stage *run.Stage, window *scenario.Scenario) (perS float64, err error) {
	base, err := os.MkdirTemp("", "locklab-warm-up-*")
	if err != nil {
		return 0, err
	}
	kept := false
	defer func() {
		if !kept {
			err = errors.Join(err, os.RemoveAll(base))
		}
	}()
	dir := filepath.Join(base, "run")
	if err := stage.Run(ctx, window, dir); err != nil {
		return 0, err
	}
	out, err := judge.Judge(dir)
	if err != nil {
		return 0, err
	}
	kept = slices.ContainsFunc(out.Report.Checks, func(v evidence.Verdict) bool { return v.Violation })
	if kept {
		return 0, fmt.Errorf("%w: %s; its record is in %s", errWarmUp, out.Result.Headline, dir)
	}
	if out.Result.Throughput.AcquiredPerS == nil || *out.Result.Throughput.AcquiredPerS == 0 {
		return 0, fmt.Errorf("no lock was acquired: %s", out.Result.Headline)
	}
	return *out.Result.Throughput.AcquiredPerS, nil
}

// warmScenario is a window of the load by which the servers of a scenario's lab are warmed up.
func warmScenario(sc *scenario.Scenario, length time.Duration) *scenario.Scenario {
	w := scenario.Defaults()
	w.CopyKeys(sc, run.LabKeys)
	w.Name, w.Seed, w.SessionTimeout, w.ClientProcesses = "warm-up", sc.Seed, sc.SessionTimeout, 1
	w.Clients, w.Section, w.Liveness = warmClients, scenario.SectionNone, 0
	w.Warmup, w.Duration = length/8, length
	return w
}
