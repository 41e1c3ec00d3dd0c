package harness

import (
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness/check"
	"locklab/harness/history"
)

// live is what is known of a run while it goes on: for progress, for faults that
// wait for something to happen, and for the end. It is fed with each history as it
// arrives, so the order between processes is only roughly that of time. Verdicts
// come from the merged history, never from here.
type live struct {
	base  int64 // of the run, on CLOCK_MONOTONIC
	clock history.Clock

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced with every batch of events
	ready    map[string]bool
	sessions map[string]int               // by host: clients that are connected
	owners   map[history.SessionID]string // the host whose client's session it is
	latest   map[string]history.SessionID // by client: the last session that was connected
	away     map[string]bool              // the clients that have lost their connection
	done     map[string]bool
	exited   map[string]string // by host: how the process ended
	died     map[string]int64  // by host: when it did, the last time
	expected map[string]bool   // by host: whether a fault may end it
	settled  bool              // the schedule is over: nothing that is down comes back any more
	// triggers are by fault: the last of each host, in order.
	triggers map[string][]history.Event
	served   map[string]*check.Fences // by lock: what the resource accepted
	final    map[string]int64         // by lock: the counter
	kept     bool                     // what the locks protect is in ZooKeeper, and clients tell what they did to it
	lists    bool                     // what the locks protect is lists, so that values are no counts
	ended    map[string]bool          // by lock: its final value is known
	timeout  int64                    // as negotiated with the first session, ns
	invoked  map[string]int64         // by client; or when it was due
	due      map[string]int64         // by client: the number of the last acquisition that was
	holds    map[string][]hold
	waiting  map[string]int64 // by client: since when it waits for a lock
	owed     map[string]bool  // the clients that have yet to get a lock, of those granted from owedFrom on
	owedFrom int64
	closes   int64            // when clients begin no more acquisitions, 0 = not known yet
	queued   map[string]place // by client: its place in a queue
	tells    map[string]bool  // by host: its clients tell of their places
	servers  map[history.SessionID]string
	stopped  map[string]bool // by host: whether its process is
	stale    int             // accesses that the resource accepted though it had served a later holder
	refused  int             // accesses that it refused as stale
	wrote    map[string]wrote
	shared   bool // there are writers who do not exclude each other, so that updates may be lost
	overlaps int  // of holds that exclude each other; -1 if there are permits
	acquired int
	recent   *hdrhistogram.Histogram
	errors   int // times that the histogram refused
}

// wrote is what the resource's record says of the writes under one lock: how many it accepted, and
// the counter after the last. Each adds one to what it has read, so what they do not add up to is lost.
type wrote struct{ writes, value int64 }

// hold is a believed hold; until is 0 while it lasts.
type hold struct {
	client      string
	acq         int64
	session     history.SessionID
	mode        string
	from, until int64
}

func newLive() *live {
	return &live{changed: make(chan struct{}), ready: map[string]bool{}, sessions: map[string]int{}, done: map[string]bool{}, exited: map[string]string{}, died: map[string]int64{}, owners: map[history.SessionID]string{}, latest: map[string]history.SessionID{}, away: map[string]bool{}, expected: map[string]bool{},
		triggers: map[string][]history.Event{}, served: map[string]*check.Fences{}, final: map[string]int64{}, ended: map[string]bool{}, invoked: map[string]int64{}, due: map[string]int64{},
		waiting: map[string]int64{}, queued: map[string]place{}, tells: map[string]bool{}, servers: map[history.SessionID]string{}, stopped: map[string]bool{}, wrote: map[string]wrote{}, holds: map[string][]hold{}, recent: newRecent()}
}

func newRecent() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(10*time.Minute), 2)
}

// feed returns a writer for one stream of raw history.
func (l *live) feed() io.Writer { return &feed{live: l, intern: map[string]string{}} }

type feed struct {
	live   *live
	rest   []byte
	intern map[string]string
}

// Write takes bytes of a raw history; a frame may be cut anywhere.
func (f *feed) Write(b []byte) (int, error) {
	f.rest = append(f.rest, b...)
	events, rest, err := history.Decode(nil, f.rest, f.intern)
	f.rest = append(f.rest[:0], rest...)
	f.live.add(events)
	if err != nil {
		f.rest = nil // the merged history will say that it is torn
	}
	return len(b), nil
}

