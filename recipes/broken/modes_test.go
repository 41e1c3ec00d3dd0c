package broken_test

import (
	"fmt"
	"sync/atomic"

	"locklab/recipes/broken"
	"locklab/recipes/internal/wire"
)

// laterWriters makes a writer queue behind a reader that waits for another writer.
func laterWriters(w *world) {
	holder, reader, writer := w.client(options{}), w.client(options{}), w.client(options{})
	h := holder.start(holder.ways.Write).held()
	read := reader.start(reader.ways.Read)
	w.queuedBehind(read, reader, w.nodes(w.path)[0].path)
	write := writer.start(writer.ways.Write)
	w.queuedBehind(write, writer, w.nodes(w.path)[1].path)
	w.release(h)
	if !w.stuck(func() string { return w.cycle(reader, writer) }, read, write) {
		w.release(read.held())
		w.release(write.held())
	}
}

// queuedDowngrade downgrades while another writer waits.
func queuedDowngrade(w *world) {
	a, b := w.client(options{}), w.client(options{})
	first := a.start(a.ways.Write).held()
	second := b.start(b.ways.Write)
	w.queuedBehind(second, b, w.nodes(w.path)[0].path)
	read, err := a.ways.Downgrade(w.ctx, first)
	if err != nil {
		w.t.Fatal(err)
	}
	w.until("the writer acquires, or waits for the reader", func() bool {
		q := w.nodes(w.path)
		return second.ended() || len(q) == 2 && q[0].reader && w.waits(b, q)
	})
	if !second.ended() {
		w.release(read)
	}
	w.exclusion(claim{who: "a, reading", hold: read, reader: true}, claim{who: "b", hold: second.held()})
}

// deadLease closes the session of a client that has one of two permits and waits for the other, where the recipe
// takes permits one by one.
func deadLease(w *world) {
	w.permits = 3
	holder, a := w.client(options{units: 2}), w.client(options{units: 2})
	holder.start(holder.ways.Permits).held()
	p := a.start(a.ways.Permits)
	w.until("the client waits for a permit", func() bool { return w.wantsPermit(a) })
	a.kill()
	if h := p.wait().hold; h != nil {
		leases := w.nodes(w.path + "/leases")
		if n := owned(leases, h.Session()); n != 2 {
			w.found(
				broken.ServiceExclusion,
				"a hold of 2 permits in session %x has %d leases; with the other hold that is 4 of 3 permits",
				uint64(h.Session()),
				n,
			)
		}
	}
}

// wantsPermit reports whether a client with nobody ahead of it in the queue waits for a permit. A client of this
// package's locks then has one lease more than there are permits, as Curator's clients do. A client of the sound lock
// has no lease, and has listed the queue and the leases.
func (w *world) wantsPermit(c *client) bool {
	if !w.sound {
		leases := w.nodes(w.path + "/leases")
		return owned(leases, c.session()) > 0 && len(leases) > w.permits
	}
	_, by := c.wire.Requests()
	queue := w.nodes(w.path + "/locks")
	return len(queue) > 0 && queue[0].owner == c.session() && by[wire.OpChildren] >= 2
}

// leakedLease lets a client give up while it waits for a permit.
func leakedLease(w *world) {
	holder, quitter, next := w.client(options{units: 1}), w.client(options{units: 1}), w.client(options{units: 1})
	h := holder.start(holder.ways.Permits).held()
	quitting := quitter.start(quitter.ways.Permits)
	w.until("the client waits for a permit", func() bool { return w.wantsPermit(quitter) })
	quitting.cancel()
	if quitting.wait().err == nil {
		w.t.Fatal("acquired in spite of a holder")
	}
	w.release(h)
	p := next.start(next.ways.Permits)
	if !w.stuck(func() string {
		leases := w.nodes(w.path + "/leases")
		if owned(leases, holder.session()) == 0 && owned(leases, quitter.session()) == 1 && w.wantsPermit(next) {
			return fmt.Sprintf(
				"session %x has a lease, but neither a hold nor an attempt under way; session %x waits for it",
				uint64(quitter.session()),
				uint64(next.session()),
			)
		}
		return ""
	}, p) {
		w.release(p.held())
	}
}

// partialPermits lets two clients have their turns one after the other, where the recipe takes permits one by one.
// Each goes on once the other has queued again, or has all its permits.
func partialPermits(w *world) {
	const last = 5 // arrival in the queue: the first client's third
	w.permits = 4
	var arrivals atomic.Int32
	var arrived [last + 1]chan struct{}
	for i := range arrived {
		arrived[i] = make(chan struct{})
	}
	var all [2]*pending
	started := make(chan struct{}) // both
	queued := func(other int) func(int) {
		return func(int) {
			n := arrivals.Add(1)
			if n > last {
				return
			}
			close(arrived[n])
			if n == last {
				return
			}
			var over chan struct{} // the second client starts only after the first has queued for the first time
			if n > 1 {
				<-started
				over = all[other].done
			}
			select {
			case <-arrived[n+1]:
			case <-over:
			case <-w.ctx.Done():
			}
		}
	}
	a, b := w.client(options{units: 3, queued: queued(1)}), w.client(options{units: 3, queued: queued(0)})
	first := a.start(a.ways.Permits)
	w.until("the first has queued", func() bool { return arrivals.Load() == 1 })
	second := b.start(b.ways.Permits)
	all = [2]*pending{first, second}
	close(started)
	leases, locks := w.path+"/leases", w.path+"/locks"
	if !w.stuck(func() string {
		l, q := w.nodes(leases), w.nodes(locks)
		if len(q) == 2 && q[0].owner == a.session() && w.watches(b.session(), q[0].path) &&
			owned(l, b.session()) == 2 && owned(l, a.session()) == 3 {
			return fmt.Sprintf(
				"session %x has its turn and two permits, and waits for a third; "+
					"session %x has the other two, and waits for its turn",
				uint64(a.session()),
				uint64(b.session()),
			)
		}
		return ""
	}, first, second) {
		w.release(first.held())
		w.release(second.held())
	}
}
