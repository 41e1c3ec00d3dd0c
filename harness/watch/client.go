package watch

import (
	"context"
	"maps"
	"slices"

	"locklab/harness/history"
)

// A client is what is known of one client.
type client struct {
	session history.SessionID // the last session that was connected
	away    bool              // it has lost its connection
	asked   int64             // when its last acquisition was invoked, or was due
	due     int64             // the number of the last acquisition that was due
	waits   bool              // it has asked for a lock and has no answer
	place   *place            // in a queue
	owed    bool              // it has yet to get a lock, see [View.Owe]
}

// A place is a client's place in the queue of a lock. A client whose recipe does not record when it has one (zk.Lock,
// and commands behind the lock protocol that do not say) is taken to have had it since it asked, because it is in the
// queue within a round trip.
type place struct {
	lock string
	at   int64
}

// client returns what is known of a client. v.mu is held.
func (v *View) client(name string) *client {
	return entry(v.clients, name)
}

// queued takes in a client's place in a queue. v.mu is held.
func (v *View) queued(e *history.Event) {
	if h := v.host(e.Process); !h.reportsPlaces {
		// The clients of this host do record their places, so one that has only asked is in no queue yet.
		h.reportsPlaces = true
		for name, c := range v.clients {
			if history.HostOf(name) == e.Process {
				c.place = nil
			}
		}
	}
	v.client(e.Client).place = &place{lock: e.Lock, at: e.At}
}

// acquire takes in the beginning or the end of an acquisition. v.mu is held.
func (v *View) acquire(e *history.Event) {
	c := v.client(e.Client)
	c.waits, c.place = false, nil
	switch e.Kind {
	case history.Invoke:
		if !v.host(e.Process).reportsPlaces {
			c.place = &place{lock: e.Lock, at: e.At}
		}
		if c.due != e.Acq {
			c.asked = e.At
		}
		c.waits = true
	case history.OK:
		v.acquired++
		if e.At >= v.owedFrom {
			c.owed = false
		}
		// A latency that the histogram cannot hold is left out of the display; the report has it.
		_ = v.recent.RecordValue(e.At - c.asked)
		v.beginHold(e)
	}
}

// SessionOf returns the last session of a client; 0 if there is none.
func (v *View) SessionOf(name string) history.SessionID {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.client(name).session
}

// Absent returns the clients that have lost their connection, of processes that run and are not done.
func (v *View) Absent() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v.clients)), func(name string) bool {
		return !v.clients[name].away || !v.working(history.HostOf(name)) || v.host(history.HostOf(name)).done
	})
}

// Owe records that each of the named clients whose process is alive has yet to get a lock. It returns the instant from
// which on a grant counts.
func (v *View) Owe(names []string) int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.clients {
		c.owed = false
	}
	for _, name := range names {
		v.client(name).owed = !v.host(history.HostOf(name)).exited
	}
	v.owedFrom = v.config.Clock.Now()
	return v.owedFrom
}

// Owed returns how many clients have yet to get a lock, see [View.Owe].
func (s State) Owed() int {
	n := 0
	for _, c := range s.v.clients {
		if c.owed {
			n++
		}
	}
	return n
}

// Triggered implements chaos.Witness: it waits until a client of the host has stopped itself for the fault. The empty
// host stands for any.
func (v *View) Triggered(ctx context.Context, fault, host string) (e history.Event, err error) {
	err = v.Wait(ctx, func(State) bool {
		all := v.triggers[fault]
		i := slices.IndexFunc(all, func(e history.Event) bool { return host == "" || e.Process == host })
		if i >= 0 {
			e = all[i]
		}
		return i >= 0
	})
	return e, err
}
