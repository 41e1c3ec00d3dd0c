package watch

import (
	"fmt"
	"slices"

	"locklab/harness/history"
)

// A host is what is known of a host's process, and of its clients together.
type host struct {
	ready, done, stopped bool
	exited               bool
	how                  string // the process ended, if it has
	died                 int64  // when it ended the last time, in ns of CLOCK_MONOTONIC
	mayExit              bool   // a fault may end it
	connected            int    // clients
	// reached is the time of the latest event of its clients, and arrived is when the last of them arrived.
	reached, arrived int64
	// reportsPlaces says that its clients record their places in the queue.
	reportsPlaces bool
}

// host returns what is known of a host. v.mu is held.
func (v *View) host(name string) *host {
	return entry(v.hosts, name)
}

// process takes in what an agent did to its process. v.mu is held.
func (v *View) process(e *history.Event) {
	h := v.host(e.Process)
	h.stopped = e.ProcessIs(history.ProcessStopped)
	h.exited = e.ProcessIs(history.ProcessExited)
	if !h.exited {
		return
	}
	h.how, h.died = e.ProcessChange().Detail, e.At
	for name, l := range v.locks {
		for _, held := range slices.Clone(l.open) {
			if history.HostOf(held.client) == e.Process {
				v.endHold(name, held.client, held.acq, e.At)
			}
		}
	}
	for name, c := range v.clients {
		if history.HostOf(name) == e.Process {
			*c = client{session: c.session, asked: c.asked, due: c.due}
		}
	}
}

// working reports whether a host's process runs and is not stopped. v.mu is held.
func (v *View) working(name string) bool {
	h := v.host(name)
	return !h.exited && !h.stopped
}

// Exited returns how the process of a host ended; false if it runs or has not begun.
func (s State) Exited(name string) (how string, exited bool) {
	h := s.v.host(name)
	if !h.exited {
		return "", false
	}
	return h.how, true
}

// Ready reports whether all clients of a host's process are connected.
func (s State) Ready(name string) bool { return s.v.host(name).ready }

// Done reports whether all clients of a host's process have finished.
func (s State) Done(name string) bool { return s.v.host(name).done }

// MayExit reports whether a fault may end the process of a host.
func (s State) MayExit(name string) bool { return s.v.host(name).mayExit }

// Finished reports whether a client process has nothing more to do: it has done its work, or a fault ended it and did
// not bring it back.
func (s State) Finished(name string) bool {
	h := s.v.host(name)
	return h.done || h.exited && h.mayExit && s.v.settled
}

// Behind reports whether the record of a host's clients has yet to reach a time, in ns of CLOCK_MONOTONIC, but has been
// arriving since another.
func (s State) Behind(name string, at, since int64) bool {
	h := s.v.host(name)
	return h.reached < at && h.arrived >= since
}

// AllowExit says that a fault is about to end the process of a host.
func (v *View) AllowExit(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.host(name).mayExit = true
}

// NotWorking returns why the process of a host does not work yet; nil if it does.
func (v *View) NotWorking(name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch h := v.host(name); {
	case h.exited:
		return fmt.Errorf("process of %s has ended: %s", name, h.how)
	case !h.ready:
		return fmt.Errorf("process of %s is not ready", name)
	}
	return nil
}

// Restarting forgets what is known of a host's process that has ended, before another one is started.
func (v *View) Restarting(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.host(name)
	h.exited, h.ready, h.done, h.connected = false, false, false, 0
}

// StartFailed undoes [View.Restarting] of a process that could not be started: the last one has ended, as before.
func (v *View) StartFailed(name, how string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.host(name)
	h.exited, h.how = true, how
}

// DiedAt returns when the last process of a host ended, in ns of CLOCK_MONOTONIC.
func (v *View) DiedAt(name string) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.host(name).died
}

// Connected returns how many clients of a host are connected.
func (v *View) Connected(name string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.host(name).connected
}
