package harness

import (
	"context"
	"errors"
	"path"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/workloads/client"
)

// finish stops all processes of the run and collects what they left. It is done
// for a run that broke off too.
func (r *run) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lateCap)
	defer cancel()
	_, err := r.restore(ctx) // of a run that broke off; else nothing is left
	errs := []error{err}
	for h := range r.started {
		if h.Role == ensembles.Client {
			_, _ = h.Agent.Input(ctx, client.CommandStop) // one that is not there needs no telling
		}
	}
	// Clients that are stopped early say goodbye; those of a whole run have.
	soft, cancelSoft := context.WithTimeout(ctx, stopCap)
	_ = r.live.wait(soft, func() bool {
		for _, h := range r.workers() {
			_, exited := r.live.exited[h.Name]
			if !r.live.done[h.Name] && !exited && r.live.ready[h.Name] {
				return false
			}
		}
		return true
	})
	cancelSoft()
	errs = append(errs, r.readFinal(ctx), r.phase(history.PhaseCollect, 0))
	var g errgroup.Group
	for h := range r.started {
		g.Go(func() error { return r.stop(ctx, h) })
	}
	for _, h := range r.stage.ensemble.Servers {
		g.Go(func() error { return r.collect.fetch(ctx, h, ensembles.ServerLog, processLog) })
	}
	errs = append(errs, g.Wait(), r.collectLogs(context.WithoutCancel(ctx)))
	r.stopAgents()
	errs = append(errs, r.collect.wait())
	return errors.Join(errs...)
}

// stop ends a process of the run and fetches its log.
func (r *run) stop(ctx context.Context, h *ensembles.Host) error {
	st, err := h.Agent.Status(ctx)
	if err != nil || st.State == "none" {
		return err
	}
	if st.State != history.ProcessExited {
		_, err = h.Agent.Stop(ctx)
	}
	dir, n := r.lastDir(h)
	return errors.Join(err, r.collect.fetch(ctx, h, path.Join(dir, agent.LogFile), incarnation(processLog, n)))
}
