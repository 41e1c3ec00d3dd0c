package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/harness/history"
	"locklab/harness/rundir"
)

// snapshotLead is how long before the window the servers' counters are read, if the warm-up is twice as long. Answering
// with hundreds of lines delays a server by tens of milliseconds. Near the limit, a second is not enough to serve what
// has queued up meanwhile, and that must not show in the window. Costs are counted between the two readings.
const snapshotLead = 2 * time.Second

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

// snapshot reads and saves the servers' counters, and how much of the processors each host's process has used.
func (r *run) snapshot(ctx context.Context, s rundir.Snapshot) error {
	var reading sync.WaitGroup
	var counters map[string]map[string]float64
	var read history.Event
	reading.Go(func() {
		begun := r.stage.clock.Now()
		counters = r.stage.ensemble.Metrics(ctx)
		read = history.SnapshotOf(string(s), begun, r.stage.clock.Now())
	})
	err := r.noteProcessorTimes(ctx)
	reading.Wait()
	return errors.Join(err, r.note(read), rundir.WriteCounters(r.dir, s, counters))
}

// noteProcessorTimes records how much of the processors everything has used that takes part in the run, and the machine
// in all. A host that does not answer has no process that could be asked about; the record lacks it.
func (r *run) noteProcessorTimes(ctx context.Context) error {
	hosts := slices.Concat(r.workers(), r.stage.lab.Hosts(ensembles.Resource), r.stage.ensemble.Servers)
	times := make([][]history.Event, len(hosts)+1)
	var g errgroup.Group
	for i, h := range hosts {
		g.Go(func() error {
			t, err := h.Agent.ProcessorTime(ctx)
			if err != nil {
				return nil
			}
			now := r.stage.clock.Now()
			times[i] = append(times[i], history.ProcessorTime{Host: history.AgentOf(h.Name), Used: t.Agent}.Event(now))
			if t.Away {
				t.PID = history.Away
			}
			if t.PID != 0 {
				times[i] = append(times[i], history.ProcessorTime{Host: h.Name, PID: t.PID, Used: t.Used}.Event(now))
			}
			return nil
		})
	}
	g.Go(func() (err error) {
		times[len(hosts)], err = processorTimesHere(r.stage.clock)
		return err
	})
	err := g.Wait()
	for _, e := range slices.Concat(times...) {
		err = errors.Join(err, r.note(e))
	}
	return err
}
