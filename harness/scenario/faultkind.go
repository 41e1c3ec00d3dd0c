package scenario

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// The families of faults, by what they do harm to.
const (
	FamilyProcess   = "process"
	FamilyPartition = "partition"
	FamilyPackets   = "packets"
	FamilySession   = "session"
	FamilyZnode     = "znode"
	FamilyStorage   = "storage and time"
)

// A FaultKind is what is known of one kind of fault. Whoever adds one writes it into its
// family's table, here, and its constructor into the engine's; keys of its own go beside
// its family's table.
type FaultKind struct {
	Name   string
	Family string
	// Does says in half a sentence what is done, and Verified how it is known that it was, and that
	// it is over.
	Does, Verified string
	// Targets are what it may be aimed at.
	Targets Targets
	// Needs are keys beyond the common ones that it must have, and May those that it can have.
	Needs, May []string
	// Momentary says that it is over as soon as it is done, so that nothing is to be healed.
	Momentary bool
	// Outage says that a server hit takes no part in a quorum meanwhile.
	Outage bool
	// Slot names what of a host there is one of, such as its process: faults of two kinds with
	// the same slot do not compose on one host. Shared says that several of this kind do:
	// the last of them heals it.
	Slot   string
	Shared bool
	// Room is how long what is over at once keeps its slot all the same: about as long as what
	// it led to takes.
	Room time.Duration
	// NotDrawn says that random schedules have none of it.
	NotDrawn bool
	// Triggers says that a client can bring it upon itself at a point of its critical section.
	Triggers bool
	// Alive says that its victim does it to itself while it runs, so that it cannot be aimed at a holder
	// who has stopped.
	Alive bool
	// Capability is what the machine must be able to do for it, empty if every lab can do it. See
	// [Scenario.Lacking].
	Capability string
	// CapabilityFor is what it must be able to do besides, for some targets; nil = nothing.
	CapabilityFor func(Fault) string

	// draw fills in what a random schedule cannot choose by itself: keys that are no choices,
	// other targets than all there are; nil = nothing.
	draw func(r *rand.Rand, s *Scenario, f *Fault)
	// check refuses what the rest of the table cannot say; nil = nothing.
	check func(v *validator, f Fault, key func(string) string)
}

// faultTable has every kind, by family. It is made of functions, since what checks a kind may
// look at the table.
func faultTable() []FaultKind {
	madeFaults.Do(func() {
		allFaults = slices.Concat(
			processFaults(),
			partitionFaults(),
			packetFaults(),
			sessionFaults(),
			znodeFaults(),
			storageFaults(),
		)
	})
	return allFaults
}

var (
	madeFaults sync.Once
	allFaults  []FaultKind
)

// FaultKinds returns every kind of fault, by family.
func FaultKinds() []FaultKind { return slices.Clone(faultTable()) }

// findFaultKind returns the kind of that name.
func findFaultKind(name string) (FaultKind, bool) {
	for _, k := range faultTable() {
		if k.Name == name {
			return k, true
		}
	}
	return FaultKind{}, false
}

// Triggers reports whether faults of a kind can have a trigger of their own.
func Triggers(kind string) bool {
	k, _ := findFaultKind(kind)
	return k.Triggers
}

// Shared reports whether several faults of a kind can be in force on one host.
func Shared(kind string) bool {
	k, _ := findFaultKind(kind)
	return k.Shared
}

// SlotOf names what faults of a kind need of a host for themselves; empty for nothing.
func SlotOf(kind string) string {
	k, _ := findFaultKind(kind)
	return k.Slot
}

// Takes reports whether a fault of the kind can have the key.
func (k FaultKind) Takes(key string) bool {
	if k.Momentary && slices.Contains(lastingKeys, key) {
		return false
	}
	common := slices.ContainsFunc(commonFaultKeys, func(c faultKey) bool { return c.name == key })
	return common || slices.Contains(k.Needs, key) || slices.Contains(k.May, key)
}

// faultKindNames lists the kinds that are as asked, all if f is nil.
func faultKindNames(f func(FaultKind) bool) []string {
	var names []string
	for _, k := range faultTable() {
		if f == nil || f(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

// plurals writes names of kinds as what there is several of: "pauses or kills".
func plurals(names []string) string {
	many := slices.Clone(names)
	for i, name := range many {
		if stem, ok := strings.CutSuffix(name, "y"); ok {
			name = stem + "ie"
		} else if strings.HasSuffix(name, "s") {
			name += "e"
		}
		many[i] = name + "s"
	}
	return oneOfWords(many)
}

// oneOfWords joins words: "a, b or c".
func oneOfWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// article puts "a" or "an" before a word.
func article(word string) string {
	if strings.ContainsAny(word[:1], "aeiou") {
		return "an " + word
	}
	return "a " + word
}

// capabilities are what a machine must be able to do for a fault.
func (f Fault) capabilities() []string {
	k, _ := findFaultKind(f.Kind)
	all := []string{k.Capability}
	if k.CapabilityFor != nil {
		all = append(all, k.CapabilityFor(f))
	}
	return slices.DeleteFunc(all, func(c string) bool { return c == "" })
}

// Needs lists what a machine must be able to do for the faults that the scenario names.
func (s *Scenario) Needs() []string {
	var all []string
	for _, f := range s.Faults {
		all = append(all, f.capabilities()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Lacking says which faults need what is lacking: lacking has the reason by capability. Each is
// said at the place where its kind was given.
func (s *Scenario) Lacking(lacking map[string]string) []string {
	var all []string
	for i, f := range s.Faults {
		for _, c := range f.capabilities() {
			if reason, lacks := lacking[c]; lacks {
				all = append(all, s.at(f.String()+" needs "+c, reason, faultOrigin(i, "kind")).Error())
			}
		}
	}
	return all
}
