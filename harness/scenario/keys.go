package scenario

import (
	"slices"
	"strings"
	"time"
)

// A Key describes one scalar key of a scenario, which is also a flag and an
// environment variable.
type Key struct {
	Name    string   // as in files; the flag is --Name
	Help    string   // half a sentence, with units
	Default string   // as text; empty = none
	Values  []string // what a choice can be; nil for other keys
	Bool    bool     // true or false: a flag without a value

	fileOnly bool   // neither flag nor variable
	drawn    bool   // of schedules that are drawn
	workload string // the one that the key is of; empty = all
	rival    string // the key that a higher-ranked setting of this one replaces
	optional bool   // not written where zero
	field    func(*Scenario) value
	lo, hi   int64 // bounds, where field is a number
}

// Env returns the name of the key's environment variable: LOCKLAB_CLIENTS.
func (k Key) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(k.Name, "-", "_"))
}

// The bounds of durations and counts are far beyond what is sensible: they
// catch slips such as a wrong unit.
const (
	day = int64(24 * time.Hour)
	ms  = int64(time.Millisecond)
)

// Keys of the file that are not scalars.
var structural = []string{"faults", "expect", "shown", thresholdsKey}

var keys = defaulted([]Key{
	{Name: "name", Help: "name of the scenario and of its run directory", fileOnly: true,
		field: func(s *Scenario) value { return nameValue{&s.Name} }},
	{Name: "about", Help: "the question that the run answers, in one sentence", fileOnly: true, optional: true,
		field: func(s *Scenario) value { return textValue{&s.About} }},
	{Name: "answers", Help: "who asks that: " + strings.Join(askers, ", "), fileOnly: true, optional: true,
		field: func(s *Scenario) value { return answersValue{&s.Answers} }},
	{Name: "lab", Help: "kind of lab", Values: labs,
		field: func(s *Scenario) value { return choiceValue{&s.Lab, labs} }},
	{Name: "seed", Help: "reproduces the plan, not the interleaving; 0 draws one", optional: true,
		field: func(s *Scenario) value { return seedValue{&s.Seed} }},
	{Name: "workload", Help: "what kinds of holds clients want", Values: allWorkloads,
		field: func(s *Scenario) value { return choiceValue{&s.Workload, allWorkloads} }},
	{Name: "recipe", Help: "lock algorithm, or several with commas, dealt to the client processes; or a file that is one behind the lock protocol", Values: append(recipeList(), RecipeExec+"CMD"),
		field: func(s *Scenario) value { return recipeValue{&s.Recipe} }},
	optional(Key{Name: "client-image", Help: "image of the clients' hosts, where the recipe is a command",
		field: func(s *Scenario) value { return imageValue{&s.ClientImage} }}),
	{Name: "guard", Help: "how the resource is protected from who has lost the lock", Values: guards,
		field: func(s *Scenario) value { return choiceValue{&s.Guard, guards} }},
	count("clients", "clients in total", 1, 10_000, func(s *Scenario) *int { return &s.Clients }),
	optional(count("sequence-left", "sequential znodes that the locks' directories can still number when the run begins; 0 is all that there are", 0, 1<<31-2, func(s *Scenario) *int { return &s.SequenceLeft })),
	optional(count("clients-per-session", "clients that share a session of ours; 0 is one", 0, 10_000, func(s *Scenario) *int { return &s.ClientsPerSession })),
	{Name: "placement", Help: "servers that sessions are made with: spread over all, or pinned to whoever leads at the start, or to the followers", Values: placements,
		field: func(s *Scenario) value { return choiceValue{&s.Placement, placements} }},
	{Name: "section", Help: "what a holder does: read and write the lock's counter at the resource, append to its list, or none but hold", Values: sections,
		field: func(s *Scenario) value { return choiceValue{&s.Section, sections} }},
	count("client-processes", "client processes c1…cN, each on a host of its own", 1, 64, func(s *Scenario) *int { return &s.ClientProcesses }),
	flag("victim-alone", "process c1 runs exactly one client, the others share the rest", func(s *Scenario) *bool { return &s.VictimAlone }),
	count("locks", "locks", 1, 10_000, func(s *Scenario) *int { return &s.Locks }),
	only(WorkloadReadWrite, Key{Name: "read-share", Help: "share of acquisitions that read, 0 to 1", field: func(s *Scenario) value { return shareValue{&s.ReadShare} }}),
	only(WorkloadReadWrite, optional(Key{Name: "read-burst", Help: "time in which all acquisitions read, and how often it comes, such as 500ms every 5s", field: func(s *Scenario) value { return burstValue{&s.ReadBurst} }})),
	only(WorkloadReadWrite, Key{Name: "downgrade-share", Help: "share of writers that go on as readers, 0 to 1", field: func(s *Scenario) value { return shareValue{&s.DowngradeShare} }}),
	only(WorkloadSemaphore, count("permits", "permits of each semaphore", 1, 10_000, func(s *Scenario) *int { return &s.Permits })),
	only(WorkloadSemaphore, optional(Key{Name: "resize", Help: "other number of permits, and how often it changes between the two, such as 8 every 2s", field: func(s *Scenario) value { return resizeValue{&s.Resize} }})),
	only(WorkloadSemaphore, count("units", "permits of an acquisition", 1, 10_000, func(s *Scenario) *int { return &s.Units })),
	only(WorkloadMultiLock, count("locks-per-acquire", "locks of an acquisition, drawn each time", 1, 10_000, func(s *Scenario) *int { return &s.LocksPerAcquire })),
	only(WorkloadMultiLock, flag("ordered", "all clients take locks in the same order; else each as it happens, which may deadlock", func(s *Scenario) *bool { return &s.Ordered })),
	optional(duration("wait", "time after which an acquire is given up; 0 is never", 0, day, func(s *Scenario) *time.Duration { return &s.Wait })),
	optional(flag("try", "an acquire is given up once it is known that it would have to wait", func(s *Scenario) *bool { return &s.Try })),
	{Name: "lock-choice", Help: "which locks are asked for how often: uniform, or zipf(1.1) for a few hot ones",
		field: func(s *Scenario) value { return lockChoiceValue{&s.LockChoice} }},
	{Name: "hold", Help: "time between read and write (or the two reads) of a critical section: 5ms, exponential(5ms), uniform(1ms..9ms) or log-normal(5ms, 0.5)",
		field: func(s *Scenario) value { return distributionValue{&s.Hold} }},
	{Name: "think", Help: "time between a release and the next acquire, as hold",
		field: func(s *Scenario) value { return distributionValue{&s.Think} }},
	{Name: "arrivals", Help: "whether clients ask when they are done (closed), or acquisitions are due at a rate whoever is free", Values: arrivals,
		field: func(s *Scenario) value { return choiceValue{&s.Arrivals, arrivals} }},
	optional(Key{Name: "rate", Help: "acquisitions due per second over all clients: 100, a ramp 100..400 over the measured window, or steps 100,200,400",
		field: func(s *Scenario) value { return rateValue{&s.Rate} }}),
	optional(count("max-in-flight", "acquisitions at once beyond which one that is due is dropped; 0 is one for each client", 0, 10_000, func(s *Scenario) *int { return &s.MaxInFlight })),
	duration("warmup", "time before the measured window", 0, day, func(s *Scenario) *time.Duration { return &s.Warmup }),
	rivals(duration("duration", "length of the measured window", 0, day, func(s *Scenario) *time.Duration { return &s.Duration }), "iterations"),
	rivals(count("iterations", "acquisitions of each client, instead of a duration", 0, 1_000_000_000, func(s *Scenario) *int { return &s.Iterations }), "duration"),
	{Name: "drain", Help: "what becomes of waiters at the end", Values: drains,
		field: func(s *Scenario) value { return choiceValue{&s.Drain, drains} }},
	duration("session-timeout", "session timeout that clients ask for", ms, int64(time.Hour), func(s *Scenario) *time.Duration { return &s.SessionTimeout }),
	duration("tick", "the servers' tick", 10*ms, int64(time.Minute), func(s *Scenario) *time.Duration { return &s.Tick }),
	optional(duration("min-session-timeout", "the servers' lower limit; 0 is 2 ticks", 0, int64(time.Hour), func(s *Scenario) *time.Duration { return &s.MinSessionTimeout })),
	optional(duration("max-session-timeout", "the servers' upper limit; 0 is 20 ticks", 0, int64(time.Hour), func(s *Scenario) *time.Duration { return &s.MaxSessionTimeout })),
	count("init-limit", "ticks a server may take to join its leader", 1, 10_000, func(s *Scenario) *int { return &s.InitLimit }),
	count("sync-limit", "ticks a server may lag, and a leader that is cut off serve on", 1, 10_000, func(s *Scenario) *int { return &s.SyncLimit }),
	{Name: "servers", Help: "ZooKeeper servers", Values: sizes, lo: 1, hi: 5,
		field: func(s *Scenario) value { return choiceOf{countValue{&s.Servers}, sizes} }},
	{Name: "storage", Help: "where servers keep their logs", Values: storages,
		field: func(s *Scenario) value { return choiceValue{&s.Storage, storages} }},
	{Name: "heap", Help: "heap of each server's JVM", lo: int64(64 * MiB), hi: int64(64 * GiB),
		field: func(s *Scenario) value { return sizeValue{&s.Heap} }},
	{Name: "schedule", Help: "where faults come from: what faults says, or that and drawn from the seed; a swarm draws their kinds and rate as well", Values: schedules,
		field: func(s *Scenario) value { return choiceValue{&s.Schedule, schedules} }},
	ofDrawn(duration("fault-interval", "mean time between the beginnings of two drawn faults", 10*ms, day, func(s *Scenario) *time.Duration { return &s.FaultInterval })),
	ofDrawn(Key{Name: "fault-length", Help: "how long drawn faults last: 0.5T..expiry+1s, or one length", field: func(s *Scenario) value { return spanRangeValue{&s.FaultLength} }}),
	ofDrawn(optional(Key{Name: "fault-kinds", Help: "kinds of drawn faults, with weights: pause:3,kill; all that this machine can do if not given", field: func(s *Scenario) value { return weightsValue{&s.FaultKinds} }})),
	{Name: "liveness", Help: "how long clients work on when all faults are healed, so that progress can be demanded of each; auto is as long as it takes, and 0 without faults",
		field: func(s *Scenario) value { return livenessValue{&s.Liveness} }},
	flag("observer", "watch the lock's queue from a host of its own", func(s *Scenario) *bool { return &s.Observer }),
	count("min-acquired", "least number of acquisitions for the run to say anything", 0, 1_000_000_000, func(s *Scenario) *int { return &s.MinAcquired }),
})

