package scenario

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// The values of the keys that are choices.
const (
	LabAuto    = "auto"    // the first kind that works
	LabDocker  = "docker"  // containers
	LabNetns   = "netns"   // network namespaces
	LabProcess = "process" // child processes on loopback ports

	RecipeMutex      = "mutex"       // Curator's queue: one watch, on the predecessor
	RecipeNaiveMutex = "naive-mutex" // one znode that everybody watches
	RecipeNone       = "none"        // no lock at all: what the oracle must catch
	RecipeExec       = "exec:"       // with a command after it: anybody's own lock
	RecipeCurator    = "curator-"    // the beginning of the names of Apache Curator's own locks

	RecipeCuratorSemaphore = "curator-semaphore" // the one of them without tokens

	GuardNone    = "none"    // the resource accepts every access
	GuardFencing = "fencing" // the resource refuses a token below what it has served

	DrainFinish = "finish" // waiters at the end are still granted the lock
	DrainCancel = "cancel" // waiters at the end are cancelled, and counted as censored

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
)

var (
	labs         = []string{LabAuto, LabDocker, LabNetns, LabProcess}
	recipes      = []string{RecipeMutex, RecipeNaiveMutex, RecipeNone, "curator-mutex", "curator-semaphore-mutex", "curator-rw", "curator-multi", RecipeCuratorSemaphore}
	guards       = []string{GuardNone, GuardFencing}
	drains       = []string{DrainFinish, DrainCancel}
	sizes        = []string{"1", "3", "5"} // of ensembles
	storages     = []string{StorageDisk, StorageTmpfs}
	checks       = []string{CheckServiceExclusion, CheckBeliefExclusion, CheckEffect, CheckTokens, CheckFairness, CheckLiveness}
	expectations = []string{ExpectPass, ExpectFail, ExpectAny}
	counters     = []string{ShownOverlaps, ShownStaleAccepted, ShownStaleRejected, ShownLostUpdates}
)

// A Scenario says everything about a run. The zero Scenario is not runnable:
// start from [Defaults], [Load] or [Builtin]. Each field is the key of the
// same name in kebab-case; the defaults below are those of Defaults.
type Scenario struct {
	Name  string // letters, digits and dashes; default the file's base name
	About string // one sentence: the question that the run answers

	Lab  string // LabAuto (default) or a kind of lab
	Seed uint64 // reproduces the plan; 0 (default) = the caller draws one

	Recipe string // RecipeMutex (default), …, or RecipeExec and a command with its arguments
	Guard  string // GuardNone (default) or GuardFencing

	ClientImage string // of the hosts of a command's clients; empty (default) = the servers' image

	Clients         int           // in total, over all client processes; default 8
	ClientProcesses int           // hosts c1…cN; default 2
	VictimAlone     bool          // c1 holds exactly one client, the rest share the other processes; default false
	Locks           int           // default 1
	Hold            time.Duration // between read and write of the critical section; default 0
	Think           time.Duration // between release and the next acquire; default 0

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

	Servers int    // 1, 3 (default) or 5
	Storage string // StorageDisk (default: tmpfs flatters) or StorageTmpfs
	Heap    Size   // of each server's JVM; default 256MiB

	Observer bool // a watcher of the lock's queue in a host of its own; default false

	Faults []Fault // in no particular order

	// Expect is what checks are to come out as, by check; see Expected for
	// those not named.
	Expect map[string]string
	// Shown is the least that safety counters must come to, by counter: below
	// it, the run has not shown what it set out to show.
	Shown map[string]int64
	// MinAcquired is the least number of acquisitions in the measured window
	// for the run to say anything; default 1.
	MinAcquired int

	file    string            // that it was loaded from, as in messages
	origins map[string]origin // by key, "faults[0].for" for a fault's
}

// Defaults returns the scenario that an empty file describes.
func Defaults() *Scenario {
	return &Scenario{
		Name:            "unnamed",
		Lab:             LabAuto,
		Recipe:          RecipeMutex,
		Guard:           GuardNone,
		Clients:         8,
		ClientProcesses: 2,
		Locks:           1,
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
	}
}

// Clone returns a copy that shares nothing with s.
func (s *Scenario) Clone() *Scenario {
	c := *s
	c.Faults = slices.Clone(s.Faults)
	c.Expect = maps.Clone(s.Expect)
	c.Shown = maps.Clone(s.Shown)
	c.origins = maps.Clone(s.origins)
	return &c
}

// Expected returns what the check is to come out as. A check that Expect does
// not name is to pass, but fairness is only promised by a recipe that queues.
func (s *Scenario) Expected(check string) string {
	if e := s.Expect[check]; e != "" {
		return e
	}
	if check == CheckFairness && s.Recipe != RecipeMutex {
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

// HasTokens reports whether the recipe gives out fencing tokens, or may, as far as is known.
func (s *Scenario) HasTokens() bool {
	return s.Recipe != RecipeNone && s.Recipe != RecipeCuratorSemaphore
}

// Command returns the command of a recipe that is anybody's own lock, and its
// arguments; nil for every other recipe.
func (s *Scenario) Command() []string {
	command, ok := strings.CutPrefix(s.Recipe, RecipeExec)
	if !ok {
		return nil
	}
	return strings.Fields(command)
}

// Foreign reports whether the recipe is in a process beside the client's.
func (s *Scenario) Foreign() bool {
	return s.Command() != nil || strings.HasPrefix(s.Recipe, RecipeCurator)
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
