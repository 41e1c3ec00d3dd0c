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
	rival    string // the key that a higher-ranked setting of this one replaces
	optional bool   // not written where zero
	field    func(*Scenario) value
	lo, hi   int64 // bounds, where field is a number
}

// Env returns the name of the key's environment variable: LOCKLAB_CLIENTS.
func (k Key) Env() string {
	return "LOCKLAB_" + strings.ToUpper(strings.ReplaceAll(k.Name, "-", "_"))
}

// The bounds of durations and counts are far beyond what is sensible: they
// catch slips such as a wrong unit.
const (
	day = int64(24 * time.Hour)
	ms  = int64(time.Millisecond)
)

// Keys of the file that are not scalars.
var structural = []string{"faults", "expect", "shown"}

var keys = defaulted([]Key{
	{Name: "name", Help: "name of the scenario and of its run directory", fileOnly: true,
		field: func(s *Scenario) value { return nameValue{&s.Name} }},
	{Name: "about", Help: "the question that the run answers, in one sentence", fileOnly: true, optional: true,
		field: func(s *Scenario) value { return textValue{&s.About} }},
	{Name: "lab", Help: "kind of lab", Values: labs,
		field: func(s *Scenario) value { return choiceValue{&s.Lab, labs} }},
	{Name: "seed", Help: "reproduces the plan, not the interleaving; 0 draws one", optional: true,
		field: func(s *Scenario) value { return seedValue{&s.Seed} }},
	{Name: "recipe", Help: "lock algorithm, or a file that is one behind the lock protocol", Values: append(slices.Clone(recipes), RecipeExec+"CMD"),
		field: func(s *Scenario) value { return recipeValue{choiceValue{&s.Recipe, recipes}} }},
	optional(Key{Name: "client-image", Help: "image of the clients' hosts, where the recipe is a command",
		field: func(s *Scenario) value { return imageValue{&s.ClientImage} }}),
	{Name: "guard", Help: "how the resource protects itself", Values: guards,
		field: func(s *Scenario) value { return choiceValue{&s.Guard, guards} }},
	count("clients", "clients in total", 1, 10_000, func(s *Scenario) *int { return &s.Clients }),
	count("client-processes", "client processes c1…cN, each on a host of its own", 1, 64, func(s *Scenario) *int { return &s.ClientProcesses }),
	flag("victim-alone", "process c1 runs exactly one client, the others share the rest", func(s *Scenario) *bool { return &s.VictimAlone }),
	count("locks", "locks", 1, 10_000, func(s *Scenario) *int { return &s.Locks }),
	duration("hold", "time between read and write of a critical section", 0, day, func(s *Scenario) *time.Duration { return &s.Hold }),
	duration("think", "time between a release and the next acquire", 0, day, func(s *Scenario) *time.Duration { return &s.Think }),
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

func findKey(name string) (Key, bool) {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return keys[i], true
}

// isZero reports whether the key's field is as in the zero Scenario.
func (k Key) isZero(s *Scenario) bool { return k.field(s).String() == k.field(&Scenario{}).String() }

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
