package broken

import (
	"embed"
	"slices"

	"locklab/recipes"
)

// A Lock is a lock with a known bug.
type Lock struct {
	Name string
	// Bug says what the lock does wrong.
	Bug string
	// Source says where the bug is known from.
	Source string
	// Trigger says what makes the bug show.
	Trigger string
	// Check is the check that must find it, and Finding says what the check finds.
	Check   Check
	Finding string
	// Kinds are the kinds that this finding can have in verdicts.json.
	Kinds []string
	// Cause is the kind of the fault that explains the finding; empty = nothing may explain it.
	Cause string
	// Scenario has the lines of a scenario that makes the bug show in a lab, without those that the scenarios of all
	// bugs share: the file of the lock's name in scenarios. It is empty only where the check is a comparison.
	Scenario string
	// Builtin is the name of the built-in scenario that makes the bug show, in the place of Scenario; empty = none does.
	Builtin string
	// Recipe is the recipe that has the bug; empty = the control with the lock's name.
	Recipe string
	// Sound is the recipe of package recipes that works in the same way without the bug. It and the fields below are
	// zero in [Others] and [Foreign].
	Sound string
	// New makes a lock. It sends no request.
	New func(Config) Ways
	// Decorate, if it is set, makes the lock from the sound one instead.
	Decorate func(sound *recipes.Mutex) recipes.TryLock
	// NoToken says that the lock's holds have no fencing token.
	NoToken bool
	// GivesUp says that the lock's client gives its session up by its own clock; see [Lock.Connect].
	GivesUp bool
	// Forgetful says that the servers answer each reconnect of the lock's client with another session, and that the client
	// believes that it still has its own; see [Lock.Connect].
	Forgetful bool
	// OneByOne says that the lock's permits are acquired one after another, so that a hold has neither a token nor a
	// place in the order of a queue.
	OneByOne bool
}

// A Check names a check of a run.
type Check string

// The checks that find a lock of this package.
const (
	ServiceExclusion Check = "service-exclusion"
	BeliefExclusion  Check = "belief-exclusion"
	Tokens           Check = "tokens"
	Liveness         Check = "liveness"
	ServiceLiveness  Check = "service-liveness"
	// Comparison is not a check of one run: it compares two series of runs.
	Comparison Check = "compare"
)

