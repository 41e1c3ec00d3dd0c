package run

import (
	"context"
	"errors"
	"fmt"
	"path"

	"golang.org/x/sync/errgroup"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/workloads/control"
	"locklab/workloads/guard"
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

// readFinal has a client process record the final values of the data that the locks protect, where no other process has
// a record of them. All clients are done by now, so only writes whose outcome is unknown can still be on their way to a
// server.
func (r *run) readFinal(ctx context.Context) error {
	if r.sc.Guard != guard.ZKMulti && r.sc.Section != scenario.SectionAppend {
		return nil
	}
	h := r.reader()
	if h == nil {
		return nil // no client ever worked
	}
	if _, err := h.Agent.Input(ctx, control.CommandFinal); err != nil {
		return fmt.Errorf("read the final values by %s: %w", h.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopCap)
	defer cancel()
	var died error
	err := r.view.Wait(ctx, func(now watch.State) bool {
		if how, exited := now.Exited(h.Name); exited {
			died = r.ended(h, how)
		}
		return died != nil || now.Finals() == len(r.locks)
	})
	switch {
	case died != nil:
		return died
	case err != nil:
		return fmt.Errorf("%w: %s could not read the final values within %v: %w", ErrBrokeOff, h.Name, stopCap, err)
	}
	return nil
}

// reader returns a host whose client process has finished its work and still runs; nil if there is none.
func (r *run) reader() (found *ensembles.Host) {
	r.view.Look(func(now watch.State) {
		for _, h := range r.clientHosts() {
			if _, exited := now.Exited(h.Name); !exited && now.Done(h.Name) && found == nil {
				found = h
			}
		}
	})
	return found
}
