package broken

// A Lock is one with a known bug.
type Lock struct {
	// Bug says what it does wrong.
	Bug string
	// Source names where the bug is known from.
	Source string
	// Trigger says what makes it show.
	Trigger string
	// Check is the check that must find it, and Finding what there is to be found.
	Check   Check
	Finding string
	// Sound is the recipe of package recipes that does the same without the bug.
	Sound string
	// New makes one. It asks the service nothing.
	New func(Config) Ways
}

// A Check is one of those that judge a run.
type Check string

// The checks that find a lock of this package.
const (
	ServiceExclusion Check = "service-exclusion"
	BeliefExclusion  Check = "belief-exclusion"
	Tokens           Check = "tokens"
	Liveness         Check = "liveness"
)

// Locks are all locks of this package, by name.
var Locks = map[string]Lock{
	"missing-own": {
		Bug:     "Whoever sees no lower sequence number holds, whether its own znode is there or not.",
		Source:  "go-zookeeper's zk.Lock",
		Trigger: "The session is closed between the create and the list, which is then read in the next session.",
		Check:   ServiceExclusion,
		Finding: "a hold without a znode, beside another's",
		Sound:   "mutex", New: missingOwn,
	},
	"stale-own": {
		Bug:     "A znode of an earlier session of the same client is taken for one that lasts.",
		Source:  "CURATOR-604",
		Trigger: "Between the create and the list the client gets a new session, while the old one still lives at the service.",
		Check:   ServiceExclusion,
		Finding: "a hold whose znode belongs to another session, and goes with it while the hold goes on",
		Sound:   "mutex", New: staleOwn,
	},
	"local-reentry": {
		Bug:     "Who believes to hold is granted once more without asking the service.",
		Source:  "Curator's InterProcessMutex, by reading and by measurement",
		Trigger: "The holder's session is closed, another takes the lock, and the first enters again.",
		Check:   ServiceExclusion,
		Finding: "a grant to a client that has no znode, beside another's hold",
		Sound:   "mutex", New: localReentry,
	},
	"lost-create": {
		Bug:     "A create whose reply is lost is made again without a look for what the first one made.",
		Source:  "Netflix Curator #3",
		Trigger: "The reply to the create is lost.",
		Check:   Liveness,
		Finding: "a free lock whose only waiter waits for a znode that its own session has left behind",
		Sound:   "mutex", New: lostCreate,
	},
	"unsynced-search": {
		Bug:     "After a lost reply the search for the znode is made without a sync before it.",
		Source:  "CreateProtectedEphemeralSequential of go-zookeeper; Curator's since CURATOR-498",
		Trigger: "The reply to the create is lost, and the client comes to a server that lags behind.",
		Check:   Liveness,
		Finding: "a free lock whose only waiter waits for a znode that its own session has left behind",
		Sound:   "mutex", New: unsyncedSearch,
	},
	"name-order": {
		Bug:     "Contenders are ordered by their whole names, which begin with the session and not with the number.",
		Source:  "ZOOKEEPER-2931; the same in WriteLock for .NET, shayhatsor/zookeeper #4",
		Trigger: "The second contender's session has a lower id than the holder's.",
		Check:   ServiceExclusion,
		Finding: "two holds, of which the later number's is not eligible",
		Sound:   "mutex", New: nameOrder,
	},
	"wrong-predecessor": {
		Bug:     "Whom to watch is searched for by whole names in a queue that is ordered by numbers.",
		Source:  "ZOOKEEPER-3162",
		Trigger: "A waiter looks anew, since the one before it gives up, when the next after it has a lower session id.",
		Check:   Liveness,
		Finding: "a free lock whose two waiters watch each other",
		Sound:   "mutex", New: wrongPredecessor,
	},
	"lost-wakeup": {
		Bug:     "The predecessor is watched by a check of existence whose answer is not looked at.",
		Source:  "the recipe's exists() call taken without its result; the watch it leaves is CURATOR-107's",
		Trigger: "The predecessor leaves between the list and the watch.",
		Check:   Liveness,
		Finding: "a free lock whose only waiter watches a path that never comes back",
		Sound:   "mutex", New: lostWakeup,
	},
	"cancelled-cleanup": {
		Bug:     "The cleaning up after a cancelled attempt uses the cancelled context.",
		Source:  "vitess #15756",
		Trigger: "A waiter's context is cancelled.",
		Check:   Liveness,
		Finding: "a free lock behind the znode of an attempt that is over, whose session lives",
		Sound:   "mutex", New: cancelledCleanup,
	},
	"sequence-token": {
		Bug:     "The fencing token is the znode's sequence number.",
		Source:  "container znodes, whose counters begin anew: ZOOKEEPER-2163 against locks that fence by sequence",
		Trigger: "The lock's directory is removed while nobody uses it, as the service does with containers.",
		Check:   Tokens,
		Finding: "a token that is not above those before it",
		Sound:   "mutex", New: sequenceToken,
	},
	"later-writers": {
		Bug:     "A reader waits for writers that came after it.",
		Source:  "kazoo #649",
		Trigger: "A reader waits for a writer, and another writer queues behind it.",
		Check:   Liveness,
		Finding: "a free lock whose reader and writer watch each other",
		Sound:   "rw", New: laterWriters,
	},
	"queued-downgrade": {
		Bug:     "A writer that becomes a reader gets its place at the end of the queue.",
		Source:  "CURATOR-621",
		Trigger: "A writer waits when the holder downgrades.",
		Check:   ServiceExclusion,
		Finding: "a writer's hold beside a reader's",
		Sound:   "rw", New: queuedDowngrade,
	},
	"local-read": {
		Bug:     "Who believes to hold the write lock is granted the read lock without asking the service.",
		Source:  "Curator's InterProcessReadWriteLock, by reading and by measurement",
		Trigger: "The writer's session is closed, another writer takes the lock, and the first downgrades.",
		Check:   ServiceExclusion,
		Finding: "a reader's hold beside a writer's",
		Sound:   "rw", New: localRead,
	},
	"dead-lease": {
		Bug:     "Permits are returned as collected, also those whose leases ended with their session meanwhile.",
		Source:  "Curator's InterProcessSemaphoreV2, by reading and by measurement; CURATOR-315 before it",
		Trigger: "The session is closed while the second of two permits is waited for.",
		Check:   ServiceExclusion,
		Finding: "a hold of two permits with one lease, and so more permits held than there are",
		Sound:   "semaphore", New: deadLease,
	},
	"leaked-lease": {
		Bug:     "The lease with which an attempt waits is not returned when the attempt ends.",
		Source:  "CURATOR-462; CURATOR-335",
		Trigger: "An attempt is cancelled while it waits for a permit.",
		Check:   Liveness,
		Finding: "a semaphore that nobody holds a permit of, with a lease of an attempt that is over, and a waiter",
		Sound:   "semaphore", New: leakedLease,
	},
	"partial-permits": {
		Bug:     "Permits are acquired one by one, and kept while the next is waited for.",
		Source:  "Curator's InterProcessSemaphoreV2.acquire(qty), by measurement",
		Trigger: "Two clients want three of four permits each, and both have two.",
		Check:   Liveness,
		Finding: "a deadlock: nobody holds, and each waits for what the other has",
		Sound:   "semaphore", New: partialPermits,
	},
	"blind-delete": {
		Bug:     "A delete whose reply is lost is repeated, whosever the znode at that path is by then.",
		Source:  "the one-znode lock of ZooKeeper's manual with a client that retries",
		Trigger: "The reply to a release's delete is lost, and another takes the lock before the client is back.",
		Check:   BeliefExclusion,
		Finding: "a holder whose znode is deleted by the holder before it, and a second one",
		Sound:   "naive-mutex", New: blindDelete,
	},
	"queued-write": {
		Bug:     "A request of one session is kept, and carried out under the next one.",
		Source:  "go-zookeeper's client, by measurement",
		Trigger: "A holder releases while it is cut off, its session expires, another takes the lock, and the client comes back.",
		Check:   BeliefExclusion,
		Finding: "a holder whose znode is deleted by an expired one, and a second one",
		Sound:   "naive-mutex", New: queuedWrite,
	},
}
