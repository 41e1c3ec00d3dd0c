package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// A recovery says when the faults of a run were over, in ns of CLOCK_MONOTONIC.
type recovery struct {
	lastFault int64 // the end of the last fault, as far as it is known
	healed    int64 // the final heal was verified, or given up
}

// injectFaults carries out the schedule in the measured window, which begins at measure and ends at end. When the
// window or ctx ends, it heals everything and then sends the recovery. Once interrupted is closed, it waits for no
// recovery any more.
func (r *run) injectFaults(
	ctx context.Context, interrupted <-chan struct{}, measure, end int64, healed chan<- recovery,
) error {
	if len(r.plan.Steps) == 0 {
		return nil
	}
	clock := r.stage.clock
	window, cancel := context.WithDeadline(ctx, clock.Time(end))
	defer cancel()
	s := chaos.Schedule{Steps: r.faults.Steps(r.plan), Journal: serviceJournal{r.rec, r.service}, Clock: clock,
		InForce: r.report.SetFaults, Interrupted: interrupted}
	if err := s.Run(window, clock.Time(measure)); err != nil && ctx.Err() == nil {
		// The history has the fault that failed, and the checks say what that means.
		r.stage.opts.Log.Warn("fault", "err", err)
	}
	rec, err := r.finalHeal(context.WithoutCancel(ctx), interrupted, clock.Now())
	healed <- rec
	return err
}

// healCap is how long an ensemble may take to be complete again after the last heal. A server takes seconds to start.
const healCap = 60 * time.Second

// finalHeal undoes what is left of any fault, waits until the ensemble is complete, and records that. From then on,
// clients must make progress. The schedule was over at the given time.
func (r *run) finalHeal(ctx context.Context, interrupted <-chan struct{}, over int64) (recovery, error) {
	ctx, cancel := context.WithTimeout(ctx, healCap)
	defer cancel()
	left, err := r.undoFaults(ctx)
	if err == nil {
		recovered := r.service.await()
		recovering, cancel := chaos.Hurried(ctx, healCap, interrupted)
		err = r.stage.ensemble.AwaitReady(recovering)
		cancel()
		recovered()
	}
	if err == nil {
		var znodes []string
		znodes, err = r.faults.CleanUp(ctx, r.plan)
		left = append(left, znodes...)
	}
	rec := recovery{lastFault: over, healed: r.view.Owe(r.sc.ClientNames())}
	if left != nil || err != nil {
		rec.lastFault = rec.healed
	}
	kind, text := history.OK, ""
	if left != nil {
		text = "left over: " + strings.Join(left, ", ")
	}
	if err != nil {
		kind, text = history.Fail, strings.TrimPrefix(text+"; "+err.Error(), "; ")
		r.stage.opts.Log.Warn("final heal", "err", err)
	}
	return rec, r.note(history.FinalHealed(rec.healed, kind, text))
}

// undoFaults undoes what is left of faults on all hosts and returns what that was. A schedule heals every fault that it
// knows it injected, but an injection that was interrupted may have taken effect all the same.
func (r *run) undoFaults(ctx context.Context) (left []string, err error) {
	hosts := r.stage.lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource)
	found := make([][]string, len(hosts))
	var g errgroup.Group
	for i, h := range hosts {
		g.Go(func() error {
			var err error
			found[i], err = undoFaultsOn(ctx, h)
			return err
		})
	}
	err = g.Wait()
	return slices.Concat(found...), err
}

// undoFaultsOn undoes what is left of faults on a host. If one of them cannot be undone, it goes on with the others.
func undoFaultsOn(ctx context.Context, h *ensembles.Host) (left []string, err error) {
	st, err := h.Agent.Status(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	undo := func(what string, do func() (agent.Stamp, error)) {
		left = append(left, h.Name+" "+what)
		if _, err := do(); err != nil {
			errs = append(errs, err)
		}
	}
	if st.State == history.ProcessStopped {
		undo("was stopped", func() (agent.Stamp, error) { return h.Agent.Resume(ctx) })
	}
	if h.Role == ensembles.Server && st.State == history.ProcessExited {
		undo("was down", func() (agent.Stamp, error) { return h.Agent.Restart(ctx) })
	}
	if len(st.Rules) > 0 {
		undo("had rules "+strings.Join(st.Rules, " "), func() (agent.Stamp, error) { return h.Agent.Clear(ctx, "") })
	}
	if len(st.Stalls) > 0 {
		undo("had its disk stalled by "+strings.Join(st.Stalls, " "),
			func() (agent.Stamp, error) { return h.Agent.Unstall(ctx, "") })
	}
	if st.ClockOffset != 0 {
		undo(fmt.Sprintf("had its clock off by %v", st.ClockOffset),
			func() (agent.Stamp, error) { return h.Agent.SetClock(ctx, 0) })
	}
	return left, errors.Join(errs...)
}
