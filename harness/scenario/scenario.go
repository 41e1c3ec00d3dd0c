package scenario

import (
	"maps"
	"slices"
	"time"

	"locklab/workloads"
)

// The values of the keys that are choices.
const (
	LabAuto    = "auto"    // the first kind that works
	LabDocker  = "docker"  // containers
	LabNetns   = "netns"   // network namespaces
	LabProcess = "process" // child processes on loopback ports

	GuardNone        = "none"         // the resource accepts every access
	GuardLostContext = "lost-context" // and the client makes none once it was told that its hold is over
	GuardLeaseClock  = "lease-clock"  // or once the service can have expired its session
	GuardFencing     = "fencing"      // the resource refuses a token below what it has served
	GuardZKMulti     = "zk-multi"     // what the lock protects is in ZooKeeper, and written in a transaction that checks the hold

	DrainFinish = "finish" // waiters at the end are still granted the lock
	DrainCancel = "cancel" // waiters at the end are cancelled, and counted as censored

	PlacementSpread    = "spread"    // sessions are dealt to all servers in turn
	PlacementLeader    = "leader"    // they are made with the leader, as long as it can be had
	PlacementFollowers = "followers" // they are dealt to the followers in turn

	SectionCounter = "counter" // read, hold, write (or read, hold, read): what the checks of effect go by
	SectionAppend  = "append"  // the same of a list: writers append an element of their own, so that each that is lost is known
	SectionNone    = "none"    // hold: the lock's own cost

	StorageDisk  = "disk"  // transaction logs on a volume, with fsync
	StorageTmpfs = "tmpfs" // transaction logs in memory
)

// The checks that Expect may name.
const (
	CheckServiceExclusion = "service-exclusion"
	CheckBeliefExclusion  = "belief-exclusion"
	CheckEffect           = "effect"
	CheckTokens           = "tokens"
	CheckFairness         = "fairness"
	CheckLiveness         = "liveness"
)

// What a scenario may expect of a check.
const (
	ExpectPass = "pass"
	ExpectFail = "fail" // the scenario sets out to show this damage
	ExpectAny  = "any"  // reported, but the verdict does not depend on it
)

// The safety counters that Shown may name.
const (
	ShownOverlaps      = "overlaps"
	ShownStaleAccepted = "stale_accepted"
	ShownStaleRejected = "stale_rejected"
	ShownLostUpdates   = "lost_updates"
	ShownTornReads     = "torn_reads"
	ShownCrowded       = "crowded"
)

var (
	labs         = []string{LabAuto, LabDocker, LabNetns, LabProcess}
	placements   = []string{PlacementSpread, PlacementLeader, PlacementFollowers}
	sections     = []string{SectionCounter, SectionAppend, SectionNone}
	arrivals     = []string{workloads.Closed, workloads.Poisson, workloads.Uniform}
	allWorkloads = []string{WorkloadMutex, WorkloadReadWrite, WorkloadSemaphore, WorkloadMultiLock}
	guards       = []string{GuardNone, GuardLostContext, GuardLeaseClock, GuardFencing, GuardZKMulti}
	drains       = []string{DrainFinish, DrainCancel}
	sizes        = []string{"1", "3", "5"} // of ensembles
	storages     = []string{StorageDisk, StorageTmpfs}
	checks       = []string{CheckServiceExclusion, CheckBeliefExclusion, CheckEffect, CheckTokens, CheckFairness, CheckLiveness}
	expectations = []string{ExpectPass, ExpectFail, ExpectAny}
	counters     = []string{ShownOverlaps, ShownStaleAccepted, ShownStaleRejected, ShownLostUpdates, ShownTornReads, ShownCrowded}
)

