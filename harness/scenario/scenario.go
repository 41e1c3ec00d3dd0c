package scenario

import (
	"maps"
	"slices"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
	"locklab/workloads"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// The values of the keys that are choices.
const (
	PlacementSpread    = "spread"    // sessions are dealt to all servers in turn
	PlacementLeader    = "leader"    // they are made with the leader, as long as it can be reached
	PlacementFollowers = "followers" // they are dealt to the followers in turn
	// Each is dealt to a follower, and never moves to another server.
	PlacementOwnFollower = "own-follower"

	SectionCounter = "counter" // read, hold, write (or read, hold, read); the check of effects judges these
	SectionAppend  = "append"  // the same with a list: each writer appends an element, so that each lost one is known
	SectionNone    = "none"    // only hold, which measures the lock's own cost

	StorageDisk  = "disk"  // transaction logs on a volume, with fsync
	StorageTmpfs = "tmpfs" // transaction logs in memory
)

// The outcomes that a scenario may expect of a check.
const (
	ExpectPass = string(evidence.ExpectPass)
	ExpectFail = string(evidence.ExpectFail) // the scenario sets out to show this damage
	ExpectAny  = string(evidence.ExpectAny)  // reported, but the verdict does not depend on it
)

var expectations = []string{ExpectPass, ExpectFail, ExpectAny}

// A Scenario says everything about a run. The zero Scenario is not runnable: start from [Defaults], [Load] or
// [Builtin]. The fields are in the order of a file, and their tags say what the keys are; see package settings and
// [Key].
type Scenario struct {
	// Name consists of lower-case letters, digits and dashes; the default is the file's base name.
	Name  string `key:"name" scenario:"fileonly" pattern:"^[a-z0-9][a-z0-9-]{0,63}$"`
	About string `key:"about" scenario:"fileonly,omitempty"`
	// Answers is the reader whose question that is: AnswersPlanner, AnswersCI or AnswersDesigner; or empty.
	Answers string `key:"answers" scenario:"fileonly,omitempty"`

	Lab string `key:"lab" enum:"auto,docker,netns,process,kubernetes,sim"`
	// Connect is the connection string of an ensemble to run on, which locklab did not start; empty = the lab has servers
	// of its own. The other four say how to reach it: see [remote.Target].
	Connect     string `key:"connect" scenario:"omitempty"`
	ConnectCA   string `key:"connect-ca" scenario:"omitempty"`
	ConnectCert string `key:"connect-cert" scenario:"omitempty"`
	ConnectKey  string `key:"connect-key" scenario:"omitempty"`
	ConnectAuth string `key:"connect-auth" scenario:"omitempty"`
	// TxnLogDir has the directories of such servers' transaction logs, in their order, with commas between them.
	TxnLogDir string `key:"txnlog-dir" scenario:"omitempty"`
	// MaxRate is how many acquisitions per second such an ensemble bears without a user's confirmation; see
	// [Scenario.CheckRate]. A run ends itself once the ensemble's own latency passes MaxLatency.
	MaxRate    float64       `key:"max-rate" scenario:"elsewhere" min:"0.001" max:"1000000"`
	MaxLatency time.Duration `key:"max-latency" scenario:"elsewhere" min:"10ms" max:"1h"`

	Seed uint64 `key:"seed" scenario:"omitempty"`

	Workload string `key:"workload"`
	// Recipe is a lock's name, or several with commas between them; or lock.ExecPrefix and a command with its
	// arguments. The default is the workload's own: lock.Mutex, "rw", "semaphore" or "multi".
	Recipe string `key:"recipe"`
	// ClientImage is the image of the hosts of a command's clients; empty = the servers' image.
	ClientImage string `key:"client-image" scenario:"omitempty" pattern:"^[^ ]*$" hint:"a name such as debian:bookworm"`
	// Layout says by which znodes a command's clients contend; empty = its greeting says so, or it is not known.
	Layout nodes.Layout `key:"layout" scenario:"omitempty"`
	Guard  string       `key:"guard"`

	Clients int `key:"clients" min:"1" max:"100000"`
	// ClientsPerSession is how many clients share a session; 0 = 1.
	ClientsPerSession int    `key:"clients-per-session" scenario:"omitempty" min:"0" max:"100000"`
	Placement         string `key:"placement" enum:"spread,leader,followers,own-follower"`
	// RoundTrip is added between all clients and all servers for the whole run. It is no fault.
	RoundTrip       RoundTrip `key:"round-trip" scenario:"omitempty"`
	Section         string    `key:"section" enum:"counter,append,none"`
	ClientProcesses int       `key:"client-processes" min:"1" max:"64"`
	VictimAlone     bool      `key:"victim-alone"`
	// Victims is how many processes run one client alone if VictimAlone; 0 = 1.
	Victims int `key:"victims" scenario:"omitempty" min:"0" max:"63"`
	Locks   int `key:"locks" min:"1" max:"100000"`

	workloads.Load

	// Rate is how many acquisitions are due per second over all clients, if Arrivals are open. At most MaxInFlight are
	// under way at once; 0 = Clients.
	Rate        workloads.RatePlan `key:"rate" scenario:"omitempty"`
	MaxInFlight int                `key:"max-in-flight" scenario:"omitempty" min:"0" max:"100000"`
	// Queue is how many acquisitions that are due wait if all clients are busy; further ones are dropped.
	Queue int `key:"queue" scenario:"omitempty" min:"0" max:"1000000"`

	Warmup   time.Duration `key:"warmup" min:"0" max:"24h"`
	Duration time.Duration `key:"duration" scenario:"omitempty,rival=iterations" min:"0" max:"24h"`
	// Iterations is how often each client acquires a lock. It replaces a duration.
	Iterations int    `key:"iterations" scenario:"omitempty,rival=duration" min:"0" max:"1000000000"`
	Drain      string `key:"drain" enum:"finish,cancel"`

	// SessionTimeout is what clients ask for; see Negotiated for what they get. A limit of 0 is ZooKeeper's own, 2 and 20
	// ticks.
	SessionTimeout    time.Duration `key:"session-timeout" min:"1ms" max:"1h"`
	Tick              time.Duration `key:"tick" min:"10ms" max:"1m"`
	MinSessionTimeout time.Duration `key:"min-session-timeout" scenario:"omitempty" min:"0" max:"1h"`
	MaxSessionTimeout time.Duration `key:"max-session-timeout" scenario:"omitempty" min:"0" max:"1h"`
	SyncLimit         int           `key:"sync-limit" scenario:"own" min:"1" max:"10000"`
	Servers           int           `key:"servers" min:"1" max:"9"`
	// ZooKeeper has the versions of ZooKeeper that the servers start with, dealt to them in turn; see
	// [ensembles.HostSpec]. Empty = ensembles.DefaultVersion.
	ZooKeeper string        `key:"zookeeper" scenario:"omitempty,own"`
	Storage   string        `key:"storage" scenario:"own" enum:"disk,tmpfs"`
	JVM       string        `key:"jvm" scenario:"own" enum:"lab,production"`
	Heap      settings.Size `key:"heap" scenario:"own" min:"64MiB" max:"64GiB"`

	// Schedule is ScheduleExplicit for exactly Faults, or draws more faults at random. FaultInterval is then the mean time
	// between the beginnings of two of them, FaultLength how long they last, and FaultKinds their kinds; none = all that
	// this machine can inject, with equal weights.
	Schedule      string          `key:"schedule" enum:"explicit,random,swarm"`
	FaultInterval time.Duration   `key:"fault-interval" scenario:"drawn" min:"10ms" max:"24h"`
	FaultLength   chaos.SpanRange `key:"fault-length" scenario:"drawn"`
	FaultKinds    chaos.Weights   `key:"fault-kinds" scenario:"drawn,omitempty"`

	Liveness Liveness `key:"liveness"`
	Observer bool     `key:"observer"`
	// MinAcquired is the least number of acquisitions in the measured window from which verdicts can be drawn.
	MinAcquired int `key:"min-acquired" min:"0" max:"1000000000"`

	Faults []chaos.Fault // in any order
	// Expect has the outcome that each check should have, by check; see Expected for checks that it does not name.
	Expect map[string]string
	// Shown has the number that each safety counter must reach, by counter. A run that stays below has not shown what it
	// should show.
	Shown map[string]int64
	// Sometimes has the conditions ([check.Conditions]) that must be met at least once; a run that misses one proves
	// nothing.
	Sometimes []string
	// Thresholds are limits on numbers of the result; all of them must hold.
	Thresholds []Threshold

	file    string            // the file it was loaded from, as in messages
	origins map[string]origin // by key, "faults[0].for" for a fault's
	// builtinDowngrade is the downgrade-share of the built-in scenario that was loaded, see followRecipe.
	builtinDowngrade builtinShare
}

// Defaults returns the scenario of a file that gives no key, which is {}.
func Defaults() *Scenario {
	return &Scenario{
		Name:            "unnamed",
		Lab:             ensembles.LabAuto,
		MaxRate:         100,
		MaxLatency:      500 * time.Millisecond,
		Workload:        workloads.Mutex,
		Recipe:          lock.Mutex,
		Guard:           guard.None,
		Clients:         8,
		ClientProcesses: 2,
		Placement:       PlacementSpread,
		Section:         SectionCounter,
		Locks:           1,
		Load: workloads.Load{
			ReadShare:   0.9,
			Permits:     4,
			Units:       1,
			LocksAtOnce: 2,
			Ordered:     true,
			Arrivals:    workloads.Closed,
		},
		Warmup:         2 * time.Second,
		Duration:       10 * time.Second,
		Drain:          workloads.DrainFinish,
		SessionTimeout: 2 * time.Second,
		Tick:           200 * time.Millisecond,
		SyncLimit:      5,
		Servers:        3,
		Storage:        StorageDisk, // tmpfs flatters
		JVM:            ensembles.JVMLab,
		Heap:           256 * settings.MiB,
		Schedule:       chaos.ScheduleExplicit,
		FaultInterval:  4 * time.Second,
		FaultLength:    chaos.SpanRange{From: chaos.Span{Timeouts: 0.25}, To: chaos.Span{Expiry: true, Plus: time.Second}},
		Liveness:       LivenessAuto,
		MinAcquired:    1,
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
	c.Sometimes = slices.Clone(s.Sometimes)
	c.Thresholds = slices.Clone(s.Thresholds)
	c.origins = maps.Clone(s.origins)
	return &c
}

// Expected returns the outcome that the check of that name should have: what Expect says, or else the check's default.
func (s *Scenario) Expected(name string) string {
	if e := s.Expect[name]; e != "" {
		return e
	}
	return string(check.Expected(&evidence.Facts{Queue: s.Mix().Queue}, name))
}
