package chaos

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"locklab/harness/settings"
)

// Every kind says everything about itself, and the kinds of a family follow each other.
func TestKindsAreComplete(t *testing.T) {
	families := []string{FamilyProcess, FamilyPartition, FamilyPackets, FamilySession, FamilyZnode, FamilyStorage}
	seen, last := map[string]bool{}, 0
	for _, k := range Kinds() {
		if k.Name == "" || seen[k.Name] || k.Does == "" || k.Verified == "" || k.Targets.classes() == nil ||
			k.injector == nil || len(k.Examples) == 0 {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
		family := slices.Index(families, k.Family)
		if family < last {
			t.Errorf("%s of family %q is out of order", k.Name, k.Family)
		}
		last = max(last, family)
		for _, key := range k.keys() {
			if _, common := settings.Find(known().common, key.Name); common {
				t.Errorf("%s has a key %q, which every kind has", k.Name, key.Name)
			}
		}
		if k.Triggers && k.Targets&OnClient == 0 {
			t.Errorf("%s has triggers, which only clients reach", k.Name)
		}
	}
}

// A key that several kinds have means the same for each of them.
func TestKeysMeanOneThing(t *testing.T) {
	for _, k := range Kinds() {
		for _, key := range k.keys() {
			one, known := settings.Find(FaultKeys(), key.Name)
			if !known || key.Help == "" || one.Help != key.Help || !reflect.DeepEqual(one.Schema(), key.Schema()) {
				t.Errorf("key %s of %s is %q, and elsewhere %q", key.Name, k.Name, key.Help, one.Help)
			}
		}
	}
}

// The keys of a file have one order, whatever kinds there are.
func TestOrderOfFaultKeys(t *testing.T) {
	const want = "kind target to from shape way verdict loss bandwidth latency jitter by at every repeat trigger for " +
		"until linger expect"
	if got := strings.Join(settings.Names(FaultKeys()), " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Momentary kinds have no keys about how long they last, and no kind has another one's own keys.
func TestKeysOfKinds(t *testing.T) {
	k := &Kind{Name: "reset", Momentary: true}
	for key, want := range map[string]bool{
		"at": true, "expect": true, "from": true, "for": false, "until": false, "linger": false, "loss": false,
	} {
		if got := k.takes(key); got != want {
			t.Errorf("%s takes %s: %t", k.Name, key, got)
		}
	}
	if (&Kind{Name: "pause"}).takes("from") {
		t.Error("pause takes from")
	}
}

// The examples of a kind are valid entries, and are read back as they were written.
func TestExamplesCanBeWritten(t *testing.T) {
	s := Setting{Servers: 5, Clients: 3, ClientProcesses: 3, ClientsPerProcess: []int{1, 1, 1}, Duration: 600e9,
		Timeout: 2e9, Tick: 200e6, OwnSession: func(int) string { return "" }}
	for _, k := range Kinds() {
		for _, example := range k.Examples {
			given := map[string]string{"kind": k.Name, "at": "1s"}
			if !k.Momentary {
				given["for"] = "10s"
			}
			for entry := range strings.SplitSeq(example, ", ") {
				key, text, _ := strings.Cut(entry, ": ")
				given[key] = text
			}
			f, err := ParseFault(given)
			if err != nil {
				t.Errorf("%s %s: %v", k.Name, example, err)
				continue
			}
			if problems := s.Check(f); problems != nil {
				t.Errorf("%s: %+v", f, problems)
			}
			written := map[string]string{}
			for _, key := range f.Keys() {
				written[key.Key] = key.Text
			}
			if again, err := ParseFault(written); err != nil || again != f {
				t.Errorf("%s is read back as %s, %v", f, again, err)
			}
		}
	}
}

func TestWordsOfKinds(t *testing.T) {
	if got, want := plurals([]string{"kill", "latency", "pause"}), "kills, latencies or pauses"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	const choices = "a client process c1…cN, holder, head-waiter, waiter, any-client, all-clients, " +
		"a server zk1…zkN, " +
		"leader, follower, followers, any, majority, minority, holder-server or resource"
	if got := (OnServer | OnClient | OnResource).choices(); got != choices {
		t.Errorf("%s, want %s", got, choices)
	}
	const pattern = `^(c[1-9][0-9]{0,5}|holder|head-waiter|waiter|any-client|all-clients|all)$`
	if got := (OnClient | OnAll).Schema()["pattern"]; got != pattern {
		t.Errorf("%s, want %s", got, pattern)
	}
}