// Locks are all locks of this package.
var Locks = withScenarios([]Lock{
	{
		Name:    "missing-own",
		Bug:     "A client that sees no lower sequence number takes the lock, whether or not its own znode is there.",
		Source:  "go-zookeeper's zk.Lock",
		Trigger: "The session is closed between the create and the list, which is then read in the next session.",
		Check:   ServiceExclusion,
		Finding: "a hold without a znode, beside another's",
		Kinds:   []string{"grant-before-eligible", "grant-after-znode", "grant-without-znode"},
		Sound:   "mutex", New: missingOwn, NoToken: true,
	},
	{
		Name:   "stale-own",
		Bug:    "A client relies on a znode that it created in an earlier session.",
		Source: "CURATOR-604",
		Trigger: "The client gets a new session between the create and the list, while the old session still lives at the " +
			"service.",
		Check:   ServiceExclusion,
		Finding: "a hold whose znode belongs to another session, and disappears with that session while the hold goes on",
		Kinds:   []string{"grant-of-another-session"},
		Sound:   "mutex", New: staleOwn, GivesUp: true,
	},
	{
		Name:    "local-reentry",
		Bug:     "A client that believes it holds the lock is granted it again without asking the service.",
		Source:  "Curator's InterProcessMutex, by reading and by measurement",
		Trigger: "The holder's session is closed, another client takes the lock, and the first client enters again.",
		Check:   ServiceExclusion,
		Finding: "a grant to a client that has no znode, beside another's hold",
		Kinds:   []string{"grant-without-znode", "grant-after-znode", "grant-of-another-session"},
		Sound:   "mutex", New: localReentry,
	},
	{
		Name: "lost-create",
		Bug: "After a lost reply the create is sent again, without a search for the znode that the first " +
			"one may have made.",
		Source:  "Netflix Curator #3",
		Trigger: "The reply to the create is lost.",
		Check:   Liveness,
		Finding: "a free lock whose only waiter waits for a znode that its own session left behind",
		Kinds:   []string{"orphan"},
		Sound:   "mutex", New: lostCreate,
	},
	{
		Name:    "unsynced-search",
		Bug:     "After a lost reply the client searches for its znode without a sync first.",
		Source:  "CreateProtectedEphemeralSequential of go-zookeeper; Curator's since CURATOR-498",
		Trigger: "The reply to the create is lost, and the client reconnects to a server that lags behind.",
		Check:   Liveness,
		Finding: "a free lock whose only waiter waits for a znode that its own session left behind",
		Kinds:   []string{"orphan"},
		Sound:   "mutex", New: unsyncedSearch,
	},
	{
		Name: "name-order",
		Bug: "Contenders are ordered by their whole names, which begin with the session id instead of the " +
			"sequence number.",
		Source:  "ZOOKEEPER-2931; the same in WriteLock for .NET, shayhatsor/zookeeper #4",
		Trigger: "The second contender's session has a lower id than the holder's session.",
		Check:   ServiceExclusion,
		Finding: "two holds, of which the one with the later number is not eligible",
		Kinds:   []string{"grant-before-eligible"},
		Sound:   "mutex", New: nameOrder,
	},
	{
		Name:    "wrong-predecessor",
		Bug:     "The queue is ordered by numbers, but a waiter chooses the znode to watch by whole names.",
		Source:  "ZOOKEEPER-3162",
		Trigger: "The contender before a waiter gives up, and the contender after it has a lower session id.",
		Check:   Liveness,
		Finding: "a free lock whose two waiters watch each other",
		Kinds:   []string{"stall"},
		Sound:   "mutex", New: wrongPredecessor,
	},
	{
		Name: "lost-wakeup",
		Bug:  "A waiter watches its predecessor by a check of existence and ignores the answer.",
		Source: "the exists() call of ZooKeeper's recipe, without its result; CURATOR-107 is about the watch " +
			"that it leaves",
		Trigger: "The predecessor leaves between the list and the watch.",
		Check:   Liveness,
		Finding: "a free lock whose only waiter watches a path that never exists again",
		Kinds:   []string{"stall"},
		Sound:   "mutex", New: lostWakeup,
	},
	{
		Name:    "cancelled-cleanup",
		Bug:     "The cleanup after a cancelled attempt uses the cancelled context.",
		Source:  "vitess #15756",
		Trigger: "A waiter's context is cancelled.",
		Check:   Liveness,
		Finding: "a free lock, blocked by the znode of an attempt that has ended and whose session lives",
		Kinds:   []string{"orphan"},
		Sound:   "mutex", New: cancelledCleanup,
	},
	{
		Name:    "sequence-token",
		Bug:     "The fencing token is the znode's sequence number.",
		Source:  "container znodes (ZOOKEEPER-2163), whose counters start again, with locks that fence by sequence number",
		Trigger: "The service removes the lock's directory while no client uses it, as it does with containers.",
		Check:   Tokens,
		Finding: "a token that is not above the earlier ones",
		Kinds:   []string{"token-reused", "token-fell"},
		Sound:   "mutex", New: sequenceToken,
	},
	{
		Name:    "later-writers",
		Bug:     "A reader waits for writers that came after it.",
		Source:  "kazoo #649",
		Trigger: "A reader waits for a writer, and another writer queues behind it.",
		Check:   Liveness,
		Finding: "a free lock whose reader and writer watch each other",
		Kinds:   []string{"stall"},
		Sound:   "rw", New: laterWriters,
	},
	{
		Name:    "queued-downgrade",
		Bug:     "A writer that becomes a reader gets a place at the end of the queue.",
		Source:  "CURATOR-621",
		Trigger: "A writer waits when the holder downgrades.",
		Check:   ServiceExclusion,
		Finding: "a writer's hold beside a reader's",
		Kinds:   []string{"grant-before-eligible"},
		Sound:   "rw", New: queuedDowngrade,
	},
	{
		Name:    "local-read",
		Bug:     "A client that believes it holds the write lock is granted the read lock without asking the service.",
		Source:  "Curator's InterProcessReadWriteLock, by reading and by measurement",
		Trigger: "The writer's session is closed, another writer takes the lock, and the first writer downgrades.",
		Check:   ServiceExclusion,
		Finding: "a reader's hold beside a writer's",
		Kinds:   []string{"grant-of-another-session", "grant-without-znode"},
		Sound:   "rw", New: localRead,
	},
	{
		Name: "dead-lease",
		Bug: "An acquisition returns all the permits that it collected, including those whose leases have " +
			"ended with their session.",
		Source:  "Curator's InterProcessSemaphoreV2, by reading and by measurement; CURATOR-315 before it",
		Trigger: "The session is closed while the client waits for the second of two permits.",
		Check:   ServiceExclusion,
		Finding: "a hold of two permits with one lease, and so more permits held than there are",
		Kinds:   []string{"grant-short-of-leases"},
		Sound:   "semaphore", New: deadLease, OneByOne: true,
	},
	{
		Name:    "leaked-lease",
		Bug:     "An attempt that ends does not return the lease with which it waited.",
		Source:  "CURATOR-462; CURATOR-335",
		Trigger: "An attempt is cancelled while it waits for a permit.",
		Check:   Liveness,
		Finding: "a semaphore of which no permit is held, with a waiter and the lease of an attempt that has ended",
		Kinds:   []string{"leaked-lease"},
		Sound:   "semaphore", New: leakedLease, OneByOne: true,
	},
	{
		Name:    "partial-permits",
		Bug:     "A client acquires permits one by one, and keeps them while it waits for the next.",
		Source:  "Curator's InterProcessSemaphoreV2.acquire(qty), by measurement",
		Trigger: "Two clients want three of four permits each, and each has two.",
		Check:   Liveness,
		Finding: "a deadlock: no client holds the lock, and each waits for permits that the other has",
		Kinds:   []string{"deadlock"},
		Sound:   "semaphore", New: partialPermits, OneByOne: true,
	},
	{
		Name:   "blind-delete",
		Bug:    "After a lost reply the delete is repeated, even if the znode at that path is another client's by then.",
		Source: "the one-znode lock of ZooKeeper's manual, with a client that retries",
		Trigger: "The reply to a release's delete is lost, and another client takes the lock before the first " +
			"one reconnects.",
		Check:   BeliefExclusion,
		Finding: "a holder whose znode the holder before it has deleted, beside a second holder",
		Kinds:   []string{"overlap"},
		Sound:   "naive-mutex", New: blindDelete,
	},
	{
		Name:   "queued-write",
		Bug:    "A request of one session is kept and carried out in the next session.",
		Source: "go-zookeeper's client, by measurement",
		Trigger: "A holder releases while it is cut off, its session expires, another client takes the lock, and the first " +
			"one reconnects.",
		Check:   BeliefExclusion,
		Finding: "a holder whose znode an expired holder has deleted, beside a second holder",
		Kinds:   []string{"overlap"},
		Sound:   "naive-mutex", New: queuedWrite,
	},
	{
		Name: "forgetful-session",
		Bug: "A client that was connected again goes on as if it had its session, although the server has given it another " +
			"one without a word.",
		Source:  "ClickHouse Keeper (ClickHouse #116690), with go-zookeeper's client, which does not compare the sessions",
		Trigger: "The holder's connection breaks, and it is connected again at once.",
		Check:   BeliefExclusion,
		Finding: "a holder whose znode went with its forgotten session, beside a second holder",
		Kinds:   []string{"overlap"},
		Sound:   "mutex", New: forgetfulSession, Forgetful: true,
	},
	{
		Name:    "slow-release",
		Bug:     "A holder releases later than it is told to.",
		Source:  "made to be found: the control of whatever compares latencies",
		Trigger: "Every release.",
		Check:   Comparison,
		Finding: "hand-offs that take longer than the sound lock's",
		Sound:   "mutex", Decorate: func(m *recipes.Mutex) recipes.TryLock { return slowRelease(m) },
	},
	{
		Name:    "late-grant",
		Bug:     "One grant in fifty comes 20 ms late.",
		Source:  "made to be found: the control of whatever compares tails",
		Trigger: "One grant in fifty, drawn at random.",
		Check:   Comparison,
		Finding: "acquisitions whose slowest take longer than the sound lock's",
		Sound:   "mutex", Decorate: func(m *recipes.Mutex) recipes.TryLock { return lateGrant(m) },
	},
	{
		Name:    "extra-request",
		Bug:     "A client asks for the length of the queue before each attempt, and does nothing with it.",
		Source:  "made to be found: the control of whatever compares costs",
		Trigger: "Every attempt.",
		Check:   Comparison,
		Finding: "one request per acquisition more than the sound lock's",
		Sound:   "mutex", Decorate: func(m *recipes.Mutex) recipes.TryLock { return extraRequest(m) },
	},
})

//go:embed scenarios
var scenarios embed.FS

// withScenarios gives each lock the scenario of its name, if there is one.
func withScenarios(all []Lock) []Lock {
	for i := range all {
		if b, err := scenarios.ReadFile("scenarios/" + all[i].Name + ".yaml"); err == nil {
			all[i].Scenario = string(b)
		}
	}
	return all
}

// Shown reports whether a scenario makes the bug show.
func (l Lock) Shown() bool { return l.Scenario != "" || l.Builtin != "" }

// Known returns the locks of this package, the foreign ones and the others.
func Known() []Lock { return slices.Concat(Locks, Foreign, Others) }

// Find returns the lock of that name.
func Find(name string) (Lock, bool) {
	all := Known()
	i := slices.IndexFunc(all, func(l Lock) bool { return l.Name == name })
	if i < 0 {
		return Lock{}, false
	}
	return all[i], true
}