func (l *live) add(events []history.Event) {
	if len(events) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range events {
		l.event(&events[i])
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

// event takes one event in. l.mu is held.
func (l *live) event(e *history.Event) {
	switch e.Op {
	case history.OpReady:
		l.ready[e.Process] = true
	case history.OpDone:
		l.done[e.Process] = true
	case history.OpFinal:
		l.ended[e.Lock] = true
	case history.OpTrigger, history.OpStrike:
		others := slices.DeleteFunc(l.triggers[e.Fault], func(o history.Event) bool { return o.Process == e.Process })
		l.triggers[e.Fault] = append(others, *e)
	case history.OpDisconnected:
		l.sessions[e.Process]--
		l.away[e.Client] = true
	case history.OpConnected:
		l.sessions[e.Process]++
		l.owners[e.Session] = e.Process
		l.latest[e.Client] = e.Session
		delete(l.away, e.Client)
		l.servers[e.Session] = e.Target
		if l.timeout == 0 {
			l.timeout = e.Value
		}
	case history.OpProcess:
		l.stopped[e.Process] = e.Mode == history.ProcessStopped
		if e.Mode == history.ProcessExited {
			l.forget(e.Process)
			l.exited[e.Process] = e.Detail
			l.buried(e)
		} else {
			delete(l.exited, e.Process)
		}
	case history.OpArrive:
		l.invoked[e.Client], l.due[e.Client] = e.At, e.Acq
	case history.OpQueued:
		l.placed(e.Process)
		l.queued[e.Client] = place{lock: e.Lock, at: e.At}
	case history.OpAcquire:
		delete(l.waiting, e.Client)
		delete(l.queued, e.Client)
		switch e.Kind {
		case history.Invoke:
			if !l.tells[e.Process] {
				l.queued[e.Client] = place{lock: e.Lock, at: e.At}
			}
			if l.due[e.Client] != e.Acq {
				l.invoked[e.Client] = e.At
			}
			l.waiting[e.Client] = l.invoked[e.Client]
		case history.OK:
			l.acquired++
			if e.At >= l.owedFrom {
				delete(l.owed, e.Client)
			}
			if e.Mode == history.ModePermit {
				l.overlaps = -1
			}
			if err := l.recent.RecordValue(e.At - l.invoked[e.Client]); err != nil {
				l.errors++
			}
			l.holds[e.Lock] = append(l.holds[e.Lock], hold{client: e.Client, acq: e.Acq, session: e.Session, mode: e.Mode, from: e.At})
		}
	case history.OpRelease, history.OpLost:
		if e.Kind == history.Invoke || e.Op == history.OpLost {
			l.endHold(e)
		}
	case history.OpRead, history.OpWrite, history.OpEnter, history.OpExit:
		if l.kept {
			l.client(e)
		} else if e.Process == resourceHost && e.Kind == history.OK {
			if l.served[e.Lock] == nil {
				l.served[e.Lock] = &check.Fences{}
			}
			if e.Op != history.OpExit && l.served[e.Lock].Stale(e) {
				l.stale++
			}
			if e.Op == history.OpWrite && !l.lists {
				l.shared = l.shared || e.Mode == history.ModeRead || e.Mode == history.ModePermit
				l.wrote[e.Lock] = wrote{l.wrote[e.Lock].writes + 1, e.Value}
			}
			served := *e // it is kept, and the others of its batch are not to be
			l.served[e.Lock].Serve(&served)
			l.final[e.Lock] = e.Value
		} else if e.Process == resourceHost && e.Kind == history.Fail && e.Op != history.OpExit {
			l.refused++
		}
	}
}

// client takes in a client's access to what ZooKeeper keeps. Those of several clients come in no order, so whether
// one that was acknowledged was stale is not for now to say. l.mu is held.
func (l *live) client(e *history.Event) {
	switch e.Kind {
	case history.OK:
		if l.served[e.Lock] == nil {
			l.served[e.Lock] = &check.Fences{}
		}
		if e.Op == history.OpWrite {
			l.wrote[e.Lock] = wrote{l.wrote[e.Lock].writes + 1, max(e.Value, l.wrote[e.Lock].value)}
		}
		served := *e // it is kept, and the others of its batch are not to be
		l.served[e.Lock].Serve(&served)
		l.final[e.Lock] = max(l.final[e.Lock], e.Value)
	case history.Fail:
		l.refused++
	}
}

// endHold closes a hold and counts those that it overlapped. l.mu is held.
func (l *live) endHold(e *history.Event) {
	hs := l.holds[e.Lock]
	i := slices.IndexFunc(hs, func(h hold) bool { return h.client == e.Client && h.acq == e.Acq && h.until == 0 })
	if i < 0 {
		return
	}
	hs[i].until = e.At
	oldest := e.At
	for j := range hs {
		if hs[j].until == 0 {
			oldest = min(oldest, hs[j].from)
		}
		// A pair is counted when the second of the two ends. What a client holds beside
		// another hold of its own is no overlap, nor is what does not exclude.
		if hs[j].client != e.Client && history.Conflict(hs[j].mode, hs[i].mode) && hs[j].until != 0 && hs[j].from < hs[i].until && hs[i].from < hs[j].until {
			l.overlaps++
		}
	}
	// What ended well before every open hold began can overlap nothing any more;
	// the second is for histories that arrive out of order.
	l.holds[e.Lock] = slices.DeleteFunc(hs, func(h hold) bool { return h.until != 0 && h.until < oldest-int64(time.Second) })
}

// wait waits until f, called with the view locked, returns true.
func (l *live) wait(ctx context.Context, f func() bool) error {
	for {
		l.mu.Lock()
		ok, changed := f(), l.changed
		l.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// connected returns how many clients of a host are connected.
func (l *live) connected(host string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[host]
}

// absent returns the clients that have lost their connection, of processes that run and are not done.
func (l *live) absent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.away)), func(c string) bool { return !l.runs(hostOf(c)) || l.done[hostOf(c)] })
}

// Triggered implements chaos.Witness. No host is any.
func (l *live) Triggered(ctx context.Context, fault, host string) (e history.Event, err error) {
	err = l.wait(ctx, func() (ok bool) {
		e, ok = l.trigger(fault, host)
		return ok
	})
	return e, err
}

// trigger is what a host's client reported of a fault. l.mu is held.
func (l *live) trigger(fault, host string) (history.Event, bool) {
	for _, e := range l.triggers[fault] {
		if host == "" || e.Process == host {
			return e, true
		}
	}
	return history.Event{}, false
}

// superseded waits until the resource has served somebody who makes what the victim
// of a trigger goes on to do stale.
func (l *live) superseded(ctx context.Context, victim history.Event) error {
	return l.wait(ctx, func() bool {
		served := l.served[victim.Lock]
		return served != nil && served.Stale(&victim)
	})
}
