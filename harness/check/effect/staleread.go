package effect

import (
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// staleRead looks at an accepted read of a counter, or of the last element of a list, which holders of permits need not
// protect. The resource serves one
// access after the other, so by its own record a read sees the newest write. One that sees another is the resource's
// fault, whoever reads: no overlap of holds explains it.
func (x *Effects) staleRead(l *LockEffect, e *history.Event) {
	newest := int64(0)
	if l.lastWrite != nil {
		newest = l.lastWrite.Access().Value
	}
	if e.Op == history.OpRead && e.Mode != history.ModePermit && e.Access().Value != newest {
		x.staleReads++
		x.find(evidence.KindStaleRead, e, l.lastWrite, "%s read %d, although the newest value was %d", e.Client,
			e.Access().Value, newest)
	}
}

// A granted hold of a counter in ZooKeeper must see at least what had been acknowledged by then.
type granted struct {
	hold   holdKey
	newest *history.Event // the highest write acknowledged by then; nil if there was none
}

// grants notes what had certainly been acknowledged when a client was granted the lock of a counter in ZooKeeper.
func (x *Effects) grants(e *history.Event) {
	if x.zkMulti && e.Kind == history.OK {
		l := x.of(e.Lock)
		newest := l.highest
		if newest != nil && !x.certainlyBefore(newest, e) {
			newest = nil
		}
		l.granted[e.Client] = granted{keyOf(e), newest}
	}
}

// certainlyBefore reports whether an event was before another one, or at the same time, whatever the clocks of the two
// may be off each other.
func (x *Effects) certainlyBefore(first, second *history.Event) bool {
	return first.At+x.Apart(first.Process, second.Process) <= second.At
}

// staleReadInZooKeeper looks at a read of a counter in ZooKeeper. The server that showed a client its grant had carried
// out everything before it, the earlier holders' writes among that. So the client's reads see no less than what was
// acknowledged when it was granted the lock, even if it has lost the lock since.
func (x *Effects) staleReadInZooKeeper(l *LockEffect, e *history.Event) {
	g := l.granted[e.Client]
	if e.Op != history.OpRead || g.hold != keyOf(e) || g.newest == nil {
		return
	}
	if newest := g.newest.Access().Value; e.Access().Value < newest {
		x.staleReads++
		x.find(evidence.KindStaleRead, e, g.newest,
			"%s read %d, although %d had been acknowledged when it was granted the lock",
			e.Client, e.Access().Value, newest)
	}
}

// reader notes what was accepted of a reader. A client that can read two values under one read hold did not have a
// read lock.
func (x *Effects) reader(l *LockEffect, e *history.Event) {
	x.reads = true
	k := keyOf(e)
	switch first := l.seen[k]; {
	case e.Op == history.OpExit:
		delete(l.seen, k)
	case e.Op != history.OpRead:
	case first == nil:
		l.seen[k] = kept(e)
	case first.Access().Value != e.Access().Value:
		x.torn++
		x.note(damage{lock: l, e: e, by: l.lastWrite, until: history.None,
			finding: x.find(evidence.KindTornRead, e, first, "%s read %d and then %d under one read hold", e.Client,
				first.Access().Value, e.Access().Value)})
	}
}
