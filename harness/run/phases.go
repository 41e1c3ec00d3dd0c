package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"locklab/harness/history"
	"locklab/harness/rundir"
)

// snapshotLead is how long before the window the servers' counters are read. Answering with hundreds of lines delays a
// server by tens of milliseconds, which must not show in the window. Costs are counted between the two readings.
const snapshotLead = 500 * time.Millisecond

// phases records when the measured window opens and closes, and reads the servers' counters before and after it. The
// recovery from faults arrives on healed.
func (r *run) phases(ctx context.Context, measure, end int64, healed <-chan recovery) error {
	clock := r.stage.clock
	if !waitUntil(ctx, clock.Time(measure).Add(-min(snapshotLead, r.sc.Warmup/2))) {
		return nil // interrupted
	}
	if err := r.snapshot(ctx, rundir.SnapshotStart); err != nil {
		return err
	}
	if !waitUntil(ctx, clock.Time(measure)) {
		return nil
	}
	if err := r.phase(history.PhaseMeasure, measure); err != nil {
		return err
	}
	if r.sc.Iterations > 0 {
		if err := r.view.Wait(ctx, r.allFinished); err != nil {
			return nil // interrupted, so the window never closes
		}
		end = clock.Now()
	} else if !waitUntil(ctx, clock.Time(end)) {
		return nil
	}
	if r.sc.LivenessPhase() == 0 {
		r.view.Close(end)
		return errors.Join(r.phase(history.PhaseDrain, end), r.snapshot(ctx, rundir.SnapshotEnd))
	}
	var reading sync.WaitGroup
	var readErr error
	reading.Go(func() { readErr = r.snapshot(ctx, rundir.SnapshotEnd) })
	last, ok, err := r.livenessPhase(ctx, end, healed)
	reading.Wait()
	if err = errors.Join(err, readErr); err != nil || !ok {
		return err
	}
	return r.phase(history.PhaseDrain, last)
}

// snapshot reads and saves the servers' counters.
func (r *run) snapshot(ctx context.Context, s rundir.Snapshot) error {
	counters := r.stage.ensemble.Metrics(ctx)
	return errors.Join(r.note(history.SnapshotOf(string(s))), rundir.WriteCounters(r.dir, s, counters))
}
