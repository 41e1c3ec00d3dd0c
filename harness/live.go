package harness

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"locklab/harness/history"
)

// live is what is known of a run while it goes on: for progress, for faults that
// wait for something to happen, and for the end. It is fed with each history as it
// arrives, so the order between processes is only roughly that of time. Verdicts
// come from the merged history, never from here.
type live struct {
	base int64 // of the run, on CLOCK_MONOTONIC

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced with every batch of events
	ready    map[string]bool
	sessions map[string]int // by host: clients that are connected
	done     map[string]bool
	exited   map[string]string // by host: how the process ended
	triggers map[string]history.Event
	served   map[string]int64 // by lock: highest token the resource accepted
	final    map[string]int64 // by lock: the counter
	timeout  int64            // as negotiated with the first session, ns
	invoked  map[string]int64 // by client
	holds    map[string][]hold
	overlaps int
	acquired int
	recent   *hdrhistogram.Histogram
	errors   int // times that the histogram refused
}

// hold is a believed hold; until is 0 while it lasts.
type hold struct {
	client      string
	from, until int64
}

func newLive() *live {
	return &live{changed: make(chan struct{}), ready: map[string]bool{}, sessions: map[string]int{}, done: map[string]bool{}, exited: map[string]string{},
		triggers: map[string]history.Event{}, served: map[string]int64{}, final: map[string]int64{}, invoked: map[string]int64{},
		holds: map[string][]hold{}, recent: newRecent()}
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
	case history.OpTrigger:
		l.triggers[e.Fault] = *e
	case history.OpDisconnected:
		l.sessions[e.Process]--
	case history.OpConnected:
		l.sessions[e.Process]++
		if l.timeout == 0 {
			l.timeout = e.Value
		}
	case history.OpProcess:
		if e.Mode == history.ProcessExited {
			l.exited[e.Process] = e.Detail
		} else {
			delete(l.exited, e.Process)
		}
	case history.OpAcquire:
		switch e.Kind {
		case history.Invoke:
			l.invoked[e.Client] = e.At
		case history.OK:
			l.acquired++
			if err := l.recent.RecordValue(e.At - l.invoked[e.Client]); err != nil {
				l.errors++
			}
			l.holds[e.Lock] = append(l.holds[e.Lock], hold{client: e.Client, from: e.At})
		}
	case history.OpRelease, history.OpLost:
		if e.Kind == history.Invoke || e.Op == history.OpLost {
			l.endHold(e)
		}
	case history.OpRead, history.OpWrite, history.OpEnter, history.OpExit:
		if e.Process == resourceHost && e.Kind == history.OK {
			l.served[e.Lock] = max(l.served[e.Lock], e.Token)
			l.final[e.Lock] = e.Value
		}
	}
}

// endHold closes a hold and counts those that it overlapped. l.mu is held.
func (l *live) endHold(e *history.Event) {
	hs := l.holds[e.Lock]
	i := slices.IndexFunc(hs, func(h hold) bool { return h.client == e.Client && h.until == 0 })
	if i < 0 {
		return
	}
	hs[i].until = e.At
	oldest := e.At
	for j := range hs {
		if hs[j].until == 0 {
			oldest = min(oldest, hs[j].from)
		}
		// A pair is counted when the second of the two ends.
		if j != i && hs[j].until != 0 && hs[j].from < hs[i].until && hs[i].from < hs[j].until {
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

// Triggered implements chaos.Witness.
func (l *live) Triggered(ctx context.Context, fault string) (e history.Event, err error) {
	err = l.wait(ctx, func() bool {
		var ok bool
		e, ok = l.triggers[fault]
		return ok
	})
	return e, err
}

// Superseded implements chaos.Witness.
func (l *live) Superseded(ctx context.Context, lock string, token int64) error {
	return l.wait(ctx, func() bool { return l.served[lock] > token })
}
