// Package broken holds locks with one known bug each: controls for checks that claim to find bugs in locks.
//
// In flow: a plain client from [Connect] and a path. Out flow: the [Ways] to hold a lock, to be used as any other
// recipe. [Locks] is the one table of them: what each does wrong, where that is known from, what makes it show, which
// check must find it and as what, and the sound recipe that it is taken for. [Others] has the same of locks that people
// use, and [Foreign] of the locks of the command broken-lock, which a run drives as it does anybody's. All of it stands
// in bugs.json, and table.go gives each lock its constructor. The package's tests read that table, and so do the table
// of recipes in workloads/lock and `locklab repro`.
//
// How the locks are made: each takes one of the algorithms in queue.go, readwrite.go, semaphore.go and naive.go, which
// are as sound as a lock can be on a plain client, and replaces one step by a wrong one. So any failure comes from that
// step. Like most published locks, they do not tell a holder that its znode was deleted by an administrator, and their
// client makes a new session by itself. The locks of one znode all suffer from that in the way that queued-write does.
// The bug of forgetful-session is its client's alone. slow-release, late-grant and extra-request wrap the sound mutex:
// they are the controls of comparisons, not of checks.
//
// Znodes have Curator's names, except in the locks whose bug is in the name.
package broken
