package runpage

import (
	"slices"
	"testing"

	"locklab/harness/rundir"
	"locklab/harness/scenario"
)

// The page names the connections that pass through relays.
func TestEnvironmentNamesRelays(t *testing.T) {
	env := rundir.Env{Relayed: map[string][]string{"c2": {"zk3"}, "c1": {"zk1", "zk3"}}}
	want := [2]string{"clients connected through relays", "c1 to zk1, zk3; c2 to zk3"}
	if all := Environment(scenario.Defaults(), env); !slices.Contains(all, want) {
		t.Errorf("%q lacks %q", all, want)
	}
}

// The page has the round trip that relays add, and tells 0 from none.
func TestEnvironmentHasTheRoundTrip(t *testing.T) {
	const name = "round trip that relays add between clients and servers"
	sc := scenario.Defaults()
	for _, want := range []string{"", "0s", "20ms"} {
		if err := sc.Set("round-trip", want); err != nil {
			t.Fatal(err)
		}
		has := slices.Contains(Environment(sc, rundir.Env{}), [2]string{name, want})
		if has != (want != "") {
			t.Errorf("%q is on the page: %t", want, has)
		}
	}
}

// The page names the version of each server where they differ.
func TestEnvironmentNamesMixedVersions(t *testing.T) {
	of := func(zk1, zk2 string) (string, bool) {
		all := Environment(scenario.Defaults(), rundir.Env{ZooKeepers: map[string]string{"zk1": zk1, "zk2": zk2}})
		i := slices.IndexFunc(all, func(e [2]string) bool { return e[0] == "ZooKeeper of each server at the start" })
		return all[max(i, 0)][1], i >= 0
	}
	if text, ok := of("3.8.0-a", "3.8.0-a"); ok {
		t.Errorf("one version: %s", text)
	}
	if text, _ := of("3.8.0-a", "3.8.0-b"); text != "zk1 3.8.0-a; zk2 3.8.0-b" {
		t.Errorf("two builds: %q", text)
	}
}
