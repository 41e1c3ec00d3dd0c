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
//	SharedCount, ZKLock
//	line, place                    what those that queue have in common; each adds the rule who waits for whom
//	Hold, entries                  what they grant: its end, its re-entry, its revocation
//	creator, hub, janitor, guard   a create that survives a lost reply; shared watches; the
//	                               removal of leftovers; the end of a hold whose znode is gone
//	leaseClock, leaseRule          the end of a session's holds before the service can have expired it
//	Session                        one session's share of these
//	ZooKeeper                      the seam
//	connection                     go-zookeeper, tied to exactly one session
//
// # What is promised
//
// Of all but NoLock and ZKLock, which are here to be compared with: at the service no two holds of one exclusive lock overlap, and no hold of a writer overlaps
// any other: a hold is granted only while
// its znode, created in this very session, is an eligible one, and lasts there until
// that znode goes. Of a semaphore there are never more permits granted than it has at that moment.
//
// A client can believe longer than that. It learns of its loss from the service, so not while it
// is stopped, or cut off from the service, or its server is cut off from the leader. [Hold.Context]
// ends as soon as the client can know, or with a lease clock before. What a client does with a lock it no longer holds is for
// the protected resource to refuse, by [Hold.Token]; inside ZooKeeper [Hold.Multi] does so.
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
//     ends with ErrLockLost. A znode's data being changed does no harm, save to a NaiveMutex that has not read it yet.
//
// # Without waiting, and for a while
//
// [TryLock].TryAcquire takes its place, looks once, and where somebody is ahead takes it away again and
// returns [ErrNotAcquired]. All locks but ZKLock have it, [Multi] too. Requests where the lock is taken: 4 in 3 round trips (create; getChildren and
// getData, together; delete); for a semaphore whose permits are short 5, or 6 with a shared count; for
// NaiveMutex 2. Where it is free they are those of Acquire. It leaves no watch but NaiveMutex's, one for each session, on
// the holder's znode. Of two who try a free lock at once the first gets it; but who tries just behind one whose
// own attempt fails, fails as well, though the lock may be free by then. OnQueued is called as by Acquire.
//
// Within a time is Acquire with a deadline. It returns at the deadline and takes no last look.
//
// # Re-entry
//
// [Hold.Reenter], which asks the service nothing, for Mutex and the read/write locks, and [MultiHold.Reenter] for a Multi of such;
// the others refuse with [ErrNotReentrant]. After a loss or the last release it is refused. An Acquire by who holds is
// another contender, and waits for itself; so does a reader who asks for the write lock, unless the context says that it
// reads: [Hold.Context], or another by [Hold.Within]. Then that is ErrUpgrade.
//
// # Revocation
//
// [Session.Revoke] asks a participant to leave, by Curator's bytes as its znode's data; [Hold.Revoked] says that it was asked.
// Every hold of every lock but NaiveMutex, NoLock and ZKLock looks, from its first read of its znode on, which is made before the grant, and
// again after each change, also one that was made while it was cut off. Who was asked in the queue finds its hold revoked
// from the start, except of a semaphore, whose places in the queue are not what is held: there only
// permits count. A writer that was asked and becomes a reader is still asked. Nothing ends by it: [Session.Evict]
// deletes the znode of who has not left in time.
//
// Requests: 1 of who asks, 1 of who is asked, and 2 of a contender that watches it. Watches fired: 1 at who is asked, and 1 at each session
// that watches it. There is no other watch than the one by which a hold learns of its znode's deletion.
//
// # Mutex
//
// Guarantees: one holds at a time, first come, first served, by the order of the creates at the service. Tokens
// rise strictly over the holders.
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
// With [MutexConfig].SparseLists, in a queue of hundreds, a waiter that has held before asks for one list instead
// of two: for a hint, then for each of the up to 4 before it near the head, then for its own once more. That makes 6 requests, and one
// for each of those: 8 where there are two. All but the last read leave a watch on who is still there, so that a release
// fires 3 to 4: the holder's own, and one for each waiter that had come to it.
//
// Watches fired per release: 2, one at the successor and the holder's own. Nobody else wakes. One that
// gives up leaves its watch on the predecessor, one for each session, until that goes; otherwise none is left.
//
// Connection loss, expiry, timeout and cancellation: as said above. Lost replies: to a create, by sync, a search for the UUID and a look at the owner; if there is
// none it is created again. To a delete, by repeating it: the name is unique. To a read, by repeating it.
//
// Foreign interference: a place deleted by somebody else is taken anew, at the end of the queue; the deletion of a
// holder's znode ends the hold. Children whose name does not end in "lock-" and a sequence number
// are ignored (Curator would queue behind some of them). Those that do take part in the
// queue, whoever made them.
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
// Connection loss, expiry, timeout, cancellation, lost replies, foreign interference, limit: as Mutex. Of Curator's clients, those
// before 5.5 downgrade by queueing again, which lets a writer in beside them; later ones do it by a flag of their own, not by
// a transaction, so that one that has lost its session can get in beside a writer. Nobody but they can mend that.
//
// # FairRW
//
// Guarantees: as RW, without a downgrade.
//
// Layout: as RW, with the znodes' names "_c_" + UUID + "-read-" or "-write-" + ten digits.
//
// Requests, watches fired per release, tokens: as RW: 4 requests without contention, 6 for one that waits; 2 watches where one
// contender waits behind another.
//
// Connection loss, expiry, timeout, cancellation, foreign interference: as Mutex; the names that count are those that end in
// "read-" or "write-" and a sequence number.
//
// # NaiveRW
//
// Guarantees and layout: as FairRW, whose clients take part in the same queue. Every waiter watches the list of the directory.
//
// Requests: 4 in 3 round trips without contention (create; getChildren with a watch and getData with a watch on the own
// znode, together; delete). A waiter adds one getChildren for each time that anybody comes or goes while it waits: 5 at the least.
//
// Watches fired per release: the holder's own, and one for each session with a waiter, whatever it waits for, besides those
// of sessions that have stopped waiting since the last change: 3 where two wait. An arrival fires them too. Waiters
// in one session share a watch. What a holder's list leaves behind goes with its release.
//
// Timeout and cancellation: as said above, but for the watch on the list. Usually the removal of the own znode fires it. If
// the attempt ends while its list is under way, the list may be answered after that removal, and leaves its watch, which
// nobody can take back: at most one for each session and lock, however often it happens, until
// anybody comes or goes next, or the session ends.
//
// Connection loss, expiry, foreign interference: as FairRW. A foreign child that takes no part in the queue wakes all waiters
// by its coming and going, and does nothing else.
//
// # NaiveMutex
//
// Guarantees: one holds at a time. There is no fairness: of those who wait anybody may be next. Tokens rise strictly over the
// holders.
//
// Layout: the lock's path is the one ephemeral znode, whose data is the attempt's UUID and then the user's. What is missing above it is created as
// containers. A waiter has no znode.
//
// Requests: 3 without contention (create; getData with a watch; delete). A waiter needs 2 for each
// time it tries: 5 if the second is the last.
//
// Watches fired per release: with n waiters it wakes all n and fires n+1 watches where each waiter has a
// session of its own; waiters in one session share a watch. A waiter that gives up leaves that watch, one for each session, until the
// holder leaves.
//
// Connection loss: as said above. A lost reply to a create is resolved by sync and another create, which finds the znode of the first; its owner and
// data say whose it is. One to a delete, by sync and a look whether the znode is still the one created
// by this hold's transaction: a blind repetition would delete the next holder's.
//
// Expiry, timeout and cancellation: as said above. Who gives up while its create may still succeed has its znode looked for, by owner and
// data, and removed.
//
// Foreign interference: if somebody changes the data between the create and the first read, the attempt does not know its
// znode, and waits for it until its context ends; the znode then stays until the session ends. Whoever creates the path holds the lock; an administrator's znode of any kind does, until it is deleted. If
// somebody deletes a holder's znode by force and another client takes the lock before the
// holder has heard of it, a release in that moment deletes the other's znode: the one place where foreign
// interference costs more than the hold it was aimed at.
//
// # Semaphore
//
// Guarantees: never more permits granted than there are at that moment, and all of an acquisition's at once or none. First
// come, first served, across quantities.
//
// Layout: below the semaphore's path, "locks", which is a Mutex's directory; and "leases", with one
// ephemeral sequential znode for each permit in use, "_c_" + UUID + "-of" + the number of the place in the queue
// that it was got from + "-slot" + the slot's number + "-lease-" + ten digits. That is Curator's form but for place and
// slot, which Curator takes for a part of a name that it does not look into. The data of both is the user's. A [SharedCount] may
// say how many permits there are, at any path.
//
// An acquisition queues as for a Mutex. At the head of the queue it lists the leases, and waits while there are
// too many; then one transaction deletes its place in the queue, checks the version of the count, if shared, and
// creates the leases of all n permits. So a contender holds nothing while it waits but its
// place: two that want three of four each get them in turn. And no failure can leave
// leases without having left the queue, or the other way round. Who finds a lease that was got from the place
// before its own, when that has gone, knows so that it is the head, and need not list the queue again. After that it reads and watches each of its
// leases, and grants only if all are there and belong to the session, which lives.
//
// Requests: 7 without contention, in 5 round trips and 1 to release (create; getChildren and getData of the queue,
// together; getChildren of the leases; the transaction; getData with a watch on the lease;
// delete). With n permits the last getData is n, together, and the delete is a transaction of n.
// With a shared count its getData goes beside each list of the leases: 1 more. A contender that
// waits for a permit adds 2 (the list with a watch, and again when it has changed), or 4 with a
// shared count; one that waits for those ahead in the queue adds 1 (getData with a watch of the one before it),
// 3 if its lease is gone by the time that the leases are listed (the list of the queue, and of the leases again), 2 behind
// another kind of client. The first use of a path adds the creates of the directories, and a transaction that finds that there is none.
//
// Watches fired per release: 4, however many wait, and 1 more for each permit beyond the first. The lease's holder's own; that of the
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
// strictly over its holders as a Mutex's do. Not reentrant ([Hold.Reenter] refuses); a hold may be released by
// any goroutine. Requests: 7 without contention, 9 with. Watches fired per release: 4.
//
// # SharedCount
//
// Guarantees: values are seen in the order of the transactions that made them, the latest always. TrySetCount sets only over
// the value that was read.
//
// Layout: one persistent znode, whose data is a 32-bit number, big end first. Whoever finds that there is none
// creates it with its own seed; what is missing above it is created as containers.
//
// Requests: 1 to get; 1 to set by version (TrySetCount), and a get before it to set whatever
// it was (SetCount), and both again each time that another was faster. Nothing is acquired, so nobody waits.
//
// Watches fired per change: one for each session, however many watch in it. It is left when they stop, until the next change.
// Whoever watches does so in its own goroutine, and reads the value again after each reconnect.
//
// Connection loss: a read is repeated. After a set, by sync and a look: if the
// znode is as it was before, the set is tried again; if another's value has its version, it
// was refused. Otherwise who had set it cannot be told, since four bytes have no room for a
// name: SetCount may say that it did, since it is as if the other had come right after it;
// TrySetCount returns ErrConnectionLoss.
//
// Expiry: every call returns it; the value stays. Timeout and cancellation: the call returns at once, and a set under way may
// take effect at any time until the session ends.
//
// Foreign interference: a count that is deleted is created again with the seed of whoever misses it
// first, and its versions begin anew. Data of another length than four bytes is an error.
//
// # Multi
//
// Guarantees: what is granted was held in full at the end: a member that was
// lost while another was waited for fails the whole. It is held as long as every member is: the loss of one ends it. Each
// member keeps its own token, for the resource that it protects.
//
// Layout: the members'.
//
// Requests and watches fired per release: the sum of the members', which are acquired one after the other. Of two mutexes: 8
// requests without contention, 10 behind a holder of both, who is waited for at the first only; 3 watches where others wait, both
// own and the successor's at the first.
//
// Connection loss and foreign interference: the members'. Expiry, timeout and cancellation: one context is for all. At the first failure the
// members held so far are released in reverse, in the background if the context has ended.
//
// Members acquired in different orders by different clients deadlock until
// a context ends; [MultiConfig].Canonical gives all the same order.
//
// # Lease clock
//
// A server that is cut off from the leader goes on answering its clients' pings and reads until it notices, which takes
// syncLimit ticks: by default 10 s, in which the leader can expire a session that seems to be in best order to
// its client. With [SessionConfig].LeaseClock the client proves for itself until when the session lives at the least, from
// heartbeats that a quorum has acknowledged, and ends its holds at that time less a margin: their contexts with a cause that
// wraps ErrLockLost and ErrLeaseExpired, and [Hold.Valid] and [Hold.Deadline] can be asked just before a use. The
// rule, and why it is right, are where it is computed, at leaseRule.
//
// Layout: for each session one ephemeral znode, "heartbeat-" + the session's id in hex, in a directory of the
// caller's choice. Requests: one write, a transaction of a set, per heartbeat, as long as the session lives; 2 a tick by default.
// No watches. Since a server answers a session's requests in order, pings stay behind a heartbeat that is not
// committed: a client behind a cut-off server notices after two thirds of the session timeout, and
// moves to another server if it has one, perhaps in time to keep its holds.
//
// Expiry of the lease: holds end, their znodes are removed as by a release as soon as the service can be told, and the session
// goes on. Waiters keep their places. Nobody is granted anything until heartbeats have been acknowledged again: an
// acquisition whose turn comes before gives its place up and queues again then. After Connect that takes three heartbeats.
//
// Refused: a session timeout up to Margin + (⌊(Tick/2) / Interval⌋ + 3) × Interval, which is 3 ticks by default; see
// [LeaseClockConfig.MinTimeout]. The tick is taken on trust.
//
// What it does not help against: a stop of the process between a look at the clock and the use; a machine that is suspended, for its
// monotonic clock stands still meanwhile; clocks whose rates differ by more than the margin. Tokens do.
//
// # Guarded writes
//
// [Hold.Multi] adds to a transaction a check that the hold's znodes exist, all leases of a semaphore's hold: what is written
// inside ZooKeeper needs no token. Requests: 1. Connection loss: the outcome may be unknown, which the error tells;
// it is never executed after the hold has ended at the service. Not for NaiveMutex, NoLock, ZKLock and other foreign locks; of a Multi each member has its own.
//
// # ZKLock
//
// zk.Lock of go-zookeeper, on a zk.Conn of its own, to be compared with. Layout: as Mutex's, so that both may use one path,
// but missing directories are made as persistent znodes. No token.
//
// Requests: 3 without contention (create; getChildren; delete), one after the other. A waiter adds 2 for each time that its predecessor
// leaves (getData with a watch; getChildren). Watches fired per release: 1.
//
// Connection loss: an error at whatever point of an acquisition or release, with the znode left until the session
// ends if it was there; nobody tries again. Expiry: holds end as zk.Conn tells, which then makes another session; an acquisition
// that straddles the two may succeed without a znode. Timeout and cancellation: the attempt goes on in the background, gets
// the lock and unlocks it. Foreign children: one whose name is not understood makes each acquisition fail.
//
// # NoLock
//
// Guarantees: none. Layout: no znode, and no token. Requests: none, and no watches fire. Connection loss, expiry and foreign interference
// end nothing, and a hold ends by its release alone; a context that has ended is refused. It is the control for those who look
// for overlaps.
package recipes
