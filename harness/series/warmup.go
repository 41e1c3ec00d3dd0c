package series

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/fail"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/capacity"
)

// warmWindow is how long a window is by which servers are warmed up. The clients' own warm-up precedes it.
const warmWindow = 4 * time.Second

var errWarmUp = fail.Violation.New("a violation while the servers were warmed up")

// warmUp loads fresh servers as the job's scenario does, without its faults, until their throughput no longer rises, by
// the test of a search for a limit. The optimising compiler of a JVM as in production takes many seconds of load, in
// which each figure would be the compiler's. Only a window that saw a violation is kept, beside the job's directory.
func (l *Labs) warmUp(ctx context.Context, stage *run.Stage, job Job) (err error) {
	sc := job.Scenario
	if sc.JVM != ensembles.JVMProduction || sc.Connect != "" || sc.Upgrades() || sc.Iterations > 0 || stage.Warmed() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(job.Dir), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(job.Dir), "warm-up-*")
	if err != nil {
		return err
	}
	violated := false
	defer func() {
		if !violated {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	var rates []float64
	for len(rates) < capacity.MostCold && !capacity.Steady(rates) {
		window := filepath.Join(dir, fmt.Sprint(len(rates)+1))
		if err := stage.Run(ctx, warmWindowOf(sc), window); err != nil {
			return fmt.Errorf("warm up the servers: %w", err)
		}
		out, err := judge.Judge(window)
		if err != nil {
			return err
		}
		violated = slices.ContainsFunc(out.Report.Checks, func(v evidence.Verdict) bool { return v.Violation })
		if violated {
			return fmt.Errorf("%w: %s; its record is in %s", errWarmUp, out.Result.Headline, window)
		}
		rate := 0.0
		if perS := out.Result.Throughput.AcquiredPerS; perS != nil {
			rate = *perS
		}
		rates = append(rates, rate)
	}
	w := rundir.WarmUp{Windows: len(rates), Steady: capacity.Steady(rates)}
	l.Options.Log.Info("warmed up the servers", "windows", w.Windows, "steady", w.Steady)
	stage.WarmedUp(w)
	return nil
}

// warmWindowOf returns a window by which servers are warmed up for a scenario.
func warmWindowOf(sc *scenario.Scenario) *scenario.Scenario {
	w := sc.Clone()
	w.Schedule, w.Faults, w.Sometimes, w.Thresholds, w.Liveness = chaos.ScheduleExplicit, nil, nil, nil, 0
	w.Warmup, w.Duration = warmWindow/8, min(warmWindow, sc.Duration)
	return w
}
