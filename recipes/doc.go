// Package recipes implements locks on ZooKeeper: [Mutex], read/write locks ([RW]), [Semaphore], several locks held as
// one ([Multi]), elections ([Leader]), and a [SharedCount]. Curator's locks can share their paths. It is a library of
// its own and imports nothing of the harness.
//
// The specification beside this page, SPEC.md, says for each lock what is guaranteed, which znodes it makes, how many
// requests and watches it costs, and what happens at each failure.
//
// # Start
//
// A program imports this package alone, connects once, makes its locks, and works under them with [Do]:
//
//	session, err := recipes.Connect(ctx, recipes.SessionConfig{
//		Config: recipes.Config{Servers: []string{"zk1:2181", "zk2:2181", "zk3:2181"}},
//	})
//	…
//	defer session.Close(ctx)
//	mutex, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: "/locks/report"})
//	…
//	err = recipes.Do(ctx, mutex, func(ctx context.Context, hold *recipes.Hold) error {
//		return write(ctx, hold.Token(), "done") // ctx ends with the hold
//	})
//
// A [Session] is one ZooKeeper session and is never renewed. A program that runs for longer than a session lasts uses a
// [Renewer]. Holds and waiters survive a broken connection, and nothing survives the end of the session.
//
// # Promise
//
// At the service no two holds of one exclusive lock overlap, no hold of a writer overlaps any other hold, and a
// semaphore never has more permits granted than it has at that moment. The queue is first come, first served. [NoLock],
// [ZKLock] and [NaiveMutex] are here to be compared with, and promise less or nothing.
//
// A client can believe in its hold for longer, because it learns of a loss from the service: it cannot while it is
// stopped, or cut off. So the protected resource must refuse a client that holds the lock no more. [Hold.Token] rises
// from holder to holder: the resource remembers the highest token that it has seen, and refuses lower ones. Inside
// ZooKeeper, [Hold.Multi] adds to a transaction the condition that the hold still exists.
//
// # Loss
//
// [Hold.Context] ends as soon as the client can know of a loss, when the service has been silent for the session
// timeout, or earlier with a lease clock ([SessionConfig].LeaseClock). [Hold.Valid] can be asked just before a use.
//
// A lost hold keeps others waiting until it is released, as long as its session lives, because only the holder knows
// when its work has stopped. So release every hold, lost ones too; [Do] does that, and is to be preferred to Acquire. A
// lost hold that is not released is logged.
//
// # Errors
//
// Acquire returns the session's end (see [Session.Err]), the refusal of an ACL ([ErrNoAuth]), or the cause of
// its context. A broken connection is no error: the request is resolved after the reconnect. When a context ends,
// Acquire returns at once and what it had begun is undone in the background; Release and Close give the service one
// second more.
//
// # Five examples
//
//   - Work in turn, for months: [Renewer].
//   - One of several processes leads: [Leader.Run].
//   - At most four at a time: [Semaphore].
//   - Readers and writers, and a writer that becomes a reader: [RW].
//   - State inside ZooKeeper, without tokens: [Hold.Multi].
//
// # Credentials, TLS and tests
//
// [Config] has the servers, the credentials, the ACL of what is created, and the dialer for TLS; [zksession.ACL] says
// what an ACL must not allow. Package zktest has a ZooKeeper in memory for tests of a program that uses these locks.
// The race detector reports a data race of go-zookeeper's when it reconnects; SPEC.md says how
// to test without that.
package recipes
