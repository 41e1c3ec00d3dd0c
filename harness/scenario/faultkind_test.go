package scenario

import (
	"slices"
	"testing"
)

// The table of faults is whole: whoever adds to it says everything.
func TestFaultKindsAreWhole(t *testing.T) {
	families := []string{FamilyProcess, FamilyPartition, FamilyPackets, FamilySession, FamilyZnode, FamilyStorage}
	seen, last := map[string]bool{}, 0
	for _, k := range FaultKinds() {
		if k.Name == "" || seen[k.Name] || k.Does == "" || k.Verified == "" || k.Targets.classes() == nil {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
		family := slices.Index(families, k.Family)
		if family < last {
			t.Errorf("%s of family %q is out of order", k.Name, k.Family)
		}
		last = max(last, family)
		for _, name := range slices.Concat(k.Needs, k.May) {
			if !slices.Contains(faultKeyNames(), name) || slices.ContainsFunc(commonFaultKeys, func(c faultKey) bool { return c.name == name }) {
				t.Errorf("%s has a key %q, which is none of its own", k.Name, name)
			}
		}
		if k.Triggers && k.Targets&OnClient == 0 {
			t.Errorf("%s has triggers, which only clients come to", k.Name)
		}
	}
	for _, k := range faultKeys {
		if k.help == "" || !slices.ContainsFunc(FaultKinds(), func(kind FaultKind) bool { return kind.Takes(k.name) }) {
			t.Errorf("key %s is of no kind, or has no help", k.name)
		}
		if _, ok := k.field(&Fault{}).(schemed); !ok {
			t.Errorf("the type of key %s lacks a method schema", k.name)
		}
	}
}

// The rules of a table are kept, whatever is in it.
func TestMomentaryKindsTakeNoLength(t *testing.T) {
	k := FaultKind{Name: "reset", Momentary: true, May: []string{"from"}}
	for key, want := range map[string]bool{"at": true, "expect": true, "from": true, "for": false, "until": false, "linger": false} {
		if got := k.Takes(key); got != want {
			t.Errorf("%s takes %s: %t", k.Name, key, got)
		}
	}
	if (FaultKind{Name: "pause"}).Takes("from") {
		t.Error("a key of others is taken")
	}
}

func TestWordsOfTables(t *testing.T) {
	if got, want := plurals([]string{"kill", "latency", "pause"}), "kills, latencies or pauses"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := (OnServer | OnClient | OnResource).choices(), "a client process c1…cN, holder, head-waiter, waiter, any-client, all-clients, a server zk1…zkN, leader, follower, followers, any, majority, minority, holder-server or resource"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := (OnClient | OnAll).pattern(), `^(c[1-9][0-9]{0,5}|holder|head-waiter|waiter|any-client|all-clients|all)$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
