package run

import (
	"context"
	"errors"
	"path"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/watch"
	"locklab/workloads/control"
)

// finish stops all processes of the run and collects their histories and logs. It does so for a run that broke off too.
// Before it collects, it finds out what makes servers serve again that did not.
func (r *run) finish(ctx context.Context, unserved bool) error {
	whole := ctx
	ctx, cancel := context.WithTimeout(ctx, lateCap)
	defer cancel()
	_, err := r.undoFaults(ctx) // only a run that broke off leaves faults in force
	errs := []error{err}
	for h := range r.processes {
		if h.Role == ensembles.Client {
			_, _ = h.Agent.Input(ctx, control.CommandStop) // a process that has ended need not be told
		}
	}
	// Clients that are stopped early close their sessions first. Those of a complete run have closed them already.
	soft, cancelSoft := context.WithTimeout(ctx, stopCap)
	_ = r.view.Wait(soft, func(now watch.State) bool {
		for _, h := range r.workers() {
			_, exited := now.Exited(h.Name)
			if !now.Done(h.Name) && !exited && now.Ready(h.Name) {
				return false
			}
		}
		return true
	})
	cancelSoft()
	if !unserved {
		errs = append(errs, r.readFinal(ctx))
	}
	errs = append(errs, r.phase(history.PhaseCollect, 0))
	var stopping, g errgroup.Group
	for h := range r.processes {
		stopping.Go(func() error { return r.stop(ctx, h) })
	}
	errs = append(errs, stopping.Wait())
	if unserved {
		errs = append(errs, r.tryRestarts(whole))
		ctx, cancel = context.WithTimeout(whole, lateCap)
		defer cancel()
	}
	for _, h := range r.stage.ensemble.Servers {
		if r.stage.ensemble.External {
			break
		}
		g.Go(func() error { return r.collect.fetch(ctx, h, ensembles.ServerLog, rundir.ProcessLog(1)) })
	}
	errs = append(errs, g.Wait(), r.collectLogs(context.WithoutCancel(ctx)))
	r.stopStreams()
	received, err := r.collect.wait()
	r.following.Wait()
	errs = append(errs, err)
	for _, e := range received {
		errs = append(errs, r.note(e))
	}
	return errors.Join(errs...)
}

// stop ends the process of a host and fetches its log.
func (r *run) stop(ctx context.Context, h *ensembles.Host) error {
	st, err := h.Agent.Status(ctx)
	if err != nil || st.State == "none" {
		return err
	}
	if st.State != history.ProcessExited {
		_, err = h.Agent.Stop(ctx)
	}
	dir, n := r.lastDir(h)
	return errors.Join(err, r.collect.fetch(ctx, h, path.Join(dir, agent.LogFile), rundir.ProcessLog(n)))
}
