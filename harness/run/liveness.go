package run

import (
	"context"
	"errors"
	"time"

	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/workloads/control"
)

const (
	// stallMargin is how much longer clients work than a stall must last for the check to see it.
	stallMargin = 100 * time.Millisecond
	// closeIn is how long before their window closes clients are told when it closes.
	closeIn = 100 * time.Millisecond
	// never is longer than any run.
	never = 24 * time.Hour
)

// worksUntilHealed reports whether clients go on working until everything is healed, however long that takes.
func (r *run) worksUntilHealed() bool { return r.sc.LivenessPhase() > 0 && len(r.plan.Steps) > 0 }

// firstEnd returns when clients are told at first that their window closes. They may be told another time later.
func (r *run) firstEnd(end int64) int64 {
	if r.worksUntilHealed() {
		return end + int64(never)
	}
	return end + int64(r.sc.LivenessPhase())
}

// livenessPhase lets clients go on working after the measured window, which ended at end, until everything is healed
// and all have made progress, and then closes their window. It returns when the window closes; false if ctx ended
// before. [watch.State.Closes] returns that time as soon as it is known.
func (r *run) livenessPhase(ctx context.Context, end int64, healed <-chan recovery) (last int64, ok bool, err error) {
	clock := r.stage.clock
	if !r.worksUntilHealed() {
		last = r.firstEnd(end)
		r.view.Close(last)
		if err := r.phase(history.PhaseLiveness, end); err != nil || !waitUntil(ctx, clock.Time(last)) {
			return 0, false, err
		}
		return last, true, nil
	}
	var rec recovery
	select {
	case rec = <-healed:
	default:
		if err := r.phase(history.PhaseHeal, end); err != nil {
			return 0, false, err
		}
		select {
		case rec = <-healed:
		case <-ctx.Done():
			return 0, false, nil
		}
	}
	if err := r.phase(history.PhaseLiveness, max(end, rec.healed)); err != nil {
		return 0, false, err
	}
	r.awaitProgress(ctx, rec)
	if ctx.Err() != nil {
		return 0, false, nil
	}
	last = clock.Now() + int64(closeIn)
	return last, true, r.closeWindow(ctx, last)
}

// patience is how many times longer than the scenario allows clients work, at most, on a machine that stands still.
const patience = 4

// awaitProgress waits until every client has got a lock since the final heal and the damage of faults has had time to
// show, or until the longest time that the scenario allows for both. That time begins again when a process has stood
// still, because the check can tell nothing from a time with a standstill in it, and the lock is not to blame for
// that. A process tells of a standstill when it is over, so each look comes later than the time that it looks at, by
// the length of the shortest standstill. If the harness itself comes late by as much, perhaps everybody stood still,
// and the others get as much time again to tell it.
func (r *run) awaitProgress(ctx context.Context, rec recovery) {
	clock := r.stage.clock
	longest := rec.healed + int64(r.sc.LivenessPhase())
	if r.sc.Liveness != scenario.LivenessAuto || !r.sc.DemandsProgress(r.plan) {
		waitUntil(ctx, clock.Time(longest))
		return
	}
	standstill := evidence.Standstill(r.sc.Tick)
	needed := int64(evidence.StallBound(r.sc.Negotiated(), r.sc.Tick) + stallMargin + standstill)
	for from, waited := rec.lastFault, int64(0); from > waited; {
		limit := longest
		if from > rec.lastFault { // for a standstill
			limit = rec.healed + patience*int64(r.sc.LivenessPhase())
		}
		until := max(min(from+needed, limit), clock.Now())
		if !waitUntil(ctx, clock.Time(until)) {
			return
		}
		if now := clock.Now(); now-until >= int64(standstill) && !waitUntil(ctx, clock.Time(now+int64(standstill))) {
			return
		}
		waited = from
		r.view.Look(func(now watch.State) { from = max(from, now.StoodUntil()) })
	}
	ctx, cancel := context.WithDeadline(ctx, clock.Time(longest))
	defer cancel()
	_ = r.view.Wait(ctx, func(now watch.State) bool { return now.Owed() == 0 }) // the check names clients without one
}

// A heardRecorder lets the view hear of what the harness records.
type heardRecorder struct {
	*history.Recorder
	view *watch.View
}

func (r heardRecorder) Record(e history.Event) error {
	r.view.Hear(e)
	return r.Recorder.Record(e)
}

// closeWindow tells every client process that still runs when its window closes.
func (r *run) closeWindow(ctx context.Context, last int64) error {
	var errs []error
	for _, h := range r.clientHosts() {
		if _, err := h.Agent.Input(ctx, control.FormatUntil(h.Agent.ToHost(last))); err != nil && !r.exited(h) {
			errs = append(errs, err)
		}
	}
	r.view.Close(last)
	return errors.Join(errs...)
}

// exited reports whether the process of a host has ended.
func (r *run) exited(h *ensembles.Host) (exited bool) {
	r.view.Look(func(now watch.State) { _, exited = now.Exited(h.Name) })
	return exited
}
