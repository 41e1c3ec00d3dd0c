package watch

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness/history"
	"locklab/harness/rundir"
)

// A View is what is known of a run while it lasts: for progress, for faults that wait for something to happen, and for
// the end of the run. It is fed with each history as it arrives, so events of different processes arrive only roughly
// in the order of time. Verdicts come from the merged history, never from here.
//
// Its methods may be called concurrently.
type View struct {
	config Config

	mu      sync.Mutex
	changed chan struct{} // closed and replaced with every batch of events

	hosts    map[string]*host
	clients  map[string]*client
	locks    map[string]*lock
	sessions map[history.SessionID]string // the server that each is connected to
	// triggers has, by fault, the last trigger event of each host, in the order of arrival.
	triggers map[string][]history.Event

	settled  bool  // the schedule of faults is over: a process that is down stays down
	closes   int64 // when clients begin no more acquisitions; 0 = not known yet
	owedFrom int64 // grants from then on count for [View.Owe]

	answered    int64 // see [State.Answered]
	clientStood int64 // the end of the latest standstill of a client process
	stoodUntil  int64 // the end of the latest standstill of any process
	stood       int64 // for how long some process stood still in all

	acquired  int
	overlaps  int  // of holds that exclude each other
	uncounted bool // overlaps are not counted, or not any more
	stale     int  // accesses that the resource accepted although it had served a later holder
	refused   int  // accesses that were refused as stale
	shared    bool // some writers do not exclude each other, so updates may be lost without a fault of the lock
	recent    *hdrhistogram.Histogram
}

// Config is what a View must know of a run.
type Config struct {
	Clock history.Clock
	// KeptInZooKeeper says that the data that the locks protect is in ZooKeeper, and that clients record their own
	// accesses to it.
	KeptInZooKeeper bool
	// Lists says that the locks protect lists, so that the values of writes do not count them.
	Lists bool
	// Standstill is the least hiccup that counts as a standstill.
	Standstill time.Duration

	_ struct{}
}

// NewView returns a view of a run in which nothing has happened.
func NewView(config Config) *View {
	return &View{
		config:   config,
		changed:  make(chan struct{}),
		hosts:    map[string]*host{},
		clients:  map[string]*client{},
		locks:    map[string]*lock{},
		sessions: map[history.SessionID]string{},
		triggers: map[string][]history.Event{},
		recent:   hdrhistogram.New(int64(time.Microsecond), int64(10*time.Minute), 2),
	}
}

// entry returns the entry of that name, which is a new one if there was none.
func entry[E any](all map[string]*E, name string) *E {
	if all[name] == nil {
		all[name] = new(E)
	}
	return all[name]
}

// Feed returns a writer for one stream of raw history. The function place returns when a time of the stream was on the
// run's clock; nil if the stream has that clock.
func (v *View) Feed(place func(int64) int64) io.Writer {
	return &feed{view: v, place: place, intern: map[string]string{}}
}

type feed struct {
	view   *View
	place  func(int64) int64
	rest   []byte
	intern map[string]string
}

// Write takes bytes of a raw history; a frame may be cut anywhere.
func (f *feed) Write(b []byte) (int, error) {
	f.rest = append(f.rest, b...)
	events, rest, err := history.Decode(nil, f.rest, f.intern)
	f.rest = append(f.rest[:0], rest...)
	for i := range events {
		if f.place != nil {
			events[i].At = f.place(events[i].At)
		}
	}
	f.view.add(events)
	if err != nil {
		f.rest = nil // the merged history will say that it is torn
	}
	return len(b), nil
}

// Hear takes in an event that comes with no stream, because the harness itself recorded it.
func (v *View) Hear(e history.Event) { v.add([]history.Event{e}) }

func (v *View) add(events []history.Event) {
	if len(events) == 0 {
		return
	}
	now := v.config.Clock.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range events {
		e := &events[i]
		if e.Client != "" {
			h := v.host(e.Process)
			h.reached, h.arrived = max(h.reached, e.At), now
		}
		v.event(e)
	}
	v.wake()
}

// wake makes all waiting calls of [View.Wait] check their conditions again. v.mu is held.
func (v *View) wake() {
	close(v.changed)
	v.changed = make(chan struct{})
}

