package broken_test

import (
	"fmt"
	"slices"
	"time"

	"locklab/recipes"
	"locklab/recipes/broken"
	"locklab/recipes/internal/wire"
)

// lostCreate loses the reply to a create.
func lostCreate(w *world) { losingCreate(w, nil) }

// unsyncedSearch loses the reply to a create, and lets the client reconnect to a server that lags behind.
func unsyncedSearch(w *world) { losingCreate(w, (*wire.Wire).Lag) }

func losingCreate(w *world, then func(*wire.Wire)) {
	a := w.client(options{})
	if then != nil {
		a.wire.OnLoss(func() { then(a.wire) })
	}
	create := wire.OpCreate
	if w.sound {
		create = wire.OpCreate2
	}
	a.wire.Lose(create, 1)
	p := a.start(a.ways.Write)
	if !w.stuck(func() string {
		if q := w.nodes(w.path); owned(q, a.session()) == 2 && len(q) == 2 && w.watches(a.session(), q[0].path) {
			return fmt.Sprintf(
				"session %x, the only one in the queue, waits behind its own %s",
				uint64(a.session()),
				q[0].path,
			)
		}
		return ""
	}, p) {
		w.release(p.held())
	}
	a.broke(1)
}

// nameOrder gives the second contender a session with a lower id than the first one's.
func nameOrder(w *world) {
	a, b := w.client(options{only: 3}), w.client(options{only: 1})
	if a.session() < b.session() {
		w.t.Fatalf("sessions %x and %x: the first server's ids are not the lower ones", a.session(), b.session())
	}
	first := a.start(a.ways.Write).held()
	second := b.start(b.ways.Write)
	if w.queuedBehind(second, b, w.nodes(w.path)[0].path) {
		w.release(first)
		first = nil
	}
	w.exclusion(claim{who: "a", hold: first}, claim{who: "b", hold: second.held()})
}

// wrongPredecessor makes a waiter look again when the contender behind it has a session id that is lower than the
// waiter's own and higher than the holder's.
func wrongPredecessor(w *world) {
	holder, quitter := w.client(options{only: 1}), w.client(options{only: 2})
	high, low := w.client(options{only: 3}), w.client(options{only: 2})
	h := holder.start(holder.ways.Write).held()
	var queue []znode
	join := func(c *client, n int) *pending {
		p := c.start(c.ways.Write)
		w.until("it waits", func() bool { queue = w.nodes(w.path); return len(queue) == n && w.waits(c, queue) })
		return p
	}
	quitting, first, second := join(quitter, 2), join(high, 3), join(low, 4)
	quitting.cancel()
	w.until("the rest wait", func() bool {
		queue = w.nodes(w.path)
		return len(queue) == 3 && w.waits(high, queue) && w.waits(low, queue)
	})
	w.release(h)
	if !w.stuck(func() string { return w.cycle(high, low) }, first, second) {
		w.release(first.held())
		w.release(second.held())
	}
}

// watchesOther reports whether a client waits for a znode that is not its own.
func (w *world) watchesOther(c *client, queue []znode) bool {
	return slices.ContainsFunc(
		queue,
		func(z znode) bool { return z.owner != c.session() && w.watches(c.session(), z.path) },
	)
}

// waits reports whether a client waits in a queue. One that waits for a single contender, and is sound, watches its own
// znode and the children of the other one, and servers do not report watches on children.
func (w *world) waits(c *client, queue []znode) bool {
	return w.watchesOther(c, queue) || w.watchesOwn(c)
}

// watchesOwn reports whether a client watches a znode of its own in the queue.
func (w *world) watchesOwn(c *client) bool {
	return slices.ContainsFunc(
		w.nodes(w.path),
		func(z znode) bool { return z.owner == c.session() && w.watches(c.session(), z.path) },
	)
}

// cycle describes two clients that wait for each other and are the only ones in the queue. It returns an empty string
// if there is no such cycle.
func (w *world) cycle(a, b *client) string {
	q := w.nodes(w.path)
	if len(q) != 2 || owned(q, a.session()) != 1 || owned(q, b.session()) != 1 || !w.watchesOther(a, q) ||
		!w.watchesOther(b, q) {
		return ""
	}
	return fmt.Sprintf(
		"sessions %x and %x, the only ones in the queue, watch each other's znodes",
		uint64(a.session()),
		uint64(b.session()),
	)
}

// lostWakeup lets the holder leave after the waiter has seen it and before the waiter watches it.
func lostWakeup(w *world) {
	other := w.client(options{})
	var h *recipes.Hold
	a := w.client(options{queued: func(int) { _ = h.Release(w.ctx) }})
	h = other.start(other.ways.Write).held()
	gone := w.nodes(w.path)[0].path
	p := a.start(a.ways.Write)
	if !w.stuck(func() string {
		if q := w.nodes(w.path); len(q) == 1 && q[0].owner == a.session() && w.watches(a.session(), gone) {
			return fmt.Sprintf(
				"session %x is first in the queue and watches %s, which is gone for good",
				uint64(a.session()),
				gone,
			)
		}
		return ""
	}, p) {
		w.release(p.held())
	}
}

// cancelledCleanup lets a waiter give up.
func cancelledCleanup(w *world) {
	// A client that has not cleaned up a few heartbeats after it gave up never will.
	const heartbeats = 4
	holder, quitter, next := w.client(
		options{},
	), w.client(
		options{timeout: 1500 * time.Millisecond},
	), w.client(
		options{},
	)
	h := holder.start(holder.ways.Write).held()
	quitting := quitter.start(quitter.ways.Write)
	w.queuedBehind(quitting, quitter, w.nodes(w.path)[0].path)
	quitting.cancel()
	if quitting.wait().err == nil {
		w.t.Fatal("acquired in spite of a holder")
	}
	before := quitter.wire.Pings()
	w.release(h)
	p := next.start(next.ways.Write)
	if !w.stuck(func() string {
		q := w.nodes(w.path)
		if quitter.wire.Pings() >= before+heartbeats && len(q) == 2 && q[0].owner == quitter.session() &&
			w.waits(next, q) {
			return fmt.Sprintf(
				"%s is left by an attempt that has ended, and session %x waits for it",
				q[0].path,
				uint64(next.session()),
			)
		}
		return ""
	}, p) {
		w.release(p.held())
	}
}

// sequenceToken removes the lock's directory between two holds.
func sequenceToken(w *world) {
	a := w.client(options{})
	last := int64(0)
	use := func() {
		h := a.start(a.ways.Write).held()
		if h.Token() <= last {
			w.found(broken.Tokens, "token %d after %d", h.Token(), last)
		}
		last = h.Token()
		w.release(h)
	}
	use()
	use()
	if err := w.service.Delete(w.path, -1); err != nil {
		w.t.Fatal(err)
	}
	use()
}
