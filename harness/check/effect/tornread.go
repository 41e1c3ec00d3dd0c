package effect

import (
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

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
