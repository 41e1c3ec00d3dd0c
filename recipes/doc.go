// Package recipes is locks on ZooKeeper: a thin session wrapper, and one file for
// each algorithm. It is a library of its own and knows nothing of who uses it.
//
// In flow a list of servers, by way of [Connect]; out flow [Hold] values from
// [Lock.Acquire]. Below, the recipes speak to the service through one interface,
// [ZooKeeper], which a simulated service can implement as well.
//
// # Layers
//
//	Mutex, RW, FairRW, NaiveRW,    the algorithms
//	NaiveMutex, NoLock
//	line, place                    what those that queue have in common; each adds the rule who waits for whom
//	creator, hub, janitor, guard   a create that survives a lost reply; shared watches; the
//	                               removal of leftovers; the end of a hold whose znode is gone
//	Session                        one session's share of these
//	ZooKeeper                      the seam
//	connection                     go-zookeeper, tied to exactly one session
//
// # What is promised
//
// At the service no two holds of one exclusive lock overlap, and no hold of a writer overlaps
// any other: a hold is granted only while
// its znode, created in this very session, is an eligible one, and lasts there until
// that znode goes.
//
// A client can believe longer than that. It learns of its loss from the service, so not while it
// is stopped, or cut off from the service, or its server is cut off from the leader. [Hold.Context]
// ends as soon as the client can know. What a client does with a lock it no longer holds is for
// the protected resource to refuse, by [Hold.Token].
//
// A [Session] is one ZooKeeper session and is never renewed. Nothing is ever
// executed under a successor.
//
// # Whatever goes wrong
//
//   - Connection loss: nothing ends by it. Waiters go on waiting; requests of unknown outcome are
//     resolved after the reconnect, as said below; a hold stays, and [SessionConfig].OnState tells.
//   - Expiry (and Close): every Acquire returns it, every hold ends with it as its cause. The service
//     removes the znodes.
//   - Timeout and cancellation: Acquire and Release return at once. What an Acquire had begun
//     is undone in the background, what a Release had begun is finished there, for as long as the
//     session lives. A request under way when the context ends is waited for in the
//     background, so that a create that succeeds late leaves no znode.
//   - A znode of ours deleted by somebody else: a waiter queues again, at the end; a holder's context
//     ends with ErrLockLost. A znode's data being changed does no harm.
//
// # Mutex
//
// Layout: below the lock's path one ephemeral sequential znode for each contender,
// "_c_" + UUID + "-lock-" + ten digits, which is Curator's form. The path itself, and what is
// missing above it, is created as containers when a create has found it missing.
//
// Requests: 4 in 3 round trips without contention (create; getChildren and getData with a watch on
// the own znode, together; delete). A contender that waits adds 2 (getData with a watch on
// its predecessor; getChildren again when that has gone): 6. It adds those 2 again each
// time a predecessor leaves that was not the head, that is, gave up.
//
// Watches fired per release: 2, one at the successor and the holder's own. Nobody else wakes.
//
// Lost replies: to a create, by sync, a search for the UUID and a look at the owner; if there is
// none it is created again. To a delete, by repeating it: the name is unique. To a read, by repeating it.
//
// Foreign children: those whose name does not end in "lock-" and a sequence number
// are ignored (Curator would queue behind some of them). Those that do take part in the
// queue, whoever made them. Fairness: first come, first served, by the order of
// the creates at the service.
//
// Limit: 2147483646 creates in the directory's lifetime; see [ErrSequenceExhausted].
//
// # RW
//
// Guarantees: a writer holds alone, readers hold together, both are served in the order of the
// creates at the service: a reader waits for the writers that came before it and for nobody else, a
// writer for everybody. So neither starves the other. A writer can become a reader without a gap.
// A reader cannot become a writer: ErrUpgrade.
//
// Layout: in the lock's path one ephemeral sequential znode for each contender, "_c_" + UUID +
// "-__READ__" or "-__WRIT__" + ten digits, which is Curator's form. The path is created as Mutex's is.
//
// Tokens: a writer's rises over those of all who held before it. Readers' rise over those of the writers before
// them, and have no order among each other.
//
// Requests: as Mutex's, 4 in 3 round trips without contention and 6 for a contender that waits, reader or writer. A
// writer adds 2 each time the contender just before it leaves while others before it stay, which happens
// where readers leave in another order than they came. A reader adds 2 for each writer before it that
// is still there when the last one before it gives up.
//
// Watches fired per release: the holder's own, and those who watch it. A reader watches the last writer
// before it, a writer the contender just before it: so the release of a writer wakes the readers up to the next
// writer, all of whom get in, or that writer; the release of a reader wakes one writer or nobody.
//
// Downgrade: one transaction checks that the writer's znode exists and creates the reader's with the
// writer's number, so that it stands in the writer's place: who is behind the writer is behind the reader.
// The reader's token is the writer's. Requests: 3 (multi; getData with a watch on the new znode; delete of the writer's).
// [RW.ReadUnder] is the same without the delete. A lost reply to the transaction is resolved by sync and a look
// at the znode, whose name is unique; if it is not there the transaction is repeated. Expiry: nothing is held. Timeout and
// cancellation before the read hold is there: the write hold goes on, and a reader's znode that comes into being late is
// removed. A write hold that was lost, known or not, is refused with ErrLockLost and leaves no znode.
//
// Connection loss, expiry, timeout, cancellation, lost replies, foreign children, limit: as Mutex. Of Curator's clients, those
// before 5.5 downgrade by queueing again, which lets a writer in beside them; later ones do it by a flag of their own, not by
// a transaction, so that one that has lost its session can get in beside a writer. Nobody but they can mend that.
//
// # FairRW
//
// As RW, with the znodes' names "_c_" + UUID + "-read-" or "-write-" + ten digits, and without a downgrade.
//
// # NaiveRW
//
// Guarantees and layout as FairRW, whose clients take part in the same queue. Every waiter watches the list of the directory.
//
// Requests: 4 in 3 round trips without contention (create; getChildren with a watch and getData with a watch on the own
// znode, together; delete). A waiter adds one getChildren for each time that anybody comes or goes while it waits: 5 at the least.
//
// Watches fired per release: the holder's own, and one for each session with a waiter, whatever it waits for, besides those
// of sessions that have stopped waiting since the last change. An arrival fires them too. Waiters
// in one session share a watch. What a holder's list leaves behind goes with its release.
//
// Whatever goes wrong: as Mutex.
//
// # NaiveMutex
//
// Layout: the lock's path is the one ephemeral znode, whose data is the attempt's UUID.
//
// Requests: 3 without contention (create; getData with a watch; delete). A waiter needs 2 for each
// time it tries. With n waiters a release wakes all n and fires n+1 watches where each waiter has a
// session of its own; waiters in one session share a watch.
//
// Lost replies: to a create, by sync and another create, which finds the znode of the first; its owner and
// data say whose it is. To a delete, by sync and a look whether the znode is still the one created
// by this hold's transaction: a blind repetition would delete the next holder's. If
// somebody deletes a holder's znode by force and another client takes the lock before the
// holder has heard of it, a release in that moment deletes the other's znode: the one place where foreign
// interference costs more than the hold it was aimed at.
//
// Fairness: none.
//
// # NoLock
//
// No znode, no request, no token. It is the control for those who look for overlaps.
package recipes
