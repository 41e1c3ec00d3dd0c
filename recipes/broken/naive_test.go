package broken_test

import (
	"locklab/recipes"
	"locklab/recipes/internal/wire"
)

// blindDelete loses the reply to a release's delete, and lets the client reconnect once the next client has the lock.
func blindDelete(w *world) {
	robbing(w, func(a *client, h *recipes.Hold, _ <-chan struct{}) <-chan struct{} {
		a.wire.Lose(wire.OpDelete, 1)
		return w.releasing(h)
	})
}

// queuedWrite releases while the client is cut off, closes its session, and lets it reconnect once the next client
// has the lock.
func queuedWrite(w *world) {
	robbing(w, func(a *client, h *recipes.Hold, cutOff <-chan struct{}) <-chan struct{} {
		a.wire.Cut(wire.OpPing, 1)
		w.ends("the client is cut off", cutOff)
		done := w.releasing(h)
		<-h.Context().Done()
		a.kill()
		return done
	})
}

// robbing lets a client release under a fault, which cuts it off, while another client waits, and then checks whether
// the other client's znode is still there.
func robbing(w *world, trouble func(a *client, h *recipes.Hold, cutOff <-chan struct{}) <-chan struct{}) {
	a, b, c := w.client(options{}), w.client(options{}), w.client(options{})
	h := a.start(a.ways.Write).held()
	next := b.start(b.ways.Write)
	w.queuedBehind(next, b, w.path)
	cutOff := make(chan struct{})
	a.wire.OnLoss(func() {
		a.wire.Refuse(true)
		close(cutOff)
	})
	done := trouble(a, h, cutOff)
	second := next.held()
	w.ends("the client is cut off", cutOff) // the other client may have the lock before this one loses the reply
	a.wire.Refuse(false)
	w.ends("the release returns", done)
	a.broke(1)
	w.robbed(second, c)
}

// releasing begins a release, and ignores its outcome.
func (w *world) releasing(h *recipes.Hold) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Release(w.ctx)
	}()
	return done
}
