package run

import (
	"context"
	"fmt"

	"locklab/ensembles"
	"locklab/harness/scenario"
	"locklab/harness/watch"
	"locklab/workloads/control"
	"locklab/workloads/guard"
)

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
