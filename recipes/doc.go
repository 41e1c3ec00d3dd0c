// Package recipes implements locks on ZooKeeper: one file for each algorithm, on a session that they share. It is a
// library of its own and imports nothing of the harness.
//
// It takes a list of servers ([Connect]), and returns [Hold] values from [Lock.Acquire]. The recipes speak to
// the service through one interface, [zksession.ZooKeeper], which a simulated service can implement as well.
//
// # Start
//
// A program connects once, makes its locks, and works under them with [Do]:
//
//	session, err := recipes.Connect(ctx, recipes.SessionConfig{
//		Config: zksession.Config{Servers: []string{"zk1:2181", "zk2:2181", "zk3:2181"}},
//	})
//	…
//	defer session.Close(ctx)
//	mutex, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: "/locks/report"})
//	…
//	err = recipes.Do(ctx, mutex, func(ctx context.Context, hold *recipes.Hold) error {
//		return write(ctx, hold.Token(), "done") // ctx ends with the hold
//	})
//
// The write carries the token, and the resource refuses a token that is lower than the highest that it has seen: the
// section "What is promised" says why. A program that runs for longer than a session lasts uses a [Renewer].
//
// # Layers
//
//	Leader                         an election: a mutex for long holds, and who holds it
//	Multi                          several locks held as one
//	Mutex, NaiveMutex, NoLock,     the algorithms
//	RW, FairRW, NaiveRW,
//	Semaphore, SemaphoreMutex,
//	SharedCount, ZKLock
//	line, place                    what all queues have in common; each recipe adds who waits for whom
//	Hold, entries                  what is granted: its end, its re-entry, its revocation
//	creator, hub, janitor, guard   a create that survives a lost reply; shared watches; the
//	                               removal of leftovers; the end of a hold whose znode is gone
//	observed                       what a session's observer is told
//	terms                          the end of a session's holds when nothing is heard of the service
//	leaseClock, leaseRule          their end before the service can have expired the session
//	Renewer                        one session after the other
//	Session                        one session's share of these
//	zksession.ZooKeeper            the interface to the service
//	package zksession              go-zookeeper, tied to exactly one session; and the plain client of ZKLock
//
// # What is promised
//
// At the service no two holds of one exclusive lock overlap, and no hold of a writer overlaps any other hold. A hold is
// granted only while its znode, created in this very session, is an eligible one, and it lasts at the service until
// that znode goes. A semaphore never has more permits granted than it has at that moment. NoLock and ZKLock, which are
// here to be compared with, promise none of this.
//
// A client can believe longer than that. It learns of its loss from the service, so it cannot learn of it while it is
// stopped, or cut off from the service, or while its server is cut off from the leader. [Hold.Context] ends as soon as
// the client can know; when the service has been silent for the session timeout; or earlier with a lease clock. The
// protected resource must refuse the accesses of a client that no longer holds the lock, by [Hold.Token]; inside
// ZooKeeper [Hold.Multi] does that.
//
// A hold that is lost while its session lives, by the client's own clock for example, keeps its znode until
// [Hold.Release]. Only the holder knows when its work has stopped and the last request of that work has been answered.
// So a program releases every hold, also one that it has lost, as [Do] does. If it has not done so a session timeout
// after the loss, and the session still lives, a warning is logged, once for each hold.
//
// A [Session] is one ZooKeeper session and is never renewed. Nothing is ever executed under a successor. Programs that
// outlive their sessions use a [Renewer].
//
// # Failures
//
//   - Nobody at the addresses: [Connect], [NewRenewer] and [ConnectZKLock] try until their context ends. They log one
//     warning when the session timeout has passed, and their error names the last failure of each server too.
//   - Connection loss: nothing ends because of it. Waiters go on waiting. Requests of unknown outcome are resolved
//     after the reconnect, as each recipe describes. A hold stays, unless the service stays silent for too long (see
//     Silence), and [SessionConfig].OnState reports the change.
//   - Expiry (and Close): every Acquire returns it, and every hold ends with it as its cause. The service removes the
//     znodes.
//   - Timeout and cancellation: Acquire returns at once. Release and [Session.Close] give the service a second even if
//     their context has ended, and then return as well. The session undoes in the background what an Acquire had
//     begun, and finishes there what a Release had begun, for as long as it lives. A request that is under way when the
//     context ends is waited for in the background, so that a create that succeeds late leaves no znode.
//   - A refusal by an ACL: the call returns an error that wraps [zksession.ErrNoAuth] and names the znode. It is not
//     tried again, not in the background either; only a lease clock goes on with its heartbeats, at their interval, and
//     recovers when the ACL is mended. A server that refuses a credential ends the session with
//     [zksession.ErrAuthFailed].
//   - Somebody else deletes one of our znodes: a waiter queues again, at the end; a holder's context ends with
//     ErrLockLost; when they hear of it is said below. A change of a znode's data does no harm, except to a NaiveMutex
//     that has not read it yet.
//   - A server that breaks each connection soon after its handshake, or says each time that the session has moved: the
//     client reconnects with pauses that grow to a second. Watches that a server refuses to set again after a reconnect
//     count as fired, so that whoever waits looks again.
//
// # Credentials, ACLs and TLS
//
// A session sends its [zksession.Config].Credentials on each connection before any other request, after a reconnect
// before the watches are set again. Its [zksession.Config].ACL chooses who may use each znode that it creates:
// contenders, leases, counts, heartbeats, the directories above them, a chroot, and what [Hold.Multi] creates. The
// default is Curator's, open to everybody; with [zksession.CreatorAll] only clients with the same credential can take,
// see or break a lock. [zksession.ACL] says what an ACL must not allow, and why the directory's ACL is the one that
// counts.
//
// A server accepts any password and only compares it with those in ACLs. So a wrong password shows at the first request
// that needs the right one, as ErrNoAuth. ErrAuthFailed is for a scheme that the server does not know, and for a server
// that wants another scheme. There is no SASL, and therefore no Kerberos, because go-zookeeper has none. For TLS, set
// [zksession.Config].Dial; identities of x509 certificates come with it and need no credential. Requests: 1 for each
// credential and connection. [ZKLock] has neither credentials nor ACLs.
//
// # Session observers
//
// [SessionConfig].Observe is called with what happens: contenders that queue, grants with the time that they took,
// acquisitions that fail, releases with the time of the hold, losses with their cause, and the changes of the session.
// The packages slogobserver and otelobserver, below package observe, make log records and metrics of them.
// [Leader.Observe] is another thing: it tells who leads.
//
// The events of an acquisition and the release come in the goroutine that called Acquire or Release, before the call
// returns; the loss of a hold comes in one of its own; those of the session, in order, in another. So the events of one
// acquisition and of one hold are in order, and no two of them come at once; events of different holds, and of the
// session, may come at once and in any order. No lock is held, so the function may use the session and its locks. It
// should be quick, because the caller waits for it while it holds the lock, and must not wait for [Session.Close],
// which waits until all events have been delivered. Without an observer nothing is done; with one, each hold has one
// goroutine more, and no request. Holds of NoLock and ZKLock, and Multi as a whole, have no events; its members do.
// OnQueued and OnState remain: they are of one lock, and of one session.
//
// # Own znodes
//
// A client needs no look at its own znode to know that it holds a lock: see Mutex. So it reads and watches that znode
// only to hear that somebody else has deleted it or has asked for it, which nobody does but an administrator, or
// [Session.Evict] and [Session.Revoke]. Most holds and waits are over before that would be worth a request. Therefore:
//
//   - A hold watches its znode once it has lasted for 30 ms. If the znode was deleted or revoked before, the client
//     hears of it 30 ms and a round trip after the grant. Of what comes later it hears at once. That bounds how much
//     longer a client believes in a hold whose znode was deleted; what it does meanwhile, the resource refuses by the
//     token, or [Hold.Multi] by the znode.
//   - A contender in a queue hears when the one that it waits for goes, because it lists the queue then; or 5 s after
//     it began to wait for that one, because it watches its own znode from then on. Until then it keeps nobody waiting:
//     a znode that is gone is in nobody's way.
//   - If the session was connected again between the create and the grant, or the answer to the create was lost, the
//     znode is read and watched before the grant.
//   - The leases of a Semaphore, the znode of a NaiveMutex, that of a reader after a downgrade, and the place of a
//     contender that waits for a Semaphore's permits, are watched from the start.
//
// Below, requests and watches are counted without this: add 1 request to each hold of a Mutex or a read/write lock that
// lasts longer than 30 ms, and to each wait of more than 5 s; and as many watches that fire.
//
// # The race detector
//
// go-zookeeper v1.0.4 has a data race of its own: when it reconnects, it reads the number of the newest transaction
// while the goroutine that receives may write it. The race detector reports that in any program that reconnects with
// watches. It does no harm here, because a session puts the right number into the request for which it is read. To
// test with the race detector, replace the module, for the tests alone, by a copy in which the accesses are atomic: the
// target test-race of locklab's Makefile does that in five lines.
//
// # Trying
//
// [TryLock].TryAcquire takes its place and looks once. If another contender is ahead, it takes its place away again and
// returns [ErrNotAcquired]. All locks but ZKLock have it, and [Multi] too. Requests where the lock is taken: 3 in 2
// round trips (create and getChildren, together; delete); 4 for a semaphore that is short of permits, or 5
// with a shared count; 2 for NaiveMutex. Where the lock is free, the requests are those of Acquire. It leaves no watch
// except NaiveMutex's, one for each session, on the holder's znode. If two clients try a free lock at once, the first
// gets it. A client that tries just behind one whose own attempt fails, fails as well, although the lock may be free by
// then. So clients that poll can keep each other out of a lock that is free. They should pause between their tries, for
// a time that they draw at random and that is long against a round trip, or call Acquire with a deadline, which cannot
// starve. OnQueued is called as by Acquire.
//
// To acquire within a time, give Acquire a context with a deadline. It returns at the deadline and takes no last look.
//
// # Looking at a queue
//
// [Position.Ahead] says where one's own acquire stands while it waits: 1 request, a list of the queue. [Mutex.Length]
// says how long the queue is: 1 request, whose answer does not grow with the queue. Participants shows who holds and
// who waits, with their data: 1 request, and 1 for each participant, of which 64 are under way at once.
//
// # Re-entry
//
// [Hold.Reenter] works for Mutex and the read/write locks, and [MultiHold.Reenter] for a Multi of these. It asks the
// service nothing. The other locks refuse it with [ErrNotReentrant]. After a loss or the last release it is refused.
//
// An Acquire by a client that holds the lock already is another contender, which waits for the client's own hold,
// unless the context says that the client holds it: [Hold.Context], or another one made by [Hold.Within]. Then an
// exclusive lock fails with ErrHeld, and so does a semaphore whose free permits can never suffice while the client's
// own holds last. Of a read/write lock, a request for the write lock fails with ErrUpgrade; a writer of an RW gets the
// read lock beside its own, and of the other read/write locks ErrUpgrade. A reader that asks for the read lock queues
// again. If a writer waits by then, the two wait for each other; so such a reader calls Reenter.
//
// # Revocation
//
// [Session.Revoke] asks a participant to leave, by writing Curator's bytes into its znode; [Hold.Revoked] says that the
// participant was asked. Every hold of every lock but NaiveMutex, NoLock and ZKLock that lasts for 30 ms reads its
// znode then, and again after each change, including a change that was made while the client was cut off: see Own
// znodes. So a contender that was asked in the queue finds its hold revoked 30 ms and a round trip after the grant, or
// from the start if it had read its znode before; a hold that is released sooner is over before it hears. A semaphore's
// hold is not revoked by what was asked of its place in the queue, which is not what is held; only permits count. A
// writer that was asked and becomes a reader is still asked. Nothing ends because of it: [Session.Evict] deletes the
// znode of a participant that has not left in time.
//
// Requests: 1 by the client that asks, 1 by the client that is asked and watches its znode, and 2 by a contender that
// watches it. Watches fired: 1 at the client that is asked, and 1 at each session that watches its znode. There is no
// watch besides the one by which a hold learns that its znode was deleted.
//
// # Mutex
//
// Guarantees: one client holds at a time, first come, first served, by the order of the creates at the service. Tokens
// rise strictly from holder to holder.
//
// Layout: below the lock's path one ephemeral sequential znode for each contender, "_c_" + UUID + "-lock-" + ten
// digits, which is Curator's form. The path itself, and what is missing above it, is created as containers when a
// create has found it missing.
//
// Requests: 3 in 2 round trips without contention (create and getChildren, together; delete). A contender that waits
// adds 2 (getData with a watch on its predecessor; getChildren again when that has gone): 5. It adds those 2 again each
// time that a predecessor leaves which was not the head, that is, which gave up.
//
// The create is create2, whose answer contains the znode's stat, and so the token. ZooKeeper before 3.5 has no create2:
// there the znode is read and watched before the grant, which is 1 request and 1 watch more.
//
// Watches fired per release: 1, at the successor. No other client wakes. A waiter that gives
// up leaves its watch on the predecessor, one for each session, until that goes; otherwise none is left.
//
// Connection loss, expiry, timeout and cancellation: as above. Lost replies: after a create, sync, a search for the
// UUID and a look at the owner; if there is no such znode it is created again. A delete is repeated, since the name is
// unique. A read is repeated.
//
// Foreign interference: a contender whose place is deleted by somebody else takes a new one, at the end of the queue;
// the deletion of a holder's znode ends the hold. Children whose name does not end in "lock-" and a sequence number are
// ignored (Curator would queue behind some of them). Those whose name does, take part in the queue, whoever made them.
//
// Limits: 2147483646 creates in the directory's lifetime, see [ErrSequenceExhausted]; and a list of the directory that
// fits into 512 KiB, which has room for about 8,000 contenders, other children included. Beyond that an acquisition
// fails with [zksession.ErrTooLarge], without harm to the session.
//
// # Leader
//
// Guarantees: those of a Mutex, because a term is a hold of its queue. One candidate leads at a time, in the order in
// which they came, and tokens rise strictly from term to term, also over renewed sessions and restarts of the
// processes. A leader that resigns, or closes its session, hands over at once. One that crashes or is cut off is
// followed by the next one when the service has expired its session. A leader that was stopped for so long finds the
// context of its term ended soon after it goes on (see Silence). Until then it may still act, as every holder of a lock
// may, so the resource must refuse it by the token.
//
// [Leader.Observe] tells of every change of the leader that its server shows, and of the newest one if several have
// come at once. It shows the first of the queue at the service, which is not always the candidate that believes it
// leads.
//
// Layout: Mutex's, which is that of Curator's LeaderSelector: "_c_" + UUID + "-lock-" + ten digits, or LeaderLatch's if
// the configuration says so: "-latch-" instead of "-lock-". The znode's data is the candidate's id, as Curator's are.
// Candidates of both libraries elect one leader together.
//
// Requests: those of a Mutex for each term. [Leader.Current]: 2 (getChildren; getData). [Leader.Observe]: 2 for each
// change (getChildren; getData with a watch), 1 more (getChildren with a watch) when there is no candidate; for each
// session a sync; and a create, once, if there is no directory.
//
// Watches fired per change of the leader: 2, its own and its successor's, and one for each session that observes,
// however many goroutines observe in it. All observers are to be told, so all wake; candidates are not woken. An
// observer that stops leaves its watch until the leader changes.
//
// Connection loss: nothing ends. An observer is late until the session is connected again. Expiry: the term is lost.
// With a Renewer a campaign goes on at the end of the queue in the next session, and observers go on there; without one
// both end with the session's error. Timeout, cancellation, lost replies, foreign interference, limits: as Mutex. A
// leader whose znode was overwritten by a revocation is shown without its id to those that see it for the first time.
//
// # RW
//
// Guarantees: a writer holds alone, readers hold together, and both are served in the order of the creates at the
// service. A reader waits for the writers that came before it and for no other contender; a writer waits for all that
// came before it. So neither starves the other. A writer can become a reader without a gap. A reader cannot become a
// writer: ErrUpgrade.
//
// Layout: in the lock's path one ephemeral sequential znode for each contender, "_c_" + UUID + "-__READ__" or
// "-__WRIT__" + ten digits, which is Curator's form. The path is created as Mutex's is.
//
// Tokens: a writer's token is above those of all earlier holders. A reader's is above those of the writers before it;
// readers' tokens have no order among each other.
//
// Requests: as Mutex, 3 in 2 round trips without contention and 5 for a contender that waits, reader or writer. A
// writer adds 2 each time the contender just before it leaves while others before it stay, which happens where readers
// leave in another order than they came. A reader adds 2 for each writer before it that is still there when the last
// one before it gives up.
//
// Watches fired per release: those of the contenders that watch the holder. A reader watches the last
// writer before it, a writer the contender just before it. So the release of a writer wakes the readers up to the next
// writer, all of which get in, or that writer; the release of a reader wakes one writer or no contender.
//
// Downgrade: one transaction checks that the writer's znode exists and creates the reader's with the writer's number,
// so that it stands in the writer's place: a contender behind the writer is behind the reader. The reader's token is
// the writer's. Requests: 3 (multi; getData with a watch on the new znode; delete of the writer's). [RW.ReadUnder] is
// the same without the delete. A lost reply to the transaction is resolved by sync and a look at the znode, whose name
// is unique; if it is not there the transaction is repeated. After expiry nothing is held. After a timeout or a
// cancellation before the read hold is there, the write hold goes on, and a reader's znode that is created late is
// removed. A write hold that was lost, whether or not the client knows it, is refused with ErrLockLost and leaves no
// znode.
//
// Connection loss, expiry, timeout, cancellation, lost replies, foreign interference, limits: as Mutex. Of Curator's
// clients, those before 5.5 downgrade by queueing again, which lets a writer in beside them. Later ones do it by a flag
// of their own instead of a transaction, so that a client that has lost its session can get in beside a writer. That
// can only be mended there.
//
// # FairRW
//
// Guarantees: as RW, without a downgrade.
//
// Layout: as RW, with the znodes' names "_c_" + UUID + "-read-" or "-write-" + ten digits.
//
// Requests, watches fired per release, tokens: as RW: 3 requests without contention, 5 for a contender that waits; 1
// watch where one contender waits behind another.
//
// Connection loss, expiry, timeout, cancellation, foreign interference: as Mutex; the names that count are those that
// end in "read-" or "write-" and a sequence number.
//
// # NaiveRW
//
// Guarantees and layout: as FairRW, whose clients take part in the same queue. Every waiter watches the list of the
// directory.
//
// Requests: 3 in 2 round trips without contention (create and getChildren, together; delete). A waiter adds one
// getChildren with a watch, and one each time that any contender comes or goes while it waits: 5 at the least.
//
// Watches fired per release: one for each session with a waiter, whatever it waits for, besides those of sessions that
// have stopped waiting since the last change: 2 where two wait. An arrival fires them too. Waiters in one session share
// a watch. The watch that the list of a holder that had to wait leaves behind goes with its release.
//
// Timeout and cancellation: as above, except for the watch on the list. Usually the removal of the own znode fires it.
// If the attempt ends while its list is under way, the list may be answered after that removal. Then it leaves its
// watch, which cannot be taken back: at most one for each session and lock, however often it happens, until the next
// contender comes or goes, or the session ends.
//
// Connection loss, expiry, foreign interference: as FairRW. A foreign child that takes no part in the queue wakes all
// waiters when it comes and goes, and does nothing else.
//
// # NaiveMutex
//
// Guarantees: one client holds at a time. There is no fairness: any of the waiters may be next. Tokens rise strictly
// from holder to holder.
//
// Layout: the lock's path is the one ephemeral znode, whose data is the attempt's UUID and then the user's. Missing
// directories above it are created as containers. A waiter has no znode.
//
// Requests: 3 without contention (create; getData with a watch; delete). A waiter needs 2 for each time that it tries:
// 5 if the second is the last.
//
// Watches fired per release: with n waiters it wakes all n and fires n+1 watches where each waiter has a session of its
// own; waiters in one session share a watch. A waiter that gives up leaves that watch, one for each session, until the
// holder leaves.
//
// Connection loss: as above. A lost reply to a create is resolved by sync and another create, which finds the znode of
// the first; its owner and data say whose it is. A lost reply to a delete is resolved by sync and a look whether the
// znode is still the one created by this hold's transaction: a blind repetition would delete the next holder's.
//
// Expiry, timeout and cancellation: as above. If a client gives up while its create may still succeed, its znode is
// looked for, by owner and data, and removed.
//
// Foreign interference: if somebody changes the data between the create and the first read, the attempt does not know
// its znode, and waits for it until its context ends; the znode then stays until the session ends. Whoever creates the
// path holds the lock: an administrator's znode of any kind does, until it is deleted. If somebody deletes a holder's
// znode by force and another client takes the lock before the holder has heard of it, a release in that moment deletes
// the other client's znode. This is the one place where foreign interference costs more than the hold it was aimed at.
//
// # Semaphore
//
// Guarantees: there are never more permits granted than there are at that moment, and all permits of an acquisition are
// granted at once or none. First come, first served, across quantities.
//
// Layout: below the semaphore's path there is "locks", which is a Mutex's directory; and "leases", with one ephemeral
// sequential znode for each permit in use, "_c_" + UUID + "-of" + the number of the place in the queue from which it
// was got + "-slot" + the slot's number + "-lease-" + ten digits. That is Curator's form except for place and slot,
// which Curator takes for a part of a name that it does not look into. The data of both is the user's. A [SharedCount]
// may say how many permits there are, at any path.
//
// An acquisition queues as for a Mutex. At the head of the queue it lists the leases, and waits while there are too
// many. Then one transaction deletes its place in the queue, checks the version of the count, if shared, and creates
// the leases of all n permits. So a contender holds nothing while it waits except its place: two that want three of
// four each get them in turn. And no failure can leave leases without having left the queue, or the other way round. A
// contender that finds a lease which was got from the place before its own, after that place has gone, knows by it that
// it is the head, and need not list the queue again. After that it reads and watches each of its leases, and grants
// only if all are there and belong to the session, which lives; and if a shared count is still the znode that it was.
//
// Requests: 6 without contention, in 4 round trips and 1 to release (create and getChildren of the queue, together;
// getChildren of the leases; the transaction; getData with a watch on the lease; delete). With n permits the last
// getData is n, together, and the delete is a transaction of n. With a shared count its getData goes beside each list
// of the leases, and once beside the reads of the leases: 2 more. A contender that waits for a permit adds 3 (getData
// with a watch on its own place; the list with a watch, and again when it has changed), or 5 with a shared count. One
// that waits for those ahead in the queue adds 1 (getData with a watch of the one before it), 3 if that one's lease is
// gone by the time that the leases are listed (the list of the queue, and of the leases again), 2 behind another kind
// of client. The first use of a path adds the creates of the directories, and a transaction that finds that there is
// none.
//
// Watches fired per release: 4, however many wait, and 1 more for each permit beyond the first. They are the lease
// holder's own; that of the head of the queue on the list of leases; and, as that one leaves the queue, its own on its
// place and its successor's on the same. Only the head of the queue watches the list. A head that gives up leaves that
// watch, one for each session and semaphore, until the leases change next. A shared count is watched by each client
// that had to wait, once for each session, until it changes.
//
// Resizing: a raised count admits the contender that waits at the head. A lowered one takes no permit away: no
// contender is admitted until those in use have become few enough. Fairness: first come, first served, across
// quantities: a contender that asks for many is not overtaken by those that ask for few.
//
// Tokens: [Hold.Token] together with [Hold.Slots], for each slot on its own. There are no slots, and no fencing, where
// a client that knows none (Curator's) held a permit at the time of the grant.
//
// Lost replies: after the transaction, sync and a search for the UUID. It finds all leases, or none: then the
// transaction is tried again. If it finds some, somebody has deleted the others: these are returned, and the attempt
// starts over. After the release, one lease is deleted after the other, last to first.
//
// Connection loss, expiry, timeout and cancellation: as above, for all n permits together. If a session ends in the
// middle of an acquisition, no lease is returned to the caller: the acquisition fails.
//
// Foreign interference: a lease deleted by somebody else ends the hold, and Release returns the hold's other leases. A
// place in the queue deleted by somebody else makes the attempt start over, also if that happens while it waits for
// permits. Leases of other clients count if their names end in "lease-" and a sequence number; other children are
// ignored (Curator would count them). If clients give different fixed numbers, each keeps to its own; this is not
// noticed.
//
// Limits: those of a Mutex, for "locks" and, with about 6,000 permits in use, for "leases". A transaction must fit into
// 128 KiB, which a hundred permits do with a path and data of some hundred bytes together; an acquisition of more than
// fit is refused with ErrQuantity.
//
// # SemaphoreMutex
//
// A Semaphore with one permit, with all that is said there. Its slot is 0, so its tokens rise strictly from holder to
// holder as a Mutex's do. It is not reentrant ([Hold.Reenter] refuses); a hold may be released by any goroutine.
// Requests: 6 without contention, 9 with. Watches fired per release: 4.
//
// # SharedCount
//
// Guarantees: clients see values in the order of the transactions that made them. TrySetCount sets only
// over the value that was read, also if the znode was deleted and created again since, and its versions with it.
//
// Layout: one persistent znode, whose data is a 32-bit number, big end first. A client that finds none creates it with
// its own seed; what is missing above it is created as containers. TrySetCount creates an ephemeral child for as long
// as it takes, "_c_" + UUID + "-pin-" + ten digits, with which nobody can delete the count. So it needs the permission
// to create and delete children of the count.
//
// Requests: 1 to get; 2 to set whatever the value was (SetCount: a get, and a transaction that requires the version),
// and both again each time that another client was faster; 4 in 3 round trips to set over what was read (TrySetCount:
// create and getChildren, together; a get; the transaction), and 4 if another client was faster, of which the last
// deletes the child. Nothing is acquired, so no client waits.
//
// Watches fired per change: one for each session, however many goroutines watch in it. It is left when they stop, until
// the next change. Each watches in its own goroutine, and reads the value again after each reconnect.
//
// Connection loss: a read is repeated. After a set, sync and a look: if the znode is as it was before, SetCount tries
// again. Otherwise it was set, or another client was faster, and then it is as if that one had come right after.
// TrySetCount looks for its child, which the transaction deletes, and so learns what became of it.
//
// Expiry: every call returns it; the value stays. Timeout and cancellation: the call returns at once, and a set under
// way may take effect at any time until the session ends.
//
// Foreign interference: a count that is deleted is created again with the seed of the first client that misses it, and
// its versions start again. Data of another length than four bytes is an error.
//
// # Multi
//
// Guarantees: what is granted was held in full at the end: if a member is lost while another is waited for, the whole
// acquisition fails. It is held as long as every member is: the loss of one ends it. Each member keeps its own token,
// for the resource that it protects.
//
// Layout: the members'.
//
// Requests and watches fired per release: the sum of the members', which are acquired one after the other. Of two
// mutexes: 6 requests without contention, 8 behind a holder of both, which is waited for at the first only; 1 watch
// where others wait, the successor's at the first.
//
// Connection loss and foreign interference: the members'. Expiry, timeout and cancellation: one context is for all. At
// the first failure the members held so far are released in reverse, in the background if the context has ended.
//
// Members that different clients acquire in different orders deadlock until a context ends; [MultiConfig].Canonical
// gives all the same order.
//
// # Renewal
//
// A [Renewer] opens a new Session when one is over. Nothing is carried over: the old session's holds, waiters, watches
// and guarded writes end with it, and its znodes go with it at the service. The successor is opened at once if the old
// session had lasted for its timeout, and otherwise after a pause, which grows from 100 ms to 10 s while sessions
// cannot be made or do not last; half of each pause is random. That a session has expired is known only once a server
// answers. So while the service cannot be reached the old session stays the present one, and its holds end by the
// client's own clock (see Silence).
//
// [Renewer.Lock] makes a lock of the present session's, and [PerSession] anything else that belongs to a session.
// Requests and watches: those of Connect and of the lock.
//
// # Silence
//
// A client that is cut off from all servers is not told that its session has expired. Therefore its holds end by its
// own clock when the service has been silent for the session timeout: their contexts end with a cause that wraps
// ErrLockLost and ErrLeaseExpired, and [Hold.Valid] can be asked just before a use. The time is measured from when the
// newest request was sent that the service has answered, a ping included. The service expires a session when the leader
// has not heard of it for the timeout, and a follower that answers a client tells the leader within half a tick. So
// usually the client stops believing before another client is let in. The exception is a follower that dies, or is cut
// off from the leader, after it has answered and before it has told the leader; one that is cut off goes on answering
// until it notices. So this clock bounds what a client believes, but does not prove that the client holds the lock:
// [Hold.Deadline] promises nothing here. The lease clock is the stricter option.
//
// [SessionConfig].HoldsEnd can also end the holds only when the service says that they are lost.
// This clock costs no requests. The session, the znodes and the waiters are treated as with the lease clock, except
// that holds may be granted again as soon as the service answers.
//
// # Lease clock
//
// A server that is cut off from the leader goes on answering its clients' pings and reads until it notices, which takes
// syncLimit ticks: by default 10 s. Meanwhile the leader can expire a session that looks healthy to its client. With
// [SessionConfig].LeaseClock the client computes, from heartbeats that a quorum has acknowledged, until when its
// session lives at least. It ends its holds a margin before that time: their contexts end with a cause that wraps
// ErrLockLost and ErrLeaseExpired, and [Hold.Valid] and [Hold.Deadline] can be asked just before a use. The rule, and
// the proof of it, are where it is computed, at leaseRule.
//
// Layout: for each session one ephemeral znode, "heartbeat-" + the session's id in hex, in a directory of the caller's
// choice. Requests: one write, a transaction of a set, per heartbeat, as long as the session lives; 2 a tick by
// default. No watches. Since a server answers a session's requests in order, pings stay behind a heartbeat that is not
// committed. So a client behind a cut-off server notices after two thirds of the session timeout, and moves to another
// server if it has one, perhaps in time to keep its holds.
//
// Expiry of the lease: holds end, and the session goes on. Their znodes stay until they are released, so that the next
// holder does not begin while a request of the last one is under way. Waiters keep their places. Nothing is granted
// until heartbeats have been acknowledged again: an acquisition whose turn comes earlier gives up its place and then
// queues again. After Connect that takes three heartbeats.
//
// Refused: a session timeout up to Margin + (⌊(Tick/2) / Interval⌋ + 3) × Interval, which is 3 ticks by default: see
// [LeaseClockConfig.MinTimeout]. The tick is taken on trust.
//
// It does not help against a stop of the process between a look at the clock and the use; against a suspended machine,
// whose monotonic clock stands still meanwhile; or against clocks whose rates differ by more than the margin. Tokens
// do.
//
// # Guarded writes
//
// [Hold.Multi] adds to a transaction a check that the hold's znodes exist, all leases of a semaphore's hold. So what is
// written inside ZooKeeper needs no token. Requests: 1. Connection loss: the outcome may be unknown, which the error
// says; the transaction is never executed after the hold has ended at the service. It does not work for NaiveMutex,
// NoLock, ZKLock and other foreign locks; of a Multi each member has its own.
//
// # ZKLock
//
// zk.Lock of go-zookeeper, on a zk.Conn of its own, to be compared with. Layout: as Mutex's, so that both may use one
// path, but missing directories are made as persistent znodes. No token.
//
// Requests: 3 without contention (create; getChildren; delete), one after the other. A waiter adds 2 each time that its
// predecessor leaves (getData with a watch; getChildren). Watches fired per release: 1.
//
// Connection loss: an error at whatever point of an acquisition or release, with the znode left until the session ends
// if it was there; nothing is tried again. Expiry: holds end when zk.Conn reports it; it then makes another session,
// and an acquisition that straddles the two may succeed without a znode. Timeout and cancellation: the attempt goes on
// in the background, gets the lock and unlocks it. Foreign children: a child whose name is not understood makes each
// acquisition fail.
//
// # NoLock
//
// Guarantees: none. Layout: no znode, and no token. Requests: none, and no watches fire. Connection loss, expiry and
// foreign interference end nothing, and a hold ends by its release alone; a context that has ended is refused. It is
// the control for tools that look for overlaps.
package recipes
