package broken_test

import (
	"context"
	"errors"
	"time"

	"locklab/recipes"
	"locklab/recipes/broken"
	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// missingOwn closes the session after the znode was created and before the client asks for the list.
func missingOwn(w *world) {
	a, b := w.client(options{}), w.client(options{})
	a.wire.OnLoss(a.kill)
	a.wire.Cut(wire.OpChildren, 1)
	first := a.betweenSessions()
	second := b.start(b.ways.Write).held()
	w.exclusion(claim{who: "a", hold: first}, claim{who: "b", hold: second})
}

// staleOwn gives the client a new session between the create and the list. The service keeps the old session until
// the acquire has returned.
func staleOwn(w *world) {
	// No client keeps the old session alive, so its timeout has to be long enough.
	a, b := w.client(options{timeout: 20 * time.Second}), w.client(options{})
	a.wire.OnLoss(a.wire.Disown)
	a.wire.Cut(wire.OpChildren, 1)
	first := a.betweenSessions()
	w.until("the old session is closed", func() bool { return a.wire.KillDisowned(w.servers[0]) })
	second := b.start(b.ways.Write).held()
	w.exclusion(claim{who: "a", hold: first}, claim{who: "b", hold: second})
}

// betweenSessions acquires the lock. The acquire either fails together with the session or returns a hold that it
// should not have.
func (c *client) betweenSessions() *recipes.Hold {
	c.w.t.Helper()
	p := c.start(c.ways.Write).wait()
	c.broke(1)
	if p.err != nil && !errors.Is(p.err, zksession.ErrSessionExpired) {
		c.w.t.Errorf("acquire: %v", p.err)
	}
	return p.hold
}

// localReentry closes the holder's session, and enters again after another client has the lock.
func localReentry(w *world) {
	a, b := w.client(options{}), w.client(options{})
	first := a.start(a.ways.Write).held()
	a.kill()
	second := b.start(b.ways.Write).held()
	<-first.Context().Done()
	again := a.startUnder(context.WithoutCancel(first.Context()), a.ways.Write)
	if w.queuedBehind(again, a, w.nodes(w.path)[0].path) {
		return // the client queued as a new contender
	}
	w.exclusion(claim{who: "b", hold: second}, claim{who: "a, again", hold: again.hold})
}

// localRead closes the writer's session, and downgrades after another writer has the lock.
func localRead(w *world) {
	a, b := w.client(options{}), w.client(options{})
	first := a.start(a.ways.Write).held()
	a.kill()
	second := b.start(b.ways.Write).held()
	<-first.Context().Done()
	read, _ := a.ways.Downgrade(w.ctx, first)
	w.exclusion(claim{who: "b", hold: second}, claim{who: "a, reading", hold: read, reader: true})
}

// forgetfulSession breaks the holder's connection, and makes the servers give it another session.
func forgetfulSession(w *world) {
	a, b := w.client(options{}), w.client(options{})
	first := a.start(a.ways.Write).held()
	next := b.start(b.ways.Write)
	w.queuedBehind(next, b, w.nodes(w.path)[0].path)
	a.wire.Forget()
	a.wire.Cut(wire.OpPing, 1)
	w.until("the connection breaks", func() bool { return a.wire.Losses() == 1 })
	second := next.held()
	select {
	case <-first.Context().Done():
	default:
		w.found(broken.BeliefExclusion, "a believes that it holds in session %x, whose znode is gone, beside b in %x",
			uint64(first.Session()), uint64(second.Session()))
	}
}
