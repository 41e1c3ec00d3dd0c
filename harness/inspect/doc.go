// Package inspect tells who holds the locks of a live ensemble and who waits for them, by reads alone.
//
// In flow: the way to an ensemble, and a path. Out flow: a [Report] of one lock with a [Verdict], or of all locks below
// a path, in the layouts of the common clients. The number of requests is bounded, none of them writes, and no watch is
// left. The session that they need is their only trace.
//
// Who is eligible is decided by the rules of package nodes, as the checks of runs decide it. What a client believes
// cannot be read from an ensemble, and neither can what it does with the lock.
package inspect
