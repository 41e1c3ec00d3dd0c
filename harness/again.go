package harness

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
	"locklab/workloads/client"
	"locklab/workloads/resource"
)

// An origin is how a host's process was started, so that another can be after its end.
type origin struct {
	binary, command string
	config          any
	// dirs are the directories on the host of it and of those that came after it. A history is never
	// gone on with: each incarnation has its own.
	dirs []string
	// told is the number of the last incarnation that was told to go, of a client; 0 = none yet.
	told int
}

// window is when clients work: what they are told when they go.
type window struct{ start, end int64 }

// process is a host's, for faults that end it.
func (r *run) process(h *ensembles.Host) chaos.Process {
	if h.Role == ensembles.Server {
		return chaos.Server(h, r.stage.ensemble)
	}
	r.live.expect(h.Name)
	return chaos.Process{Host: h, Again: func(ctx context.Context) (int64, error) { return r.again(ctx, h) },
		Finish: func(ctx context.Context) error { return r.finishStart(ctx, h) },
		Up: func(context.Context) error {
			if r.untold(h) {
				return fmt.Errorf("process of %s was not told to go", h.Name)
			}
			return r.live.works(h.Name)
		}}
}

// again starts the process of a client or of the resource after its end, as another incarnation: a
// client's begins with new sessions and goes on contending, and the resource's takes up its record.
func (r *run) again(ctx context.Context, h *ensembles.Host) (at int64, err error) {
	var how string
	err = r.live.wait(ctx, func() (exited bool) { how, exited = r.live.exited[h.Name]; return exited })
	if err != nil {
		return 0, fmt.Errorf("end of the process of %s: %w", h.Name, err)
	}
	r.mu.Lock()
	o := r.origins[h]
	n := len(o.dirs)
	r.mu.Unlock()
	last := o.dirs[n-1]
	if err := r.collect.fetch(ctx, h, path.Join(last, agent.LogFile), incarnation(processLog, n)); err != nil {
		return 0, err
	}
	config := o.config
	switch c := config.(type) {
	case client.Config:
		c.Incarnation, c.From = n, r.live.diedAt(h.Name)
		config = c
	case resource.Config:
		for _, dir := range o.dirs {
			c.Resume = append(c.Resume, path.Join("..", dir, agent.ProcessHistoryDir))
		}
		config = c
	}
	r.live.reborn(h.Name)
	dir := fmt.Sprintf("%s-%d", r.work, n+1)
	if at, err = r.startIn(ctx, r.streams, h, config, dir, incarnation(processHist, n+1)); err != nil {
		if _, now := r.lastDir(h); now == n {
			r.live.stillborn(h.Name, how)
		}
		return 0, err
	}
	return at, r.finishStart(ctx, h)
}

// finishStart tells a host's process to go once it is ready, unless it was told. The resource needs no telling.
func (r *run) finishStart(ctx context.Context, h *ensembles.Host) error {
	if !r.untold(h) {
		return nil
	}
	if err := r.awaitReady(ctx, h); err != nil {
		return err
	}
	return r.tellGo(ctx, h)
}

// tellGo tells a client process when to work.
func (r *run) tellGo(ctx context.Context, h *ensembles.Host) error {
	_, n := r.lastDir(h)
	if _, err := h.Agent.Input(ctx, client.FormatGo(r.window.start, r.window.end)); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.origins[h].told = n
	return nil
}

// untold reports whether a client process was started and not told to go.
func (r *run) untold(h *ensembles.Host) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.origins[h]
	if o == nil {
		return false
	}
	_, ok := o.config.(client.Config)
	return ok && o.told < len(o.dirs)
}

// incarnation is a file's name among those of the n-th process of a host.
func incarnation(name string, n int) string {
	if n == 1 {
		return name
	}
	ext := path.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
}

// lastDir is the directory on the host of its present process, and which incarnation that is.
func (r *run) lastDir(h *ensembles.Host) (dir string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.origins[h]; o != nil && len(o.dirs) > 0 {
		return o.dirs[len(o.dirs)-1], len(o.dirs)
	}
	return r.work, 1
}

// expect says that the process of a host may end: a fault is about to see to it.
func (l *live) expect(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected[host] = true
}

// settle says that the schedule of faults is over.
func (l *live) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = true
	close(l.changed)
	l.changed = make(chan struct{})
}

// atEnd reports whether a client process has nothing more to do: it has done its work, or was ended by a
// fault that did not bring it back. l.mu is held.
func (l *live) atEnd(host string) bool {
	_, exited := l.exited[host]
	return l.done[host] || exited && l.expected[host] && l.settled
}

// works reports why the process of a host does not work yet.
func (l *live) works(host string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if how, exited := l.exited[host]; exited {
		return fmt.Errorf("process of %s has ended: %s", host, how)
	}
	if !l.ready[host] {
		return fmt.Errorf("process of %s is not ready", host)
	}
	return nil
}

// reborn forgets what is known of a host's process that has ended, before another is started. Its
// holds have ended with it.
func (l *live) reborn(host string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.exited, host)
	delete(l.ready, host)
	delete(l.done, host)
	delete(l.sessions, host)
}

// stillborn takes reborn back, of a process that could not be started: the last one has ended, as before.
func (l *live) stillborn(host, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.exited[host] = how
}

// diedAt is when the last process of a host ended, in ns of CLOCK_MONOTONIC.
func (l *live) diedAt(host string) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.died[host]
}

// buried ends what a process that has ended was in the middle of. l.mu is held.
func (l *live) buried(e *history.Event) {
	l.died[e.Process] = e.At
	ofHost := func(client string) bool { return strings.HasPrefix(client, e.Process+"/") }
	for lock, holds := range l.holds {
		for _, h := range slices.Clone(holds) {
			if h.until == 0 && ofHost(h.client) {
				l.endHold(&history.Event{At: e.At, Lock: lock, Client: h.client, Acq: h.acq})
			}
		}
	}
	maps.DeleteFunc(l.waiting, func(client string, _ int64) bool { return ofHost(client) })
	maps.DeleteFunc(l.owed, func(client string, _ bool) bool { return ofHost(client) }) // they can get nothing any more
}