func duration(name, help string, lo, hi int64, at func(*Scenario) *time.Duration) Key {
	return Key{Name: name, Help: help, lo: lo, hi: hi, field: func(s *Scenario) value { return durationValue{at(s)} }}
}

func count(name, help string, lo, hi int64, at func(*Scenario) *int) Key {
	return Key{Name: name, Help: help, lo: lo, hi: hi, field: func(s *Scenario) value { return countValue{at(s)} }}
}

func flag(name, help string, at func(*Scenario) *bool) Key {
	return Key{Name: name, Help: help, Bool: true, field: func(s *Scenario) value { return boolValue{at(s)} }}
}

// only makes k a key of one workload: it is refused with others, and not written.
func only(workload string, k Key) Key {
	k.workload = workload
	return k
}

// ofDrawn makes k a key of schedules that are drawn: it is refused with others, and not written.
func ofDrawn(k Key) Key {
	k.drawn = true
	return k
}

func recipeList() []string {
	var names []string
	for _, r := range recipeTable {
		names = append(names, r.Name)
	}
	return names
}

func optional(k Key) Key {
	k.optional = true
	return k
}

// rivals makes k optional, and lets a setting of it replace a weaker one of
// the rival.
func rivals(k Key, rival string) Key {
	k.rival = rival
	return optional(k)
}