// event takes one event in. v.mu is held.
func (v *View) event(e *history.Event) {
	if v.answers(e) {
		v.answered = max(v.answered, e.At)
	}
	switch e.Op {
	case history.OpReady:
		v.host(e.Process).ready = true
	case history.OpDone:
		v.host(e.Process).done = true
	case history.OpFinal:
		v.lock(e.Lock).finalKnown = true
	case history.OpTrigger, history.OpStrike:
		others := slices.DeleteFunc(v.triggers[e.Fault], func(o history.Event) bool { return o.Process == e.Process })
		v.triggers[e.Fault] = append(others, *e)
	case history.OpConnected:
		v.host(e.Process).connected++
		v.sessions[e.Session] = e.SessionChange().Server
		c := v.client(e.Client)
		c.session, c.away = e.Session, false
	case history.OpDisconnected:
		v.host(e.Process).connected--
		v.client(e.Client).away = true
	case history.OpProcess:
		v.process(e)
	case history.OpHiccup:
		if e.Hiccup() >= v.config.Standstill {
			v.stood += max(0, e.At-max(e.At-int64(e.Hiccup()), v.stoodUntil))
			v.stoodUntil = max(v.stoodUntil, e.At)
			if e.Process != rundir.HarnessHost {
				v.clientStood = max(v.clientStood, e.At)
			}
		}
	case history.OpArrive:
		c := v.client(e.Client)
		c.asked, c.due = e.At, e.Acq
	case history.OpQueued:
		v.queued(e)
	case history.OpAcquire:
		v.acquire(e)
	case history.OpRelease, history.OpLost:
		if e.Kind == history.Invoke || e.Op == history.OpLost {
			v.endHold(e.Lock, e.Client, e.Acq, e.At)
		}
	case history.OpRead, history.OpWrite, history.OpEnter, history.OpExit:
		switch {
		case v.config.KeptInZooKeeper:
			v.accessed(e)
		case e.Process == rundir.ResourceHost:
			v.served(e)
		}
	}
}

// answers reports whether an event shows that the ensemble has committed something for a client. A session that
// connects again shows nothing, because a server takes it back by itself. v.mu is held.
func (v *View) answers(e *history.Event) bool {
	switch e.Op {
	case history.OpConnected:
		_, known := v.sessions[e.Session]
		return !known
	case history.OpQueued:
		return true
	case history.OpAcquire, history.OpRelease:
		return e.Kind == history.OK
	}
	return false
}

// Wait waits until a condition holds. It is asked whenever something has changed, and must call nothing of the view
// but the methods of the state that it is given. If ctx ends first, the error is its cause.
func (v *View) Wait(ctx context.Context, condition func(State) bool) error {
	for {
		v.mu.Lock()
		ok, changed := condition(State{v}), v.changed
		v.mu.Unlock()
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

// Look calls f with the state of this moment, as [View.Wait] does.
func (v *View) Look(f func(State)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f(State{v})
}

// A State is what a View knows at one moment. It is valid only in the function that it is given to.
type State struct{ v *View }

// Acquired returns how many acquisitions were granted so far.
func (s State) Acquired() int { return s.v.acquired }

// Closes returns when clients begin no more acquisitions, in ns of CLOCK_MONOTONIC; 0 if that is not known yet.
func (s State) Closes() int64 { return s.v.closes }

// Close says when clients begin no more acquisitions, in ns of CLOCK_MONOTONIC.
func (v *View) Close(at int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closes = at
	v.wake()
}

// StoodUntil returns when the latest standstill of a client process ended, in ns of CLOCK_MONOTONIC; 0 if there was
// none.
func (s State) StoodUntil() int64 { return s.v.clientStood }

// Stood returns for how long at least one process, the harness included, has stood still so far, in ns.
func (s State) Stood() int64 { return s.v.stood }

// Answered returns when the ensemble last committed something for a client, as far as the record of clients tells, in
// ns of CLOCK_MONOTONIC; 0 if it has not.
func (s State) Answered() int64 { return s.v.answered }

// Settle says that the schedule of faults is over.
func (v *View) Settle() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.settled = true
	v.wake()
}
