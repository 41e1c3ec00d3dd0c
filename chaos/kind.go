package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
)

// A Kind is everything that is known about one kind of fault. Each kind has a file of its own.
type Kind struct {
	Name   string
	Family string
	// Does says in a phrase what the fault does. Verified says how it is known to be in force, and how it is known to
	// be over.
	Does, Verified string
	// Targets are the classes of hosts that it can strike.
	Targets Targets
	// Params is the zero value of the struct with the kind's own keys, whose fields have the tags of package
	// [settings], and the tag required:"true" if the key must be given. It is nil if the kind has no keys of its own.
	Params any
	// Examples are entries of a scenario's faults, without their kind and times. Each is tried on a real lab by the
	// tests.
	Examples []string

	// Nature tells the checks what it can do to sessions and znodes.
	Nature evidence.FaultNature
	// Momentary says that it is over as soon as it is done, so that nothing needs to be healed.
	Momentary bool
	// Stays says that the lab is another one afterwards, which nothing undoes. A run with such a fault shares its lab with
	// no other run.
	Stays bool
	// Outage says that a server takes no part in a quorum while the fault is in force.
	Outage bool
	// Slot names the exclusive resource of a host, such as its process, that the fault occupies: faults of two kinds
	// with the same slot do not compose on one host. Shared says that several faults of this kind do; the last one of
	// them heals the host.
	Slot   string
	Shared bool
	// Room is how long a momentary fault occupies its slot: about as long as its consequences take.
	Room time.Duration
	// NotDrawn says that random schedules have no faults of this kind.
	NotDrawn bool
	// Triggers says that a client can do it to itself at a point of its critical section. Others strike a client that
	// has stopped itself there for a moment.
	Triggers bool
	// Alive says that a running client does it to itself. It cannot strike one that has stopped itself.
	Alive bool
	// Capability is what the machine must be able to do for it; empty if every lab can do it. Some is what the machine
	// must be able to do besides, for some faults of the kind.
	Capability string
	Some       Need
	// Word is the four-letter word by which the fault is verified; empty if it needs none, or network rules verify it.
	Word string
	// StepsClock says that it shifts a server's wall clock, which places the servers' transactions in time.
	StepsClock bool
	// Relayed reports whether a fault may need client processes to connect through relays; nil = none does.
	Relayed func(Fault) bool

	// draw chooses the kind's own keys for a random schedule; nil if there are none.
	draw func(r *rand.Rand, s *Setting, f *Fault)
	// check refuses what the other fields cannot express; nil = nothing.
	check func(c *checker, f Fault)
	// warn tells what to expect of a fault that can be injected but does something other than one might expect; nil =
	// nothing.
	warn func(s *Setting, f Fault) string
	// injector returns the injector for the hosts that the target means. An error that wraps [ErrUnsupported] says
	// that the fault cannot be injected here.
	injector func(r *Run, i injection) (Injector, error)
	// cleanUp removes what a fault that was not healed has left behind, and says in words what that was. It is nil if
	// the hosts' agents know of everything that can be left.
	cleanUp func(ctx context.Context, r *Run, id string) (left string, err error)
}

// A Need is a capability that some faults of a kind need.
type Need struct {
	Capability string
	Which      string           // the faults, in words
	Of         func(Fault) bool // reports whether a fault is one of them
}

// The families of faults, by what they harm.
const (
	FamilyProcess   = "process"
	FamilyPartition = "partition"
	FamilyPackets   = "packets"
	FamilySession   = "session"
	FamilyZnode     = "znode"
	FamilyStorage   = "storage and time"
)

// The causes that the checks name for the damage of several kinds, beside [evidence.CauseAdministrator].
const (
	causeKill      = evidence.CauseKill
	causePartition = "partition" // any packets that do not arrive in time
)

// slotProcess is the slot of a fault that stops or ends a host's process, or that cannot be told from such a fault.
const slotProcess = "process"

// required reports whether a kind's own key must be given.
func required(key settings.Key) bool { return key.Tag.Get("required") == "true" }

// Takes reports whether a fault of the kind can have the key.
func (k *Kind) takes(key string) bool {
	if k.Momentary && slices.Contains(lastingKeys, key) {
		return false
	}
	_, own := settings.Find(k.keys(), key)
	_, common := settings.Find(known().common, key)
	return own || common
}

// keys are the kind's own.
func (k *Kind) keys() []settings.Key { return known().own[k.Name] }

// strikesHolders reports whether it can strike a client process at a point of its critical section.
func (k *Kind) strikesHolders() bool { return k.Targets&OnClient != 0 && !k.Alive }

// Trials returns a fault for each of the kind's examples, without a time.
func (k *Kind) Trials() ([]Fault, error) {
	var all []Fault
	for _, example := range k.Examples {
		given := map[string]string{"kind": k.Name}
		for entry := range strings.SplitSeq(example, ", ") {
			key, text, _ := strings.Cut(entry, ": ")
			given[key] = text
		}
		f, err := ParseFault(given)
		if err != nil {
			return nil, fmt.Errorf("%s {%s}: %w", k.Name, example, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// Required lists the kind's own keys that must be given.
func (k *Kind) Required() []string {
	var names []string
	for _, key := range k.keys() {
		if required(key) {
			names = append(names, key.Name)
		}
	}
	return names
}

// plurals writes names of kinds in the plural: "pauses or kills".
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
	return anyOf(many)
}

// anyOf joins words: "a, b or c".
func anyOf(words []string) string {
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

// Elsewhere returns why the fault cannot be injected in a run on an ensemble that locklab did not start, whose clients
// are processes of this machine; empty if it can. words are the four-letter words that the servers allow.
func (f Fault) Elsewhere(words []string) string {
	k := f.kind()
	switch {
	case f.HitsServer() && k.Family != FamilyZnode: // faults of znodes strike only the run's own
		return "it strikes servers, and the servers of --connect are not locklab's to harm"
	case f.relayed():
		return ""
	case slices.Contains(f.Capabilities(), agent.CapNetAdmin):
		return "it needs network rules, and the clients share the network of this machine, whose rules are not touched"
	case k.Word != "" && !slices.Contains(words, k.Word):
		return fmt.Sprintf("not all servers allow the four-letter word %s, which shows whether it is in force", k.Word)
	}
	return ""
}
