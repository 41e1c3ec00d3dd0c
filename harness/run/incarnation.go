package run

import (
	"context"
	"fmt"
	"path"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/rundir"
	"locklab/harness/watch"
	"locklab/workloads/control"
)

// A hostProcess is how the process of a host was started, so that a fault that ends it can start another.
type hostProcess struct {
	binary, command string
	config          any
	// dirs has a directory of the host for each incarnation, because each has a history of its own.
	dirs []string
	// begun is the number of the last incarnation that was told when to work, of a client; 0 = none yet.
	begun int
}

// A window is the time during which clients begin acquisitions, in ns of CLOCK_MONOTONIC.
type window struct{ start, end int64 }

// process returns the process of a host as faults that end it need it.
func (r *run) process(h *ensembles.Host) chaos.Process {
	if h.Role == ensembles.Server {
		return chaos.Server(h, r.stage.ensemble)
	}
	r.view.AllowExit(h.Name)
	return chaos.Process{Host: h,
		Restart: func(ctx context.Context) (int64, error) { return r.restart(ctx, h) },
		Finish:  func(ctx context.Context) error { return r.finishStart(ctx, h) },
		Up: func(context.Context) error {
			if r.idle(h) {
				return fmt.Errorf("process of %s was not told when to work", h.Name)
			}
			return r.view.NotWorking(h.Name)
		}}
}

// restart starts the next incarnation of a host's process after the last one has ended. Clients begin with new sessions
// and contend again, and the resource resumes from its record.
func (r *run) restart(ctx context.Context, h *ensembles.Host) (at int64, err error) {
	var how string
	err = r.view.Wait(ctx, func(now watch.State) (exited bool) {
		how, exited = now.Exited(h.Name)
		return exited
	})
	if err != nil {
		return 0, fmt.Errorf("end of the process of %s: %w", h.Name, err)
	}
	last, n := r.lastDir(h)
	if err := r.collect.fetch(ctx, h, path.Join(last, agent.LogFile), rundir.ProcessLog(n)); err != nil {
		return 0, err
	}
	r.mu.Lock()
	p := r.processes[h]
	r.mu.Unlock()
	config := p.config
	switch c := config.(type) {
	case control.ClientConfig:
		c.Incarnation, c.From = n, h.Agent.ToHost(r.view.DiedAt(h.Name))
		config = c
	case control.ResourceConfig:
		for _, dir := range p.dirs {
			c.Resume = append(c.Resume, path.Join("..", dir, agent.ProcessHistoryDir))
		}
		config = c
	}
	r.view.Restarting(h.Name)
	if at, err = r.startIn(ctx, h, config, fmt.Sprintf("%s-%d", r.work, n+1)); err != nil {
		if _, now := r.lastDir(h); now == n {
			r.view.StartFailed(h.Name, how)
		}
		return 0, err
	}
	return at, r.finishStart(ctx, h)
}

// finishStart tells the clients of a host when to work as soon as they are ready, unless they have been told. The
// resource works from its start.
func (r *run) finishStart(ctx context.Context, h *ensembles.Host) error {
	if !r.idle(h) {
		return nil
	}
	if err := r.awaitReady(ctx, h); err != nil {
		return err
	}
	return r.beginWork(ctx, h)
}

// beginWork tells a client process when to work.
func (r *run) beginWork(ctx context.Context, h *ensembles.Host) error {
	_, n := r.lastDir(h)
	if _, err := h.Agent.Input(ctx, control.FormatGo(h.Agent.ToHost(r.window.start),
		h.Agent.ToHost(r.window.end))); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processes[h].begun = n
	return nil
}

// idle reports whether the client process of a host was started but not told when to work.
func (r *run) idle(h *ensembles.Host) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.processes[h]
	if p == nil {
		return false
	}
	_, isClient := p.config.(control.ClientConfig)
	return isClient && p.begun < len(p.dirs)
}

// lastDir returns the directory of a host's last process, and which incarnation that process is.
func (r *run) lastDir(h *ensembles.Host) (dir string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.processes[h]; p != nil && len(p.dirs) > 0 {
		return p.dirs[len(p.dirs)-1], len(p.dirs)
	}
	return r.work, 1
}
