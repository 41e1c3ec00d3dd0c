package evidence

import (
	"time"

	"locklab/harness/history"
)

// Facts are what a run was, as far as verdicts depend on it.
type Facts struct {
	Tokens    bool // the recipe promises tokens that rise from grant to grant
	MayToken  bool // it need not give them to every kind of grant: to writers only, for instance
	Queue     bool // the recipe promises grants in the order of its queue nodes
	Exclusive bool // the recipe promises the exclusion of its modes; false for the control "none"
	// Clients is how many clients were to ask for locks; 0 = not known.
	Clients int
	// Permits is how many permits a semaphore has in the beginning; 0 = not known, or there is none. The history says
	// how the number changed.
	Permits int

	// Guard is how critical sections are protected: GuardNone, GuardFencing, GuardZKMulti, or another guard, which is
	// stronger than the first and weaker than the others.
	Guard string

	SessionTimeout time.Duration // as negotiated; 0 = see each session's first event
	Tick           time.Duration // the servers' tick

	// Expect is what the scenario expects of a check, by its name; see [Facts.Expected] for the others.
	Expect map[string]Expectation
	// AtLeast is the least that counters must come to for the run to be worth anything, by the counters' names:
	// {"stale_rejected": 1}.
	AtLeast map[string]int64

	// Sometimes names the [check.Conditions] that must be met for the run to be worth anything.
	Sometimes []string

	// Servers is what the servers' transaction logs say; nil if there were none.
	Servers *ServerLog

	// FinalValues is each lock's counter as the resource, or ZooKeeper, had it in the end. If it is nil, because
	// no client read it, the last write that the resource accepted takes its place.
	FinalValues map[string]int64
	// FinalVersions says how many writes ZooKeeper had executed when FinalValues were read, if it keeps the counters.
	FinalVersions map[string]int64
	// Lists says that locks protect lists, to which writers append. FinalLists is each lock's list in the end; nil
	// if no client read it.
	Lists      bool
	FinalLists map[string][]int64

	MinAcquired int            // fewer grants than this in the measured window prove nothing
	Faults      []PlannedFault // what the scenario meant to do; one that never happened makes the run unknown
	// Natures says what faults of each kind can do. A kind that it lacks has the zero nature.
	Natures map[string]FaultNature

	// Tries says that clients asked for the lock at once or not at all, which not every lock can do.
	Tries bool

	// Progress says that every client must get a lock once all faults are over, because each asks again and again,
	// and waits until it has one.
	Progress bool

	// Recovers says that the run continues after the last heal for as long as anything that faults left behind may
	// take to disappear.
	Recovers bool

	Partial bool // the run did not come to its planned end
	// Incomplete says in words which parts of the record are missing, cut, or another run's. Then every check of the
	// lock is unknown, because a missing part can hide a violation as well as make a truthful record look like one: a
	// release that is not there, for instance. The record of a process that a fault killed is complete up to its death
	// and does not count.
	Incomplete []string
	// Unmet says in words which other conditions of the run were not met.
	Unmet []string

	_ struct{}
}

// A PlannedFault is a fault that the scenario meant to inject.
type PlannedFault struct {
	ID     string // the Fault of its events
	Kind   string
	Target string // hosts, as far as they are known beforehand
	// Role is what Target is chosen by when the fault strikes, if it is chosen then. A fault that strikes the
	// [RoleLeader] may affect every session.
	Role string

	// HitsServer says that it strikes servers.
	HitsServer bool
	// Delays is by how much it delays each answer at least, as far as that was verified.
	Delays time.Duration
	// SparesServers says that it only affects links to clients, so that servers still reach each other.
	SparesServers bool

	// OnlyReplies says that it cuts off only what servers tell clients, and not what clients tell servers.
	OnlyReplies bool

	// HitsHolder says that the fault is worth nothing unless a client of the target believed that it held a lock
	// when the fault struck.
	HitsHolder bool
	// HitsWaiter says the same of a client that waited for a lock, HitsHead of one that was next to get it.
	HitsWaiter, HitsHead bool
	// Drawn says that a random schedule chose the fault, so that it need not have struck anything.
	Drawn bool
	// Permanent says that the fault is not healed: a kill without a restart.
	Permanent bool
}

// RoleLeader is the Role of a fault that strikes whichever server leads.
const RoleLeader = history.RoleLeader

// An Expectation is what a scenario expects of a check.
type Expectation string

// The expectations. ExpectAny accepts every result except a violation.
const (
	ExpectPass Expectation = "pass"
	ExpectFail Expectation = "fail"
	ExpectAny  Expectation = "any"
)

// The guards that checks know.
const (
	// GuardNone lets a client go on in its critical section, whatever it is told of its hold.
	GuardNone = "none"
	// GuardFencing and GuardZKMulti promise that no stale access has an effect.
	GuardFencing = "fencing"
	// GuardLeaseClock promises that a client makes no access once its session has expired at the servers.
	GuardLeaseClock = "lease-clock"
	// GuardZKMulti keeps what a lock protects in ZooKeeper, so there is no resource with a record of its own.
	GuardZKMulti = "zk-multi"
)

// Promises reports whether a guard promises that no stale access has an effect.
func Promises(guard string) bool { return guard == GuardFencing || guard == GuardZKMulti }
