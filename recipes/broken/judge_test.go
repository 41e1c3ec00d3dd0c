package broken_test

import (
	"fmt"
	"slices"
	"strings"

	"locklab/recipes"
	"locklab/recipes/broken"
)

// A claim is a client's attempt to hold the lock, and the hold that it was granted, if any.
type claim struct {
	who    string
	hold   *recipes.Hold // nil if none was granted
	reader bool
}

// exclusion judges the holds granted so far by the znodes that the service has. Each hold must have a znode of its
// own session that no earlier znode excludes, and no two holds may exclude each other.
func (w *world) exclusion(claims ...claim) {
	w.t.Helper()
	w.show()
	claims = slices.DeleteFunc(claims, func(c claim) bool { return c.hold == nil || c.hold.Context().Err() != nil })
	queue := w.nodes(w.path)
	var wrong []string
	for i, c := range claims {
		if !slices.ContainsFunc(
			queue,
			func(z znode) bool { return z.owner == c.hold.Session() && eligible(queue, z, c.reader) },
		) {
			wrong = append(
				wrong,
				fmt.Sprintf("%s believes it holds in session %x, which has no eligible znode", c.who, uint64(c.hold.Session())),
			)
		}
		for _, other := range claims[:i] {
			if !c.reader || !other.reader {
				wrong = append(wrong, fmt.Sprintf("%s and %s hold at once", other.who, c.who))
			}
		}
	}
	if wrong != nil {
		w.found(broken.ServiceExclusion, "%s", strings.Join(wrong, "; "))
	}
}

// eligible reports whether no earlier contender excludes a znode.
func eligible(queue []znode, z znode, reader bool) bool {
	return z.reader == reader &&
		!slices.ContainsFunc(queue, func(o znode) bool { return o.seq < z.seq && (!reader || !o.reader) })
}

// robbed judges the holder of a lock that has one znode and that has not been told of any loss. If its znode is gone,
// the next client to acquire the lock holds it at the same time.
func (w *world) robbed(holder *recipes.Hold, next *client) {
	w.t.Helper()
	if z, ok := w.node(w.path); ok && z.czxid == holder.Token() {
		return
	}
	other := next.start(next.ways.Write).held()
	w.show()
	if holder.Context().Err() == nil {
		w.found(broken.BeliefExclusion, "token %x holds in session %x, and so does token %x in session %x",
			holder.Token(), uint64(holder.Session()), other.Token(), uint64(other.Session()))
	}
}

// stuck waits until one of the acquires under way returns, or until it has proof that none ever will. It reports
// whether it has that proof. A sound lock never shows such a state, even for a moment.
func (w *world) stuck(proof func() string, all ...*pending) bool {
	w.t.Helper()
	ended := func() bool { return slices.ContainsFunc(all, (*pending).ended) }
	why := ""
	w.until("an acquire returns, or never can", func() bool {
		if !ended() {
			why = proof()
		}
		return why != "" || ended()
	})
	if ended() {
		return false // an acquire returned before the proof, or there was none
	}
	w.show()
	w.found(broken.Liveness, "%s", why)
	return true
}

// queuedBehind waits until an acquire has returned, or waits for a znode to go. It reports whether the acquire waits.
func (w *world) queuedBehind(p *pending, c *client, path string) bool {
	w.t.Helper()
	w.until("the acquire returns, or waits", func() bool {
		return p.ended() || w.watches(c.session(), path) || w.watchesOwn(c)
	})
	return !p.ended()
}
