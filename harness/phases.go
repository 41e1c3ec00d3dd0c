package harness

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/harness/history"
)

// snapshotLead is how long before the window the servers' counters are read: an
// answer of hundreds of lines holds a server up for tens of milliseconds, which the
// window is not to show. Costs are counted between the readings, not in the window.
const snapshotLead = 500 * time.Millisecond

// phases marks the window's opening and close, and reads the servers' counters
// before the one and after the other. Faults are over when healed says so.
func (r *run) phases(ctx context.Context, measure, end int64, healed <-chan calm) error {
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
	if r.sc.LivenessPhase() == 0 {
		r.live.close(end)
		return errors.Join(r.phase(history.PhaseDrain, end), r.snapshot(ctx, metricsEnd))
	}
	var reading sync.WaitGroup
	var readErr error
	reading.Go(func() { readErr = r.snapshot(ctx, metricsEnd) })
	last, ok, err := r.workOn(ctx, end, healed)
	reading.Wait()
	if err = errors.Join(err, readErr); err != nil || !ok {
		return err
	}
	return r.phase(history.PhaseDrain, last)
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