func defaulted(keys []Key) []Key {
	s, zero := Defaults(), &Scenario{}
	for i := range keys {
		k := &keys[i]
		if text := k.field(s).String(); !k.optional || text != k.field(zero).String() {
			k.Default = text
		}
	}
	return keys
}

// Keys returns the keys that are flags too, in the order of a file.
func Keys() []Key {
	var list []Key
	for _, k := range keys {
		if !k.fileOnly {
			k.Values = slices.Clone(k.Values)
			list = append(list, k)
		}
	}
	return list
}

// Text returns the value of a key, as a file has it; empty if there is no such key.
func (s *Scenario) Text(key string) string {
	k, ok := findKey(key)
	if !ok {
		return ""
	}
	return k.field(s).String()
}

func findKey(name string) (Key, bool) {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return keys[i], true
}

// isZero reports whether the key's field is as in the zero Scenario.
func (k Key) isZero(s *Scenario) bool { return k.field(s).String() == k.field(&Scenario{}).String() }

// of reports whether the scenario's workload and its schedule have the key.
func (k Key) of(s *Scenario) bool {
	return (k.workload == "" || k.workload == s.Workload) && (!k.drawn || s.Drawn())
}

// clear sets the key's field to that of the zero Scenario.
func (k Key) clear(s *Scenario) {
	if err := k.field(s).Set(k.field(&Scenario{}).String()); err != nil {
		panic(err) // only rivals are cleared, and theirs is 0
	}
}

// allNames lists what may stand in a file.
func allNames() []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return append(names, structural...)
}
