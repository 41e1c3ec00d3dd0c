package harness

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
	"locklab/harness/scenario"
)

// harm carries the schedule out from the time measure on, and heals everything when ctx or the
// measured window ends, which it reports.
func (r *run) harm(ctx context.Context, measure, end int64, healed chan<- calm) error {
	if len(r.plan.Steps) == 0 {
		return nil
	}
	clock := r.stage.clock
	window, cancel := context.WithDeadline(ctx, clock.Time(end))
	defer cancel()
	s := chaos.Schedule{Steps: r.steps(), Journal: r.rec, Clock: clock, InForce: r.report.setFaults}
	if err := s.Run(window, clock.Time(measure)); err != nil && ctx.Err() == nil {
		// A fault that did not come off is in the history; the checks say what it means.
		r.stage.opts.Log.Warn("fault", "err", err)
	}
	c, err := r.finalHeal(context.WithoutCancel(ctx), clock.Now())
	healed <- c
	return err
}

// wholeCap is how long an ensemble may take to be whole after the last heal. A server that starts takes
// seconds.
const wholeCap = 60 * time.Second

// finalHeal undoes whatever is left of any fault and waits until the ensemble is whole, which is
// recorded: from then on progress is demanded. The schedule was over at the time over.
func (r *run) finalHeal(ctx context.Context, over int64) (calm, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeCap)
	defer cancel()
	left, err := r.restore(ctx)
	if err == nil {
		err = r.stage.ensemble.AwaitReady(ctx)
	}
	if err == nil {
		var znodes []string
		znodes, err = r.restoreZnodes(ctx)
		left = append(left, znodes...)
	}
	c := calm{over: over, heal: r.live.owe(r.clientNames())}
	if left != nil || err != nil {
		c.over = c.heal
	}
	e := history.Event{At: c.heal, Op: history.OpFinalHeal, Kind: history.OK}
	if left != nil {
		e.Detail = "left over: " + strings.Join(left, ", ")
	}
	if err != nil {
		e.Kind, e.Detail = history.Fail, strings.TrimPrefix(e.Detail+"; "+err.Error(), "; ")
		r.stage.opts.Log.Warn("final heal", "err", err)
	}
	return c, r.note(e)
}

// restore undoes what is left of faults, and says what that was. A schedule heals all that it
// knows to have injected; an injection that was interrupted may have taken hold all the same.
func (r *run) restore(ctx context.Context) (left []string, err error) {
	hosts := r.stage.lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource)
	found := make([][]string, len(hosts))
	var g errgroup.Group
	for i, h := range hosts {
		g.Go(func() error {
			var err error
			found[i], err = restoreHost(ctx, h)
			return err
		})
	}
	err = g.Wait()
	return slices.Concat(found...), err
}

// restoreHost undoes what is left of faults on a host. One thing that cannot be undone does not keep the others.
func restoreHost(ctx context.Context, h *ensembles.Host) (left []string, err error) {
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
		undo("had its disk held by "+strings.Join(st.Stalls, " "), func() (agent.Stamp, error) { return h.Agent.Unstall(ctx, "") })
	}
	if st.ClockOffset != 0 {
		undo(fmt.Sprintf("had its clock off by %v", st.ClockOffset), func() (agent.Stamp, error) { return h.Agent.SetClock(ctx, 0) })
	}
	return left, errors.Join(errs...)
}

// restoreZnodes takes away the foreign children that are left in a lock's directory.
func (r *run) restoreZnodes(ctx context.Context) (left []string, err error) {
	for _, s := range r.plan.Steps {
		if s.Fault.Kind != scenario.FaultForeignChildren {
			continue
		}
		n, ferr := chaos.ForeignChildren{ID: s.ID, Ensemble: r.stage.ensemble, Lock: r.locks[0]}.Remove(ctx)
		if n > 0 {
			left = append(left, fmt.Sprintf("%s had %d foreign children of %s", r.locks[0], n, s.ID))
		}
		err = errors.Join(err, ferr)
	}
	return left, err
}
