package recipes

import (
	"context"
	"errors"
	"sync"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// A hub shares watches among the waiters of one session: at most one is
// outstanding for a target, at the server and in the client, however many wait and
// give up. That matters because go-zookeeper cannot remove a watch, so that each
// short attempt behind a long holder would leave one more channel behind.
type hub struct {
	zk    zksession.ZooKeeper
	tasks *tasks.Set

	mu      sync.Mutex
	watches map[target]*watch // present from the request until it fires or fails
}

// A target is what a watch is on: a znode's data, or the list of its children.
type target struct {
	path string
	list bool
}

// A view is what the read of a target showed.
type view struct {
	data  []byte
	stat  zksession.Stat
	names []string
}

// A watch is one outstanding watch.
type watch struct {
	armed   chan struct{} // closed when the request has been answered, with:
	seen    view
	err     error
	waiters map[*waiter]bool // guarded by hub.mu
}

// A waiter is one party that waits for a watch to fire.
type waiter struct {
	// C gets the one event that ends the watch.
	C chan zksession.Event
	// first says that the read which the waiter got also set the watch, so that the event is of a later change.
	// Otherwise the event may be of an earlier change and have been under way during the read: only another read can
	// tell.
	first bool
	hub   *hub
	watch *watch
}

func newHub(zk zksession.ZooKeeper, tasks *tasks.Set) *hub {
	return &hub{zk: zk, tasks: tasks, watches: map[target]*watch{}}
}

// get reads the znode at path and returns a waiter for its next change or its
// deletion. It costs one request. After an error there is nothing to wait for.
func (h *hub) get(ctx context.Context, path string) ([]byte, zksession.Stat, *waiter, error) {
	v, w, err := h.look(ctx, target{path: path})
	return v.data, v.stat, w, err
}

// list lists the children of the znode at path and returns a waiter for the next
// to come or go. It costs one request. After an error there is nothing to wait for.
func (h *hub) list(ctx context.Context, path string) ([]string, *waiter, error) {
	v, w, err := h.look(ctx, target{path, true})
	return v.names, w, err
}

func (h *hub) look(ctx context.Context, t target) (view, *waiter, error) {
	for {
		h.mu.Lock()
		w := h.watches[t]
		if w == nil {
			w, me := h.arm(t)
			h.mu.Unlock()
			select {
			case <-w.armed:
			case <-ctx.Done():
				me.stop()
				return view{}, nil, tasks.Ended(ctx)
			}
			if w.err != nil {
				return view{}, nil, w.err
			}
			return w.seen, me, nil
		}
		select {
		case <-w.armed:
		default:
			// Reading now could be served before the watch is set, and miss a
			// change between the two.
			h.mu.Unlock()
			select {
			case <-w.armed:
				if w.err != nil && !errors.Is(w.err, zksession.ErrNoNode) {
					return view{}, nil, w.err
				}
				continue
			case <-ctx.Done():
				return view{}, nil, tasks.Ended(ctx)
			}
		}
		// The watch is set and has not fired as far as we know: it covers
		// every change after a read that starts now.
		me := h.join(w)
		h.mu.Unlock()
		v, err := h.read(ctx, t)
		if err != nil {
			me.stop()
			return view{}, nil, err
		}
		return v, me, nil
	}
}

// arm starts a watch with its first waiter. h.mu is held.
func (h *hub) arm(t target) (*watch, *waiter) {
	w := &watch{armed: make(chan struct{}), waiters: map[*waiter]bool{}}
	me := h.join(w)
	me.first = true
	h.watches[t] = w
	started := h.tasks.Start(func() {
		// Without the waiter's context: an abandoned request would leave a watch that this hub does not know of.
		w.seen, w.err = h.watch(context.Background(), t, func(e zksession.Event) { h.fire(t, w, e) })
		if w.err != nil {
			h.mu.Lock()
			delete(h.watches, t) // this is w, because no other is armed while w is there
			h.mu.Unlock()
		}
		close(w.armed)
	})
	if !started {
		w.err = h.zk.Err()
		delete(h.watches, t)
		close(w.armed)
	}
	return w, me
}

func (h *hub) read(ctx context.Context, t target) (v view, err error) {
	if t.list {
		v.names, err = h.zk.Children(ctx, t.path)
	} else {
		v.data, v.stat, err = h.zk.Get(ctx, t.path)
	}
	return v, err
}

func (h *hub) watch(ctx context.Context, t target, fired func(zksession.Event)) (v view, err error) {
	if t.list {
		v.names, err = h.zk.ChildrenW(ctx, t.path, fired)
	} else {
		v.data, v.stat, err = h.zk.GetW(ctx, t.path, fired)
	}
	return v, err
}

// join adds a waiter. h.mu is held.
func (h *hub) join(w *watch) *waiter {
	me := &waiter{C: make(chan zksession.Event, 1), hub: h, watch: w}
	w.waiters[me] = true
	return me
}

func (h *hub) fire(t target, w *watch, e zksession.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watches[t] == w {
		delete(h.watches, t)
	}
	for me := range w.waiters {
		me.C <- e // has room: this is the only event
	}
	w.waiters = nil
}

// events returns where the waiter's event comes. A nil waiter gets none.
func (w *waiter) events() <-chan zksession.Event {
	if w == nil {
		return nil
	}
	return w.C
}

// stop ends the waiter's wait. The watch stays for the next waiter. Stopping a nil waiter does nothing.
func (w *waiter) stop() {
	if w == nil {
		return
	}
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	delete(w.watch.waiters, w)
}
