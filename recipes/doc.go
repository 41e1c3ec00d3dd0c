// Package recipes is locks on ZooKeeper: a thin session wrapper, and one file for
// each algorithm. It is a library of its own and knows nothing of who uses it.
//
// In flow a list of servers, by way of [Connect]; out flow [Hold] values from
// [Lock.Acquire]. Below, the recipes speak to the service through one interface,
// [ZooKeeper], which a simulated service can implement as well.
//
// # Layers
//
//	Multi                          several locks held as one
//	Mutex, NaiveMutex, NoLock,     the algorithms
//	RW, FairRW, NaiveRW,
//	Semaphore, SemaphoreMutex,
//	SharedCount
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
// that znode goes. Of a semaphore there are never more permits granted than it has at that moment.
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
// # Semaphore
//
// Layout: below the semaphore's path, "locks", which is a Mutex's directory; and "leases", with one
// ephemeral sequential znode for each permit in use, "_c_" + UUID + "-slot" + the slot's number +
// "-lease-" + ten digits. That is Curator's form but for the slot, which Curator takes for a part of
// a name that it does not look into. The data of both is the user's. A [SharedCount] may
// say how many permits there are, at any path.
//
// An acquisition queues as for a Mutex. At the head of the queue it lists the leases, and waits while there are
// too many; then one transaction deletes its place in the queue, checks the version of the count, if shared, and
// creates the leases of all n permits. So a contender holds nothing while it waits but its
// place: two that want three of four each get them in turn. And no failure can leave
// leases without having left the queue, or the other way round. After that it reads and watches each of its
// leases, and grants only if all are there and belong to the session, which lives.
//
// Requests: 7 without contention, in 5 round trips and 1 to release (create; getChildren and getData of the queue,
// together; getChildren of the leases; the transaction; getData with a watch on the lease;
// delete). With n permits the last getData is n, together, and the delete is a transaction of n.
// With a shared count its getData goes beside each list of the leases: 1 more. A contender that
// waits for a permit adds 2 (the list with a watch, and again when it has changed), or 4 with a
// shared count; one that waits for those ahead in the queue adds what a Mutex's does. The first use
// of a path adds the creates of the directories, and a transaction that finds that there is none.
//
// Watches fired per release: 4, however many wait. The lease's holder's own; that of the
// head of the queue on the list of leases; and as that one leaves the queue, its own on its place and its
// successor's on the same. Only the head of the queue watches the list. One that gives up leaves that watch, one for each
// session and semaphore, until the leases change next. A shared count is watched by whoever had to
// wait, once for each session, until it changes.
//
// Resizing: a raised count admits who waits at the head. A lowered one takes no permit away: nobody is admitted
// until those in use have become few enough. Fairness: first come, first served, across quantities:
// who asks for many is not overtaken by those who ask for few.
//
// Tokens: [Hold.Token] together with [Hold.Slots], for each slot on its own. There are no slots, and no
// fencing, where a client that knows none (Curator's) held a permit at the time of the grant.
//
// Lost replies: to the transaction, by sync and a search for the UUID. It finds all leases, or none: then
// the transaction is tried again. If it finds some, somebody has deleted the others: these are returned, and
// the attempt starts over. To the release, by deleting one lease after the other, last to first.
//
// Connection loss, expiry, timeout and cancellation: as said above, for all n permits together. Of a
// session that ends in the middle of an acquisition no lease is returned to the caller: the acquisition fails.
//
// Foreign interference: a lease deleted by somebody else ends the hold, and the hold's other leases are returned in
// the background. A place in the queue deleted by somebody else makes the attempt start over, also if that happens while it
// waits for permits. Leases of other clients count if their names end in "lease-" and a sequence
// number; other children are ignored (Curator would count them). If clients give
// different fixed numbers, each keeps to its own; nobody finds out.
//
// Limits: those of a Mutex, for "locks"; and a transaction must fit into 128 KiB, which a hundred permits
// do with a path and data of some hundred bytes together.
//
// # SemaphoreMutex
//
// A Semaphore with one permit, and all that is said there; its slot is 0, so its tokens rise
// strictly over its holders as a Mutex's do. Not reentrant; a hold may be released by
// any goroutine. Requests: 7 without contention, 9 with. Watches fired per release: 4.
//
// # SharedCount
//
// Layout: one persistent znode, whose data is a 32-bit number, big end first. Whoever finds that there is none
// creates it with its own seed; what is missing above it is created as containers.
//
// Requests: 1 to get; 1 to set by version (TrySetCount), and a get before it to set whatever
// it was (SetCount). Lost replies: to a read, by repeating it. To a set, by sync and a look: if the
// znode is as it was before, the set is tried again; if another's value has its version, it
// was refused. Otherwise who had set it cannot be told, since four bytes have no room for a
// name: SetCount may say that it did, since it is as if the other had come right after it;
// TrySetCount returns ErrConnectionLoss.
//
// Watches: one for each session and count, however many watch. Each change fires it. Values are seen
// in the order of the transactions that made them, and the value is read again after each
// reconnect. Whoever watches does so in its own goroutine.
//
// Foreign interference: a count that is deleted is created again with the seed of whoever misses it
// first, and its versions begin anew. Data of another length than four bytes is an error.
//
// # Multi
//
// Several locks of any kind held as one. Requests, watches and what happens when things go wrong are
// those of the members, one after the other within one context. At the first failure the
// members held so far are released in reverse. What is granted was held in full at the end: a member that was
// lost while another was waited for fails the whole. Each member keeps its own token, for
// the resource that it protects. Members acquired in different orders by different clients deadlock until
// a context ends; [MultiConfig].Canonical gives all the same order.
//
// # NoLock
//
// No znode, no request, no token. It is the control for those who look for overlaps.
package recipes
