package check

import "time"

// Facts are what a run was, as far as verdicts depend on it.
type Facts struct {
	Tokens    bool // the recipe promises tokens that rise from grant to grant
	Queue     bool // the recipe promises grants in the order of its queue nodes
	Exclusive bool // the recipe promises exclusion, as the modes have it; false for the control "none"
	// Permits is how many permits a semaphore has; 0 = not known, or there is none.
	Permits int

	Guard string // how critical sections are protected: GuardFencing, GuardZKMulti, or one that promises less

	SessionTimeout time.Duration // as negotiated; 0 = as each session's first event says
	Tick           time.Duration // the servers' tick

	// Expect is what the scenario expects of a check, by its name; a check that
	// is absent is expected to pass.
	Expect map[string]Expectation
	// AtLeast is what the run must have shown to have been worth it, by the
	// names that the numbers of Safety have in JSON: {"stale_rejected": 1}.
	AtLeast map[string]int64

	// Servers is what the servers' transaction logs say; nil if they were not to be had.
	Servers *ServerLog

	// FinalValues is each lock's counter as the resource, or ZooKeeper, had it in the end; nil
	// if nobody asked it. The resource's last accepted write stands in then.
	FinalValues map[string]int64
	// FinalVersions is, of what ZooKeeper keeps, how many writes it had executed when FinalValues were read.
	FinalVersions map[string]int64
	// Lists says that what locks protect is lists, to which writers append; FinalLists is each lock's in the
	// end, nil if nobody asked for it.
	Lists      bool
	FinalLists map[string][]int64

	MinAcquired int            // fewer grants than this in the measured window prove nothing
	Faults      []PlannedFault // what the scenario meant to do; one that never happened makes the run unknown

	// Progress says that every client is to get a lock once all faults are over: it asks again and
	// again, and waits until it has it.
	Progress bool

	// Recovers says that the run goes on after the last heal for as long as what faults left behind may take to go.
	Recovers bool

	Partial bool // the run did not come to its planned end
	// Incomplete says in words which histories are torn or missing. The record of
	// a process that a fault killed is whole up to its death and does not count.
	Incomplete []string

	_ struct{}
}

// A PlannedFault is one that the scenario meant to inject.
type PlannedFault struct {
	ID     string // the Fault of its events
	Kind   string
	Target string // hosts, as far as they are known beforehand
	// Role is what Target is chosen by when the fault strikes, if it is: one that
	// strikes the [RoleLeader] may stand in the way of every session.
	Role string

	// SparesServers says that it is of links to clients alone: servers reach each other all the while.
	SparesServers bool

	// Cause is what its damage is put down to: pause, kill, partition or administrator; empty = Kind.
	Cause string

	// HitsHolder says that the fault is worth nothing unless a client of the
	// target believed that it held a lock when it struck.
	HitsHolder bool
	// HitsWaiter says the same of a client that waited for a lock, HitsHead of one that was
	// the next to have it.
	HitsWaiter, HitsHead bool
	// Drawn says that chance chose the fault: that it met nobody speaks against nothing.
	Drawn bool
	// Permanent says that it is not to be healed: a kill without a restart.
	Permanent bool
}

// RoleLeader is the Role of a fault that strikes whichever server leads.
const RoleLeader = "leader"

// An Expectation is what a scenario expects of a check.
type Expectation string

// The expectations. ExpectAny takes whatever comes, short of a violation.
const (
	ExpectPass Expectation = "pass"
	ExpectFail Expectation = "fail"
	ExpectAny  Expectation = "any"
)

// The names of the checks.
const (
	ServiceExclusion = "service-exclusion"
	BeliefExclusion  = "belief-exclusion"
	Effect           = "effect"
	Tokens           = "tokens"
	Fairness         = "fairness"
	Liveness         = "liveness"
	Assumptions      = "assumptions"
	Shown            = "shown"
)

// The guards that promise that no stale access has an effect.
const (
	GuardFencing = "fencing"
	// GuardZKMulti keeps what a lock protects in ZooKeeper: there is no resource with a record of its own.
	GuardZKMulti = "zk-multi"
)

// promises reports whether a guard promises that no stale access has an effect.
func promises(guard string) bool { return guard == GuardFencing || guard == GuardZKMulti }

func (f *Facts) expected(name string) Expectation {
	if e := f.Expect[name]; e != "" {
		return e
	}
	return ExpectPass
}
