package recipes

import (
	"context"
	"errors"
	"sync"
)

// A hub shares watches, of data and of children, among the waiters of one session: at most one of
// a kind is outstanding for a path, at the server and in the client, however many wait and
// give up. That matters because go-zookeeper cannot remove a watch, so that each
// short attempt behind a long holder would leave one more channel behind.
type hub struct {
	zk    ZooKeeper
	tasks *tasks

	mu      sync.Mutex
	watches map[string]*watch // by subject.key; present from the request until it fires or fails
}

// A subject is something to watch.
type subject interface {
	key() string
	read(context.Context, ZooKeeper) (reading, error)
	watch(context.Context, ZooKeeper, func(Event)) (reading, error)
}

// A reading is what a subject was when it was read.
type reading struct {
	data  []byte
	stat  Stat
	names []string
}

// A dataOf is the data of the znode at a path.
type dataOf string

func (p dataOf) key() string { return string(p) }

func (p dataOf) read(ctx context.Context, zk ZooKeeper) (reading, error) {
	data, stat, err := zk.Get(ctx, string(p))
	return reading{data: data, stat: stat}, err
}

func (p dataOf) watch(ctx context.Context, zk ZooKeeper, fired func(Event)) (reading, error) {
	data, stat, err := zk.GetW(ctx, string(p), fired)
	return reading{data: data, stat: stat}, err
}

// A childrenOf is the list of children of the znode at a path.
type childrenOf string

func (p childrenOf) key() string { return string(p) + "/" } // which no path ends in

func (p childrenOf) read(ctx context.Context, zk ZooKeeper) (reading, error) {
	names, err := zk.Children(ctx, string(p))
	return reading{names: names}, err
}

func (p childrenOf) watch(ctx context.Context, zk ZooKeeper, fired func(Event)) (reading, error) {
	names, err := zk.ChildrenW(ctx, string(p), fired)
	return reading{names: names}, err
}

// A watch is one outstanding watch.
type watch struct {
	armed chan struct{} // closed when the request has been answered, with:
	reading
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
	r, w, err := h.look(ctx, dataOf(path))
	return r.data, r.stat, w, err
}

// list lists the children of the znode at path and returns a waiter for the next
// creation or deletion of a child. It costs one request. After an error there is nothing to wait for.
func (h *hub) list(ctx context.Context, path string) ([]string, *waiter, error) {
	r, w, err := h.look(ctx, childrenOf(path))
	return r.names, w, err
}

func (h *hub) look(ctx context.Context, s subject) (reading, *waiter, error) {
	for {
		h.mu.Lock()
		w := h.watches[s.key()]
		if w == nil {
			w, me := h.arm(s)
			h.mu.Unlock()
			select {
			case <-w.armed:
			case <-ctx.Done():
				me.stop()
				return reading{}, nil, ended(ctx)
			}
			if w.err != nil {
				return reading{}, nil, w.err
			}
			return w.reading, me, nil
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
					return reading{}, nil, w.err
				}
				continue
			case <-ctx.Done():
				return reading{}, nil, ended(ctx)
			}
		}
		// The watch is set and has not fired as far as we know: it covers
		// every change after a read that starts now.
		me := h.join(w)
		h.mu.Unlock()
		r, err := s.read(ctx, h.zk)
		if err != nil {
			me.stop()
			return reading{}, nil, err
		}
		return r, me, nil
	}
}

// arm starts a watch with its first waiter. h.mu is held.
func (h *hub) arm(s subject) (*watch, *waiter) {
	w := &watch{armed: make(chan struct{}), waiters: map[*waiter]bool{}}
	me := h.join(w)
	me.first = true
	h.watches[s.key()] = w
	started := h.tasks.start(func() {
		// Without the waiter's context: an abandoned request would leave a watch
		// that nobody knows of.
		w.reading, w.err = s.watch(context.Background(), h.zk, func(e Event) { h.fire(s.key(), w, e) })
		if w.err != nil {
			h.mu.Lock()
			delete(h.watches, s.key()) // it is w: nobody arms another while w is there
			h.mu.Unlock()
		}
		close(w.armed)
	})
	if !started {
		w.err = h.zk.Err()
		delete(h.watches, s.key())
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
func (h *hub) fire(key string, w *watch, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watches[key] == w {
		delete(h.watches, key)
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
