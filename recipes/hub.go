package recipes

import (
	"context"
	"errors"
	"sync"
)

// A hub shares data watches among the waiters of one session: at most one is
// outstanding for a path, at the server and in the client, however many wait and
// give up. That matters because go-zookeeper cannot remove a watch, so that each
// short attempt behind a long holder would leave one more channel behind.
type hub struct {
	zk    ZooKeeper
	tasks *tasks

	mu      sync.Mutex
	watches map[string]*watch // by path; present from the request until it fires or fails
}

// A watch is one outstanding data watch.
type watch struct {
	armed   chan struct{} // closed when the request has been answered, with:
	data    []byte
	stat    Stat
	err     error
	waiters map[*waiter]bool // guarded by hub.mu
}

// A waiter is one party interested in a watch.
type waiter struct {
	// C gets the one event that ends the watch.
	C chan Event
	// first says that the watch was set by the very read that the waiter got, so that
	// the event is of a later change. Otherwise the event may be of an earlier
	// one, on its way here while the read was made: only another look can tell.
	first bool
	hub   *hub
	watch *watch
}

func newHub(zk ZooKeeper, tasks *tasks) *hub {
	return &hub{zk: zk, tasks: tasks, watches: map[string]*watch{}}
}

// get reads the znode at path and returns a waiter for its next change or its
// deletion. It costs one request. After an error there is nothing to wait for.
func (h *hub) get(ctx context.Context, path string) ([]byte, Stat, *waiter, error) {
	for {
		h.mu.Lock()
		w := h.watches[path]
		if w == nil {
			w, me := h.arm(path)
			h.mu.Unlock()
			select {
			case <-w.armed:
			case <-ctx.Done():
				me.stop()
				return nil, Stat{}, nil, ended(ctx)
			}
			if w.err != nil {
				return nil, Stat{}, nil, w.err
			}
			return w.data, w.stat, me, nil
		}
		select {
		case <-w.armed:
		default:
			// Reading now could be served before the watch is set, and miss a
			// change between the two.
			h.mu.Unlock()
			select {
			case <-w.armed:
				if w.err != nil && !errors.Is(w.err, ErrNoNode) {
					return nil, Stat{}, nil, w.err
				}
				continue
			case <-ctx.Done():
				return nil, Stat{}, nil, ended(ctx)
			}
		}
		// The watch is set and has not fired as far as we know: it covers
		// every change after a read that starts now.
		me := h.join(w)
		h.mu.Unlock()
		data, stat, err := h.zk.Get(ctx, path)
		if err != nil {
			me.stop()
			return nil, Stat{}, nil, err
		}
		return data, stat, me, nil
	}
}

// arm starts a watch with its first waiter. h.mu is held.
func (h *hub) arm(path string) (*watch, *waiter) {
	w := &watch{armed: make(chan struct{}), waiters: map[*waiter]bool{}}
	me := h.join(w)
	me.first = true
	h.watches[path] = w
	started := h.tasks.start(func() {
		// Without the waiter's context: an abandoned request would leave a watch
		// that nobody knows of.
		w.data, w.stat, w.err = h.zk.GetW(context.Background(), path, func(e Event) { h.fire(path, w, e) })
		if w.err != nil {
			h.mu.Lock()
			delete(h.watches, path) // it is w: nobody arms another while w is there
			h.mu.Unlock()
		}
		close(w.armed)
	})
	if !started {
		w.err = h.zk.Err()
		delete(h.watches, path)
		close(w.armed)
	}
	return w, me
}

// join adds a waiter. h.mu is held.
func (h *hub) join(w *watch) *waiter {
	me := &waiter{C: make(chan Event, 1), hub: h, watch: w}
	w.waiters[me] = true
	return me
}

// fire tells everybody that the watch has ended.
func (h *hub) fire(path string, w *watch, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watches[path] == w {
		delete(h.watches, path)
	}
	for me := range w.waiters {
		me.C <- e // has room: this is the only event
	}
	w.waiters = nil
}

// stop ends the waiter's interest. The watch stays for whoever comes next.
func (w *waiter) stop() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.watch.waiters, w)
}