// A Scenario says everything about a run. The zero Scenario is not runnable:
// start from [Defaults], [Load] or [Builtin]. Each field is the key of the
// same name in kebab-case; the defaults below are those of Defaults.
type Scenario struct {
	Name  string // letters, digits and dashes; default the file's base name
	About string // one sentence: the question that the run answers
	// Answers is whose question that is: AnswersPlanner, AnswersCI or AnswersDesigner; or empty.
	Answers string

	Lab  string // LabAuto (default) or a kind of lab
	Seed uint64 // reproduces the plan; 0 (default) = the caller draws one

	Workload string // WorkloadMutex (default) or another
	// Recipe is a lock's name, or several with commas between them; or RecipeExec and a
	// command with its arguments. The default is the workload's own: RecipeMutex, "rw",
	// "semaphore" or "multi".
	Recipe string
	Guard  string // GuardNone (default) or another

	ClientImage string // of the hosts of a command's clients; empty (default) = the servers' image

	Clients         int // in total, over all client processes; default 8
	ClientProcesses int // hosts c1…cN; default 2
	// ClientsPerSession share one; 0 (default) = 1.
	ClientsPerSession int
	Placement         string // PlacementSpread (default), PlacementLeader or PlacementFollowers, as they are when clients connect
	Section           string // SectionCounter (default), SectionAppend or SectionNone

	VictimAlone bool          // c1 holds exactly one client, the rest share the other processes; default false
	Locks       int           // default 1
	Wait        time.Duration // that an acquire may take before it is given up; 0 (default) = as long as it takes

	Try bool // an acquire is given up once it is known that it would have to wait; default false

	// WorkloadReadWrite's, as shares from 0 to 1.
	ReadShare      float64         // of acquisitions that read; default 0.9
	DowngradeShare float64         // of writers that go on as readers; default 0
	ReadBurst      workloads.Burst // in which all acquisitions read; default never
	// WorkloadSemaphore's.
	Permits int              // default 4
	Resize  workloads.Resize // between Permits and another number, during the run; default never
	Units   int              // permits of an acquisition; default 1
	// WorkloadMultiLock's.
	LocksPerAcquire int  // of Locks, drawn each time; default 2
	Ordered         bool // every client takes them in the same order; default true

	LockChoice workloads.Choice       // of the locks; default all alike
	Hold       workloads.Distribution // between read and write of the critical section; default 0
	Think      workloads.Distribution // between release and the next acquire; default 0

	// Arrivals is workloads.Closed (default), or how work arrives whether or not a client is free:
	// at Rate, over all clients, and at most MaxInFlight acquisitions at once, 0 (default) = Clients.
	Arrivals    string
	Rate        workloads.Plan
	MaxInFlight int

	Warmup     time.Duration // works, but is not measured; default 2s
	Duration   time.Duration // of the measured window; default 10s; 0 if Iterations is set
	Iterations int           // acquisitions of each client, instead of a duration; default 0
	Drain      string        // DrainFinish (default) or DrainCancel

	SessionTimeout    time.Duration // as asked for by clients, see Negotiated; default 2s
	Tick              time.Duration // tickTime of the servers; default 200ms
	MinSessionTimeout time.Duration // servers' lower limit; 0 (default) = 2 ticks
	MaxSessionTimeout time.Duration // servers' upper limit; 0 (default) = 20 ticks
	InitLimit         int           // in ticks; default 20
	SyncLimit         int           // in ticks: a leader that is cut off serves on for about so long; default 5

	// SequenceLeft is how many sequential znodes the locks' directories can still number: they are there
	// from the beginning, and look as old as that. 0 (default) = they are made when they are wanted.
	SequenceLeft int

	Servers int    // 1, 3 (default) or 5
	Storage string // StorageDisk (default: tmpfs flatters) or StorageTmpfs
	Heap    Size   // of each server's JVM; default 256MiB

	Observer bool // a watcher of the lock's queue in a host of its own; default false

	Faults []Fault // in no particular order
	// Schedule is ScheduleExplicit (default): what Faults says; or where more come from.
	Schedule string
	// Of faults that are drawn: the mean time between two beginnings, default 4s; how long they last,
	// default 0.25T to expiry and a second; and their kinds, default all that can be done here alike.
	FaultInterval time.Duration
	FaultLength   SpanRange
	FaultKinds    []WeightedKind
	// Liveness is how much longer clients work after the measured window and the final heal, so that
	// progress can be demanded of each; LivenessAuto (default) is as long as takes, and nothing without faults.
	Liveness time.Duration

	// Expect is what checks are to come out as, by check; see Expected for
	// those not named.
	Expect map[string]string
	// Shown is the least that safety counters must come to, by counter: below
	// it, the run has not shown what it set out to show.
	Shown map[string]int64
	// MinAcquired is the least number of acquisitions in the measured window
	// for the run to say anything; default 1.
	MinAcquired int
	// Thresholds are what numbers of the result must keep to, all of them.
	Thresholds []Threshold

	file    string            // that it was loaded from, as in messages
	origins map[string]origin // by key, "faults[0].for" for a fault's
}

// Defaults returns the scenario of a file that gives no key, which is {}.
func Defaults() *Scenario {
	return &Scenario{
		Name:            "unnamed",
		Lab:             LabAuto,
		Workload:        WorkloadMutex,
		Recipe:          RecipeMutex,
		Guard:           GuardNone,
		Clients:         8,
		ClientProcesses: 2,
		Locks:           1,
		ReadShare:       0.9,
		Permits:         4,
		Units:           1,
		LocksPerAcquire: 2,
		Ordered:         true,
		Arrivals:        workloads.Closed,
		Placement:       PlacementSpread,
		Section:         SectionCounter,
		Warmup:          2 * time.Second,
		Duration:        10 * time.Second,
		Drain:           DrainFinish,
		SessionTimeout:  2 * time.Second,
		Tick:            200 * time.Millisecond,
		InitLimit:       20,
		SyncLimit:       5,
		Servers:         3,
		Storage:         StorageDisk,
		Heap:            256 * MiB,
		MinAcquired:     1,
		Schedule:        ScheduleExplicit,
		FaultInterval:   4 * time.Second,
		FaultLength:     SpanRange{Span{Timeouts: 0.25}, Span{Expiry: true, Plus: time.Second}},
		Liveness:        LivenessAuto,
	}
}

