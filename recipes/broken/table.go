package broken

import (
	"embed"
	"encoding/json"
	"slices"

	"locklab/recipes"
)

// A Lock is a lock with a known bug.
type Lock struct {
	Name string `json:"name,omitempty"`
	// Bug says what the lock does wrong.
	Bug string `json:"bug,omitempty"`
	// Source says where the bug is known from.
	Source string `json:"source,omitempty"`
	// Trigger says what makes the bug show.
	Trigger string `json:"trigger,omitempty"`
	// Check is the check that must find it, and Finding says what the check finds.
	Check   Check  `json:"check,omitempty"`
	Finding string `json:"finding,omitempty"`
	// Kinds are the kinds that this finding can have in verdicts.json.
	Kinds []string `json:"kinds,omitempty"`
	// Cause is the kind of the fault that explains the finding; empty = nothing may explain it.
	Cause string `json:"cause,omitempty"`
	// Scenario has the lines of a scenario that makes the bug show in a lab, without those that the scenarios of all
	// bugs share: the file of the lock's name in scenarios. It is empty only where the check is a comparison.
	Scenario string `json:"-"`
	// Builtin is the name of the built-in scenario that makes the bug show, in the place of Scenario; empty = none does.
	Builtin string `json:"builtin,omitempty"`
	// Recipe is the recipe that has the bug; empty = the control with the lock's name.
	Recipe string `json:"recipe,omitempty"`
	// Sound is the recipe of package recipes that works in the same way without the bug. It and the fields below are
	// zero in [Others] and [Foreign].
	Sound string `json:"sound,omitempty"`
	// New makes a lock. It sends no request.
	New func(Config) Ways `json:"-"`
	// Decorate, if it is set, makes the lock from the sound one instead.
	Decorate func(sound *recipes.Mutex) recipes.TryLock `json:"-"`
	// NoToken says that the lock's holds have no fencing token.
	NoToken bool `json:"no_token,omitempty"`
	// GivesUp says that the lock's client gives its session up by its own clock; see [Lock.Connect].
	GivesUp bool `json:"gives_up,omitempty"`
	// Forgetful says that the servers answer each reconnect of the lock's client with another session, and that the client
	// believes that it still has its own; see [Lock.Connect].
	Forgetful bool `json:"forgetful,omitempty"`
	// Seldom says that the bug shows in few of many attempts that are all alike, because it is a race inside a server.
	Seldom bool `json:"seldom,omitempty"`
	// OneByOne says that the lock's permits are acquired one after another, so that a hold has neither a token nor a
	// place in the order of a queue.
	OneByOne bool `json:"one_by_one,omitempty"`
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

//go:embed bugs.json scenarios
var files embed.FS

// bugs has what is said of the known bugs, in the file bugs.json.
var bugs = readBugs()

var (
	// Locks are all locks of this package.
	Locks = bugs["locks"]
	// Foreign are the locks of the command broken-lock, each with one bug. A run knows of them what it knows of anybody's
	// lock. Most of them it must catch in a scenario that is built in, by their sessions and tokens alone.
	Foreign = bugs["foreign"]
	// Others are known bugs of locks that others made, found here in the locks themselves, and of ZooKeeper.
	Others = bugs["others"]
)

// makers make the locks of this package, by their names.
var makers = map[string]func(Config) Ways{
	"missing-own": missingOwn, "stale-own": staleOwn, "local-reentry": localReentry, "lost-create": lostCreate,
	"unsynced-search": unsyncedSearch, "name-order": nameOrder, "wrong-predecessor": wrongPredecessor,
	"lost-wakeup": lostWakeup, "cancelled-cleanup": cancelledCleanup, "sequence-token": sequenceToken,
	"later-writers": laterWriters, "queued-downgrade": queuedDowngrade, "local-read": localRead,
	"dead-lease": deadLease, "leaked-lease": leakedLease, "partial-permits": partialPermits,
	"blind-delete": blindDelete, "queued-write": queuedWrite, "forgetful-session": forgetfulSession,
}

// decorators make the others of them from the sound lock.
var decorators = map[string]func(*recipes.Mutex) recipes.TryLock{
	"slow-release":  func(m *recipes.Mutex) recipes.TryLock { return slowRelease(m) },
	"late-grant":    func(m *recipes.Mutex) recipes.TryLock { return lateGrant(m) },
	"extra-request": func(m *recipes.Mutex) recipes.TryLock { return extraRequest(m) },
}

// readBugs gives each bug what makes its lock, and the scenario of its name, if there is one.
func readBugs() (all map[string][]Lock) {
	b, err := files.ReadFile("bugs.json")
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, locks := range all {
		for i := range locks {
			l := &locks[i]
			l.New, l.Decorate = makers[l.Name], decorators[l.Name]
			if b, err := files.ReadFile("scenarios/" + l.Name + ".yaml"); err == nil {
				l.Scenario = string(b)
			}
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
