package broken_test

import (
	"context"
	"errors"
	"time"

	"locklab/recipes"
	"locklab/recipes/internal/wire"
)

// missingOwn closes the session when the znode is there and the list has not been asked for.
func missingOwn(w *world) {
	a, b := w.client(options{}), w.client(options{})
	a.wire.OnLoss(a.kill)
	a.wire.Cut(wire.OpChildren, 1)
	first := a.betweenSessions()
	second := b.start(b.ways.Write).held()
	w.exclusion(claim{who: "a", hold: first}, claim{who: "b", hold: second})
}

// staleOwn gives the client a new session at that point, while the old one goes on at the service until
// the client has acquired, or not.
func staleOwn(w *world) {
	// The old session has no client meanwhile, and must not expire before its time.
	a, b := w.client(options{timeout: 20 * time.Second}), w.client(options{})
	a.wire.OnLoss(a.wire.Disown)
	a.wire.Cut(wire.OpChildren, 1)
	first := a.betweenSessions()
	w.until("the old session is closed", func() bool { return a.wire.KillDisowned(w.servers[0]) })
	second := b.start(b.ways.Write).held()
	w.exclusion(claim{who: "a", hold: first}, claim{who: "b", hold: second})
}

// betweenSessions acquires, which fails with the session or makes a hold that there should not be.
func (c *client) betweenSessions() *recipes.Hold {
	c.w.t.Helper()
	p := c.start(c.ways.Write).wait()
	c.broke(1)
	if p.err != nil && !errors.Is(p.err, recipes.ErrSessionExpired) {
		c.w.t.Errorf("acquire: %v", p.err)
	}
	return p.hold
}

// localReentry closes the holder's session and enters again when another has the lock.
func localReentry(w *world) {
	a, b := w.client(options{}), w.client(options{})
	first := a.start(a.ways.Write).held()
	a.kill()
	second := b.start(b.ways.Write).held()
	<-first.Context().Done()
	again := a.startUnder(context.WithoutCancel(first.Context()), a.ways.Write)
	if w.queuedBehind(again, a, w.nodes(w.path)[0].path) {
		return // as somebody new
	}
	w.exclusion(claim{who: "b", hold: second}, claim{who: "a, again", hold: again.hold})
}

// localRead closes the writer's session and downgrades when another has the lock.
func localRead(w *world) {
	a, b := w.client(options{}), w.client(options{})
	first := a.start(a.ways.Write).held()
	a.kill()
	second := b.start(b.ways.Write).held()
	<-first.Context().Done()
	read, _ := a.ways.Downgrade(w.ctx, first)
	w.exclusion(claim{who: "b", hold: second}, claim{who: "a, reading", hold: read, reader: true})
}
