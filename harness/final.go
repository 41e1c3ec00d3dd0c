package harness

import (
	"context"
	"fmt"
	"path"

	"locklab/ensembles"
	"locklab/harness/scenario"
	"locklab/workloads/client"
)

// readFinal has a client process record what the locks' data have come to, where nobody else has a record
// of that. All clients are done by now, and what is still on its way to a server can only be of those
// whose outcome is unknown.
func (r *run) readFinal(ctx context.Context) error {
	if r.sc.Guard != scenario.GuardZKMulti && r.sc.Section != scenario.SectionAppend {
		return nil
	}
	h := r.reader()
	if h == nil {
		return nil // nobody ever worked
	}
	if _, err := h.Agent.Input(ctx, client.CommandFinal); err != nil {
		return fmt.Errorf("read the final values by %s: %w", h.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopCap)
	defer cancel()
	var died error
	err := r.live.wait(ctx, func() bool {
		if how, exited := r.live.exited[h.Name]; exited {
			died = fmt.Errorf("%s (its log is in %s)", how, path.Join(hostsDir, h.Name, processLog))
		}
		return died != nil || len(r.live.ended) == len(r.locks)
	})
	if err == nil {
		err = died
	}
	if err != nil {
		return fmt.Errorf("read the final values by %s: %w", h.Name, err)
	}
	return nil
}

// reader is a host whose client process has come to the end of its work and lives; nil if there is none.
func (r *run) reader() *ensembles.Host {
	r.live.mu.Lock()
	defer r.live.mu.Unlock()
	for _, h := range r.clientHosts() {
		if _, exited := r.live.exited[h.Name]; !exited && r.live.done[h.Name] {
			return h
		}
	}
	return nil
}
