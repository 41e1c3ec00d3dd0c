package zksession

import "locklab/recipes/zkproto"

// After a reconnect, go-zookeeper sets all watches again, by requests that name a transaction. A server fires at once
// each watch whose znode has changed since, and sets the others. So the transaction must be one up to which the client
// has heard of every change that it watched for.
//
// That is not the newest transaction that an answer told of. On a new connection, the answer to another request may
// come before the watches are set again, and tell of a change that nobody hears of until then. If the connection breaks
// in between, and the next one named the transaction of that answer, its server would not fire the watch. So an answer
// counts only on a connection on which all watches are set. Java's client needs no such rule, because it sends nothing
// else before it has set its watches.
//
// An older transaction than necessary does no harm: a watch fires although nothing has changed, and its owner looks.
type rewatch struct {
	// set is how many watches go-zookeeper may have, counted from before the request to the event.
	set int
	// longest is the length of the longest path of a watch.
	longest int
	// inForce says that the present connection has all watches.
	inForce bool
	// heard is the newest transaction up to which no watch has missed a change.
	heard int64
}

// rewatchLimit is the length in bytes of the paths from which on go-zookeeper divides the watches among several
// requests. It sends each when the one before is answered.
const rewatchLimit = 128 << 10

// add counts a watch that is about to be set.
func (w *rewatch) add(path string) {
	w.set++
	w.longest = max(w.longest, len(path))
}

// remove uncounts a watch that was not set, or is over.
func (w *rewatch) remove() { w.set-- }

// dialled begins a connection.
func (w *rewatch) dialled() { w.inForce = false }

// connected notes that the session is connected. Without watches there is nothing to set again.
func (w *rewatch) connected() { w.inForce = w.inForce || w.set == 0 }

// answered notes an answer. A request that sets watches again may be followed by another unless it had room for the
// longest path. If the server refuses one, all watches are over.
func (w *rewatch) answered(a answer) {
	if a.op == zkproto.OpSetWatches && a.length+4+w.longest <= rewatchLimit {
		w.inForce = true
	}
	if w.inForce {
		w.heard = max(w.heard, a.zxid)
	}
}