// Clone returns a copy that shares nothing with s.
func (s *Scenario) Clone() *Scenario {
	c := *s
	c.Rate.Rates = slices.Clone(s.Rate.Rates)
	c.Faults = slices.Clone(s.Faults)
	c.FaultKinds = slices.Clone(s.FaultKinds)
	c.Expect = maps.Clone(s.Expect)
	c.Shown = maps.Clone(s.Shown)
	c.Thresholds = slices.Clone(s.Thresholds)
	c.origins = maps.Clone(s.origins)
	return &c
}

// Expected returns what the check is to come out as. A check that Expect does
// not name is to pass, but fairness is only promised by a recipe that queues.
func (s *Scenario) Expected(check string) string {
	if e := s.Expect[check]; e != "" {
		return e
	}
	if check == CheckFairness && !s.Mix().Queue {
		return ExpectAny
	}
	return ExpectPass
}

// SessionLimits returns the servers' limits of a session's timeout, with
// ZooKeeper's defaults of 2 and 20 ticks for those that are not set.
func (s *Scenario) SessionLimits() (lo, hi time.Duration) {
	lo, hi = s.MinSessionTimeout, s.MaxSessionTimeout
	if lo == 0 {
		lo = 2 * s.Tick
	}
	if hi == 0 {
		hi = 20 * s.Tick
	}
	return lo, hi
}

// Negotiated returns the session timeout T that clients will get: what they
// ask for, brought within the servers' limits.
func (s *Scenario) Negotiated() time.Duration {
	lo, hi := s.SessionLimits()
	return max(lo, min(hi, s.SessionTimeout))
}

// Expiry returns the shortest silence of a client after which its session is
// certainly over: T + 2 ticks. (The servers may round up to a tick and hear of
// a touch half a tick late, so T + 1.5 ticks is the bound; the rest is margin.)
func (s *Scenario) Expiry() time.Duration { return s.Negotiated() + 2*s.Tick }

// Resolve returns how long the span is in this scenario.
func (s *Scenario) Resolve(sp Span) time.Duration { return sp.Resolve(s.Negotiated(), s.Tick) }

// LivenessAuto is the Liveness that is as long as it takes.
const LivenessAuto = time.Duration(-1)

// LivenessPhase returns how long clients work on after the measured window once everything is healed, at most
// if that is LivenessAuto: until the service has forgotten whoever a fault has cut off, and a while for everybody's turn, see
// [Scenario.round].
func (s *Scenario) LivenessPhase() time.Duration {
	switch {
	case s.Iterations > 0 || s.Liveness == LivenessAuto && !s.HasFaults():
		return 0
	case s.Liveness == LivenessAuto:
		return s.Expiry() + 5*time.Second + min(2*s.round(), longestTurn)
	}
	return s.Liveness
}

// longestTurn bounds what LivenessAuto allows for everybody's turn: where critical sections are so long, and clients so many,
// that a run would take minutes longer, the scenario is to say so itself.
const longestTurn = 2 * time.Minute

// round is how long it takes until everybody has had a lock if all want one all the time, are spread evenly over the locks, and
// spend no time on anything but critical sections. Locks are drawn, so it may well take twice that.
func (s *Scenario) round() time.Duration {
	atOnce := max(s.Locks, 1)
	if s.Workload == WorkloadSemaphore {
		atOnce *= max(s.Permits, 1)
	}
	turns := (s.Clients + atOnce - 1) / atOnce
	return time.Duration(turns)*s.Hold.Mean() + s.Think.Mean()
}

// ClientsPerProcess returns how many clients each client process runs, c1
// first. They are dealt evenly, the first processes getting what is left over;
// with VictimAlone, c1 gets one and the others share the rest.
func (s *Scenario) ClientsPerProcess() []int {
	n := make([]int, max(s.ClientProcesses, 0))
	deal, clients := n, s.Clients
	if s.VictimAlone && len(n) > 1 {
		n[0] = 1
		deal, clients = n[1:], clients-1
	}
	for i := range deal {
		deal[i] = clients / len(deal)
		if i < clients%len(deal) {
			deal[i]++
		}
	}
	return n
}
