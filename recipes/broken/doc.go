// Package broken is locks with a bug each that is publicly known: controls for
// whoever claims to find bugs in locks.
//
// In flow a [Client] and a path; out flow the [Ways] to hold a lock, to be used as
// any other recipe. [Locks] is the one table of them: what each does wrong, where that is known from, what makes
// it show, which check must find it and as what, and the sound recipe beside which it is to be
// seen. The package's tests read that table, and so may whoever lists the locks.
//
// How the locks are made: of the algorithms in queue.go, readwrite.go, semaphore.go and naive.go,
// which are as sound as a lock can be on a plain client, each replaces one step by a wrong one. So
// what goes wrong goes wrong by that step. What they share with most locks of the field is that a holder is
// not told when its znode is deleted by somebody else, and that a client makes a new session by
// itself; the locks of one znode all have the consequence that is queued-write's.
//
// A znode's name is Curator's, but for the locks whose bug is in the name.
package broken
